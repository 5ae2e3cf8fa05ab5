"""What each layer keeps, held to what the models' own configuration classes make of their files."""

from __future__ import annotations

from typing import Any

import pytest

from hitrate.core.kv_memory import kv_memory
from hitrate.core.layer_kinds import layers_of

MINIMAX_TEXT_01 = {
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 6144,
    "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1] * 10,
    "layernorm_linear_attention_alpha": 3.5565588200778455,
}
LFM2_1_2B = {
    "model_type": "lfm2",
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 2048,
    "conv_L_cache": 3,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14],
}
LFM2_5 = {
    **LFM2_1_2B,
    "full_attn_idxs": None,
    "layer_types": ["full_attention" if i in (2, 5, 8, 10, 12, 14) else "conv" for i in range(16)],
}
RECURRENT_GEMMA_2B = {
    "model_type": "recurrent_gemma",
    "num_hidden_layers": 26,
    "num_attention_heads": 10,
    "num_key_value_heads": 1,
    "hidden_size": 2560,
    "attention_window_size": 2048,
    "lru_width": 2560,
    "block_types": ["recurrent", "recurrent", "attention"],
}
KIMI_LINEAR_48B = {
    "model_type": "kimi_linear",
    "num_hidden_layers": 27,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 72,
    "hidden_size": 2304,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
        "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26],
        "head_dim": 128,
        "num_heads": 32,
        "short_conv_kernel_size": 4,
    },
}
QWEN3_NEXT_80B = {
    "model_type": "qwen3_next",
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "hidden_size": 2048,
    "full_attention_interval": 4,
    "linear_num_value_heads": 32,
}
JAMBA_1_5_MINI = {
    "model_type": "jamba",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "mamba_d_state": 16,
    "sliding_window": None,
}
NEMOTRON_H_8B = {
    "model_type": "nemotron_h",
    "num_hidden_layers": 52,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "attention_head_dim": 128,
    "hidden_size": 4096,
    "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
}
FALCON_H1_34B = {
    "model_type": "falcon_h1",
    "num_hidden_layers": 72,
    "num_attention_heads": 20,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "hidden_size": 5120,
    "mamba_d_state": 256,
}
BAMBA_9B = {
    "model_type": "bamba",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "attn_layer_indices": [9, 18, 27],
    "mamba_d_state": 128,
}


@pytest.mark.parametrize(
    ("config", "layers", "bytes_a_token", "member"),
    [
        (MINIMAX_TEXT_01, 10, 40_960, "attn_type_list"),
        (LFM2_1_2B, 6, 12_288, "full_attn_idxs"),
        (LFM2_5, 6, 12_288, "layer_types"),
        (RECURRENT_GEMMA_2B, 8, 8_192, "block_types"),
        (KIMI_LINEAR_48B, 7, 8_064, "linear_attn_config.full_attn_layers"),
        (QWEN3_NEXT_80B, 12, 24_576, "full_attention_interval"),
        (JAMBA_1_5_MINI, 4, 16_384, "attn_layer_period"),
        (NEMOTRON_H_8B, 4, 16_384, "hybrid_override_pattern"),
        (FALCON_H1_34B, 72, 147_456, "model_type"),
        (BAMBA_9B, 3, 12_288, "attn_layer_indices"),
    ],
)
def test_layers_of_attention_beside_states(
    config: dict[str, Any], layers: int, bytes_a_token: int, member: str
) -> None:
    memory = kv_memory(config, "bfloat16")

    assert (memory.layers, memory.bytes_per_token) == (layers, bytes_a_token)
    assert f"keep keys and values (`{member}`)" in memory.notes[0]


def test_a_list_of_attention_alone_is_not_said() -> None:
    memory = kv_memory({**LLAMA, "attn_type_list": [1] * 32}, "bfloat16")

    assert memory.notes == ("131,072 bytes of KV cache a token (32 layers, bfloat16)",)


LLAMA = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
LLAMA_4_SCOUT = {
    "text_config": {
        "model_type": "llama4_text",
        "num_hidden_layers": 48,
        "attention_chunk_size": 8192,
        "no_rope_layers": [1, 1, 1, 0] * 12,
    }
}


