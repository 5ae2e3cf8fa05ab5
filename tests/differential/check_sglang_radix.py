"""SGLang's own RadixCache, run on the CPU, beside the radix model: the same cached tokens on every call."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from engine_traffic import fingerprint, lines_of
from interpreters import ask, python_of, recording
from sglang_scripts import RECORDED, model_answers, random_runs

WHEEL = "sglang 0.5.23"


def test_every_call() -> None:
    python = python_of("SGLANG_PYTHON", "torch")
    source = os.environ.get("SGLANG_SOURCE", "")
    if not (Path(source) / "sglang" / "srt" / "mem_cache" / "radix_cache.py").is_file():
        pytest.skip(f"SGLANG_SOURCE has to be a folder with the unpacked wheel of {WHEEL}")
    runs = random_runs()
    asked: list[Any] = []
    for run in runs:
        asked += [{"page_size": run.page_size, "tokens": run.tokens}, *lines_of(run.steps)]
    left = iter(ask(python, "sglang_radix.py", asked))
    recorded: dict[str, Any] = {}
    for run in runs:
        mine = model_answers(run)
        theirs = [next(left) for _ in mine]
        wrong = [(number, *pair) for number, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1]]
        assert wrong == [], f"{run.name}: {len(wrong)} of {len(mine)}"
        recorded[run.name] = {"fingerprint": fingerprint(run.steps), "answers": theirs}
    assert list(left) == []
    if recording():
        whole = {"engine": f"{WHEEL}, RadixCache, on the CPU", "runs": recorded}
        text = json.dumps(whole, separators=(",", ":")).replace('"random', '\n"random')
        RECORDED.write_text(text + "\n", encoding="utf-8")
