"""The model of stored prompts against what MLX-LM answered: its `LRUPromptCache`, and its server with the tiny model.

The answers are recorded by `make differential`.
"""

from __future__ import annotations

import json

import pytest
from mlx_scripts import (
    RECORDED_SERVER,
    RECORDED_STORE,
    SCRIPTS,
    STORE_RUNS,
    Pair,
    RecordedServer,
    Script,
    StoreRun,
    play,
    store_answers,
    store_operations,
)

STORE = json.loads(RECORDED_STORE.read_text(encoding="utf-8"))["runs"]
SERVER = json.loads(RECORDED_SERVER.read_text(encoding="utf-8"))["scripts"]


@pytest.mark.parametrize("run", STORE_RUNS, ids=[str(run.seed) for run in STORE_RUNS])
def test_every_find_in_the_store(run: StoreRun) -> None:
    operations = store_operations(run)
    theirs = STORE[str(run.seed)]
    # Asked for exactly what is stored, it gives that, which its server then cannot serve.
    capped = [
        min(answer, len(operation[1]) - 1) if operation[0] == "fetch" else answer
        for answer, operation in zip(theirs, operations, strict=True)
    ]
    assert store_answers(run, operations) == capped
    assert sum(answer > 0 for answer, operation in zip(theirs, operations, strict=True) if operation[0] == "fetch") > 15


def replayed(script: Script) -> list[Pair]:
    return list(play(script, RecordedServer(SERVER[script.name])))


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_every_call_of_the_server(script: Script) -> None:
    pairs = replayed(script)
    assert [pair.model for pair in pairs] == [pair.server for pair in pairs]
    assert len(pairs) == 80 and sum(pair.server[1] > 0 for pair in pairs) > 30