@pytest.mark.parametrize(
    ("config", "windows", "window"),
    [
        # Gemma 2 alternates, Gemma 3 has five of six, Gemma 3n four of five
        ({"model_type": "gemma2", "num_hidden_layers": 42, "sliding_window": 4096}, 21, 4096),
        ({"model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024}, 29, 1024),
        ({"model_type": "gemma3_text", "num_hidden_layers": 26, "sliding_window": 512, "layer_types": None}, 22, 512),
        ({"num_hidden_layers": 62, "sliding_window": 1024, "sliding_window_pattern": 6}, 52, 1024),
        ({"num_hidden_layers": 62, "sliding_window": 1024, "_sliding_window_pattern": 6}, 52, 1024),
        ({"model_type": "gemma3n_text", "num_hidden_layers": 35, "sliding_window": 512}, 28, 512),
        (LLAMA_4_SCOUT["text_config"], 36, 8192),
        ({**LLAMA_4_SCOUT["text_config"], "no_rope_layers": []}, 36, 8192),
        ({**LLAMA_4_SCOUT["text_config"], "attention_chunk_size": None}, 0, None),
        ({"model_type": "gpt_oss", "num_hidden_layers": 36, "sliding_window": 128}, 18, 128),
        ({"model_type": "cohere2", "num_hidden_layers": 32, "sliding_window": 4096}, 24, 4096),
        ({"model_type": "olmo3", "num_hidden_layers": 32, "sliding_window": 4096}, 24, 4096),
        ({"num_hidden_layers": 64, "sliding_window": 4096, "sliding_window_pattern": "LLLG"}, 48, 4096),
        ({"model_type": "mistral", "num_hidden_layers": 32, "sliding_window": 4096}, 32, 4096),
        ({"model_type": "mistral", "num_hidden_layers": 32, "sliding_window": None}, 0, None),
        ({"model_type": "phi3", "num_hidden_layers": 32, "sliding_window": 2047}, 32, 2047),
        ({**LLAMA, "model_type": "qwen2", "sliding_window": 4096}, 0, None),
        ({**LLAMA, "model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}, 0, None),
        (
            {
                **LLAMA,
                "model_type": "qwen2",
                "sliding_window": 4096,
                "use_sliding_window": True,
                "max_window_layers": 28,
            },
            4,
            4096,
        ),
        ({**LLAMA, "layer_types": ["sliding_attention", "full_attention"] * 16, "sliding_window": 128}, 16, 128),
        ({**LLAMA, "sliding_window": 4096, "max_window_layers": 32}, 0, 4096),
        ({**LLAMA, "attention_layers": ["global", "local"] * 16}, 16, None),
        (RECURRENT_GEMMA_2B, 8, 2048),
    ],
)
def test_layers_that_look_back_a_window(config: dict[str, Any], windows: int, window: int | None) -> None:
    found = layers_of(config)

    assert (sum(kind.window for kind in found.kinds), found.window) == (windows, window)


def test_layers_that_use_the_keys_of_others_are_the_last_ones() -> None:
    types = (["sliding_attention"] * 4 + ["full_attention"]) * 7
    memory = kv_memory(
        {
            "num_hidden_layers": 35,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "sliding_window": 512,
            "num_kv_shared_layers": 15,
            "layer_types": types,
        },
        "bfloat16",
    )

    assert (memory.layers, memory.bytes_per_token) == (20, 40_960)
    assert memory.notes[0].startswith("16 of 35 layers look back 512 tokens only")
    assert memory.notes[1] == "15 of 35 layers use the keys and values of others"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({**LLAMA, "mamba_d_state": 16}, "`mamba_d_state`: layers are recurrent and keep a state, and it is not told"),
        ({**QWEN3_NEXT_80B, "full_attention_interval": None}, "`linear_num_value_heads`: layers are recurrent"),
        ({**JAMBA_1_5_MINI, "model_type": "zamba"}, "`mamba_d_state`: layers are recurrent"),
        ({**LFM2_1_2B, "full_attn_idxs": None}, "`conv_L_cache`: layers are recurrent"),
        ({"model_type": "mamba", "n_layer": 24, "d_model": 768}, "`model_type`: layers are recurrent"),
        ({"model_type": "rwkv7", "num_hidden_layers": 24}, "`model_type`: layers are recurrent"),
        ({"d_model": 768, "ssm_cfg": {"layer": "Mamba2"}}, "`ssm_cfg`: layers are recurrent"),
        ({**LLAMA, "layer_types": ["mamba"] * 32}, "`layer_types`: all layers are recurrent"),
        (
            {**LLAMA, "layer_types": ["indexed_attention"] * 32},
            "`layer_types` has 'indexed_attention', a kind of layer",
        ),
        ({**LLAMA, "mixer_types": ["gla"] * 32}, "`mixer_types` has 'gla', a kind of layer whose memory is not known"),
        ({**LLAMA, "hybrid_layer_pattern": [0, 1] * 16}, "`hybrid_layer_pattern` has 0, a kind of layer"),
        ({**LLAMA, "attn_type_list": [0, 2] * 16}, "`attn_type_list` has 2, a kind of layer"),
        ({**LLAMA, "layer_types": ["full_attention"] * 3}, "`layer_types` names 3 layers, `num_hidden_layers` is 32"),
        ({**LLAMA, "layer_types": [{"a": 1}] * 32}, "`layer_types` has {'a': 1}, a kind of layer"),
        ({**LLAMA, "full_attn_idxs": [1, 40]}, r"`full_attn_idxs` is \[1, 40\], expected indices of 32 layers"),
        ({**NEMOTRON_H_8B, "hybrid_override_pattern": "MX"}, "`hybrid_override_pattern` has 'X', a kind of layer"),
    ],
)
def test_layers_that_are_not_told_are_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        kv_memory(config, "bfloat16")


def test_lists_of_something_else_are_left_alone() -> None:
    config = {**LLAMA, "mlp_layer_types": ["dense"] * 32, "moe_layers": [0, 1], "mtp_layers_block_type": ["moe"]}

    assert layers_of(config).member is None
