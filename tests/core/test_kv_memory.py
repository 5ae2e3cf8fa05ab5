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
    listed = {**LLAMA_8B, "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 16}

    assert (
        kv_memory(GEMMA_3_27B).notes[0].startswith("52 of 62 layers look back 1,024 tokens only; they are counted in")
    )
    assert kv_memory(listed).notes[0].startswith("16 of 32 layers look back 128 tokens only")
    assert kv_memory({**LLAMA_8B, "sliding_window": 4096}).notes[0].startswith("32 of 32 layers look back 4,096")


def test_layers_that_use_the_keys_of_others() -> None:
    memory = kv_memory({**LLAMA_8B, "num_kv_shared_layers": 8})

    assert (memory.bytes_per_token, memory.layers) == (98_304, 24)
    assert memory.notes[0] == "8 of 32 layers use the keys and values of others"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "neither `torch_dtype` nor `dtype` is given"),
        ({"dtype": "bfloat16"}, "`num_hidden_layers` is missing"),
        ({**LLAMA_8B, "num_key_value_heads": 0}, "`num_key_value_heads` is 0, expected a whole number of at least 1"),
        ({**LLAMA_8B, "hidden_size": 4097}, "4097 numbers are not to be divided by 32 heads"),
        ({**LLAMA_8B, "torch_dtype": "int3"}, "no cache type 'int3'; known: float32"),
        (
            {**LLAMA_8B, "layer_types": ["linear_attention"] * 3 + ["full_attention"]},
            "3 of 4 layers are recurrent and keep a state",
        ),
        ({**LLAMA_8B, "mamba_d_state": 16}, "`mamba_d_state`: some layers are recurrent"),
        ({**DEEPSEEK_V3, "index_head_dim": 128}, "sparse attention keeps an index beside the cache"),
    ],
)
def test_what_cannot_be_told_is_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        kv_memory(config)
