"""LMDeploy's own scheduler of the PyTorch engine, run on the CPU, beside the block trie: the same cached tokens on
every call."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from engine_traffic import fingerprint, lines_of
from interpreters import ask, python_of, recording
from lmdeploy_scripts import RECORDED, model_answers, random_runs

WHEEL = "lmdeploy 0.18.0"


def test_every_call() -> None:
    python = python_of("LMDEPLOY_PYTHON", "torch, transformers and pydantic")
    source = os.environ.get("LMDEPLOY_SOURCE", "")
    if not (Path(source) / "lmdeploy" / "pytorch" / "paging" / "scheduler.py").is_file():
        pytest.skip(f"LMDEPLOY_SOURCE has to be a folder with the unpacked wheel of {WHEEL}")
    runs = random_runs()
    asked: list[Any] = []
    for run in runs:
        asked += [{"block_size": run.block_size, "blocks": run.blocks}, *lines_of(run.steps)]
    left = iter(ask(python, "lmdeploy_scheduler.py", asked))
    recorded: dict[str, Any] = {}
    for run in runs:
        mine = model_answers(run)
        theirs = [next(left) for _ in mine]
        wrong = [(number, *pair) for number, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1]]
        assert wrong == [], f"{run.name}: {len(wrong)} of {len(mine)}"
        recorded[run.name] = {"fingerprint": fingerprint(run.steps), "answers": theirs}
    assert list(left) == []
    if recording():
        whole = {"engine": f"{WHEEL}, the PyTorch engine's scheduler, on the CPU", "runs": recorded}
        text = json.dumps(whole, separators=(",", ":")).replace('"random', '\n"random')
        RECORDED.write_text(text + "\n", encoding="utf-8")
