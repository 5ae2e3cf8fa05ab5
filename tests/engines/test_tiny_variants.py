from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hitrate.engines import gguf
from hitrate.engines.llamacpp import find_model
from hitrate.engines.llamacpp_memory import memory_settings
from hitrate.engines.tiny_variants import VARIANTS, variant_path


@pytest.mark.parametrize(
    ("name", "sha256", "size", "architecture", "tensors"),
    [
        (
            "tiny-swa",
            "0895a40e114ddcdab771d23211d7da5754c14d6fa163bf86f9064203e94b5a9a",
            7_747_264,
            "olmo2",
            3 + 4 * 11,
        ),
        (
            "tiny-recurrent",
            "0f68094e1b487a018160052536391142e535ed3d1269247891f304c9d86d8630",
            6_196_480,
            "mamba",
            3 + 4 * 10,
        ),
    ],
)
def test_the_files_are_the_same_everywhere(
    name: str, sha256: str, size: int, architecture: str, tensors: int, tmp_path: Path
):
    known, content = VARIANTS[name]
    data = content()
    assert (hashlib.sha256(data).hexdigest(), known, len(data)) == (sha256, sha256, size)
    path = variant_path(name, tmp_path)
    assert (path.name, path.read_bytes()) == (f"hitrate-{name}-{sha256[:12]}.gguf", data)
    summary = gguf.read_summary(path)
    assert (summary.architecture, summary.tensors, summary.context_length) == (architecture, tensors, 32768)


def test_the_engine_knows_them_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda _: str(tmp_path))
    for name in VARIANTS:
        model_id, path = find_model(name)
        assert (model_id, path.parent) == (f"hitrate-{name}", tmp_path)


@pytest.mark.parametrize(
    ("metadata", "settings"),
    [
        ({"general.architecture": "llama", "llama.context_length": 8192}, None),
        ({"general.architecture": "gemma3", "gemma3.attention.sliding_window": 1024}, {"window": 1024}),
        ({"general.architecture": "gpt-oss", "gpt-oss.attention.sliding_window": 128}, {"window": 128}),
        ({"general.architecture": "gemma3", "gemma3.attention.sliding_window": 0}, None),
        ({"general.architecture": "phi3", "phi3.attention.sliding_window": 2047}, None),
        ({"general.architecture": "llama4", "llama4.attention.sliding_window": 8192}, None),
        ({"general.architecture": "mamba", "mamba.ssm.state_size": 16}, {}),
        ({"general.architecture": "rwkv7", "rwkv7.wkv.head_size": 64}, {}),
        ({"general.architecture": "lfm2", "lfm2.shortconv.l_cache": 3}, {}),
        ({"general.architecture": "qwen3next", "qwen3next.ssm.state_size": 128}, {}),
        ({}, None),
    ],
)
def test_what_a_models_file_tells_of_its_memory(metadata: dict, settings: dict | None):
    assert memory_settings(gguf.Summary(metadata=metadata, tensors=1)) == settings
