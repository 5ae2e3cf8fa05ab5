"""KV memory of a token, held to figures that others published for public models."""

from __future__ import annotations

from typing import Any

import pytest

from hitrate.core.kv_memory import kv_memory

LLAMA_8B = {
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "torch_dtype": "bfloat16",
}
LLAMA_405B = {**LLAMA_8B, "num_hidden_layers": 126, "num_attention_heads": 128, "hidden_size": 16384}
QWEN_72B = {
    **LLAMA_8B,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "hidden_size": 8192,
    "sliding_window": 131072,
    "use_sliding_window": False,
}
DEEPSEEK_V3 = {
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "hidden_size": 7168,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "torch_dtype": "bfloat16",
}
QWEN3_32B = {**LLAMA_8B, "num_hidden_layers": 64, "num_attention_heads": 64, "hidden_size": 5120, "head_dim": 128}
GPT2 = {"n_layer": 12, "n_head": 12, "n_embd": 768, "dtype": "float32"}
CHATGLM3 = {
    "num_layers": 28,
    "num_attention_heads": 32,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "kv_channels": 128,
    "hidden_size": 4096,
    "torch_dtype": "float16",
}
FALCON_40B = {
    "num_hidden_layers": 60,
    "num_attention_heads": 128,
    "num_kv_heads": 8,
    "hidden_size": 8192,
    "multi_query": True,
    "new_decoder_architecture": True,
    "torch_dtype": "bfloat16",
}
FALCON_7B = {
    **FALCON_40B,
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "num_kv_heads": 71,
    "hidden_size": 4544,
    "new_decoder_architecture": False,
}
MIMO_V2_FLASH = {**LLAMA_8B, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128}
LONGCAT_FLASH = {
    "model_type": "longcat_flash",
    "num_layers": 28,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "torch_dtype": "bfloat16",
}
GEMMA_3_4B = {
    "text_config": {
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "hidden_size": 2560,
        "sliding_window": 1024,
    },
    "torch_dtype": "bfloat16",
}
GEMMA_3_27B = {
    "text_config": {
        "num_hidden_layers": 62,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 128,
        "hidden_size": 5376,
        "sliding_window": 1024,
        "sliding_window_pattern": 6,
    },
    "torch_dtype": "bfloat16",
}


@pytest.mark.parametrize(
    ("config", "bytes_a_token"),
    [
        # https://arxiv.org/abs/2505.09343, table 1, in KB of 1,000 bytes
        (DEEPSEEK_V3, 70_272),
        (QWEN_72B, 327_680),
        (LLAMA_405B, 516_096),
        # 2 x layers x KV heads x head size x 2 bytes
        (LLAMA_8B, 131_072),
        (QWEN3_32B, 262_144),
        (GPT2, 73_728),
        (GEMMA_3_27B, 507_904),
        (GEMMA_3_4B, 139_264),  # 8 heads, 4 KV heads of 256: its class's defaults
        (CHATGLM3, 28_672),
        (LONGCAT_FLASH, 64_512),  # two attentions a layer
        (FALCON_40B, 122_880),
        (FALCON_7B, 8_192),
        (MIMO_V2_FLASH, 81_920),  # values are smaller than keys
    ],
)
def test_bytes_of_a_token(config: dict[str, Any], bytes_a_token: int) -> None:
    assert kv_memory(config).bytes_per_token == bytes_a_token


@pytest.mark.parametrize(("cache_type", "bytes_a_token"), [("fp8", 65_536), ("float32", 262_144), ("q8_0", 69_632)])
def test_another_number_format(cache_type: str, bytes_a_token: int) -> None:
    assert kv_memory(LLAMA_8B, cache_type).bytes_per_token == bytes_a_token


def test_gib_and_blocks() -> None:
    memory = kv_memory(LLAMA_8B)

    assert memory.blocks(8, 16) == 4096
    assert memory.blocks(7.9999, 16) == 4095
    assert memory.gib(65_536) == 8.0
    assert memory.notes == ("131,072 bytes of KV cache a token (32 layers, bfloat16)",)


def test_layers_with_a_window_are_said() -> None:
    assert (
        kv_memory(GEMMA_3_27B).notes[0].startswith("52 of 62 layers look back 1,024 tokens only; they are counted in")
    )
    assert (
        kv_memory({**LLAMA_8B, "layer_types": ["sliding_attention", "full_attention"] * 16})
        .notes[0]
        .startswith("16 of 32 layers look back a window only; they")
    )


def test_layers_that_keep_states_are_not_counted() -> None:
    memory = kv_memory({**LLAMA_8B, "layer_types": ["linear_attention"] * 24 + ["full_attention"] * 8})

    assert (memory.bytes_per_token, memory.layers) == (32_768, 8)
    assert memory.notes == (
        "8 of 32 layers keep keys and values (`layer_types`); 24 keep a state a sequence, which is not counted, and a "
        "prefix is served only where an engine stored the state at its end",
        "32,768 bytes of KV cache a token (8 layers, bfloat16)",
    )


def test_layers_that_keep_nothing_of_a_token() -> None:
    memory = kv_memory({**LLAMA_8B, "cross_attention_layers": [3, 8, 13, 18]})

    assert memory.notes[0] == "28 of 32 layers keep keys and values of tokens (`cross_attention_layers`)"
    assert memory.bytes_per_token == 114_688


def test_what_a_models_class_has_is_said() -> None:
    assert kv_memory(GEMMA_3_4B).notes[1:4] == (
        "`num_attention_heads` is not given: 8, as the model's class has it",
        "`num_key_value_heads` is not given: 4, as the model's class has it",
        "`head_dim` is not given: 256, as the model's class has it",
    )


def test_layers_that_use_the_keys_of_others() -> None:
    memory = kv_memory({**LLAMA_8B, "num_kv_shared_layers": 8})

    assert (memory.bytes_per_token, memory.layers) == (98_304, 24)
    assert memory.notes[0] == "8 of 32 layers use the keys and values of others"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "`num_hidden_layers` is missing; add it with what the model's card says"),
        ({**LLAMA_8B, "torch_dtype": None}, "neither `torch_dtype` nor `dtype` is given"),
        (
            {"num_hidden_layers": 34, "hidden_size": 2560, "dtype": "bfloat16"},
            "`num_attention_heads` and `num_key_value_heads` are missing; add them with what the model's card says",
        ),
        ({"num_hidden_layers": 2, "num_key_value_heads": 8, "dtype": "bfloat16"}, "`head_dim` is missing; add it"),
        ({**LLAMA_8B, "num_key_value_heads": 0}, "`num_key_value_heads` is 0, expected a whole number of at least 1"),
        ({**LLAMA_8B, "hidden_size": 4097}, "4097 numbers are not to be divided by 32 heads"),
        ({**LLAMA_8B, "torch_dtype": "int3"}, "no cache type 'int3'; known: float32"),
        ({**MIMO_V2_FLASH, "swa_num_key_value_heads": 8}, "`swa_num_key_value_heads`: layers have different heads"),
        ({**LLAMA_8B, "block_configs": [{}] * 32}, "`block_configs`: layers have different heads"),
        (
            {**LLAMA_8B, "per_layer_config": {"05": {"head_dim": 512}}},
            "`per_layer_config`: layers have different heads",
        ),
        ({**LLAMA_8B, "model_type": "gemma4_text"}, "`global_head_dim`: layers have different heads"),
        ({**DEEPSEEK_V3, "index_head_dim": 128}, "sparse attention keeps an index beside the cache"),
    ],
)
def test_what_cannot_be_told_is_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        kv_memory(config)
