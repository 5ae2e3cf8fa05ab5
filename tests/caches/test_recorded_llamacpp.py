"""The slot model against what a real llama.cpp server answered: the same slot and cached tokens on every call.

The answers are recorded by `make differential`; `test_slots_engine` asks the real server.
"""

from __future__ import annotations

import json

import pytest
from llamacpp_scripts import RECORDED, SCRIPTS, Pair, RecordedServer, Script, play

RECORDINGS = json.loads(RECORDED.read_text(encoding="utf-8"))["scripts"]


def replayed(script: Script) -> list[Pair]:
    recording = RECORDINGS[script.name]
    return list(play(script, RecordedServer(recording["answers"]), recording["context_per_slot"]))


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_every_call(script: Script) -> None:
    pairs = replayed(script)
    assert [pair.model for pair in pairs] == [pair.server for pair in pairs]
    assert sum(1 for pair in pairs if pair.server[1]) > 20


def test_the_recording_holds_what_it_is_meant_to_try() -> None:
    by_script = {script.name: replayed(script) for script in SCRIPTS}
    pairs = [pair for calls in by_script.values() for pair in calls]
    assert sum(pair.server[1] is not None for pair in pairs) == 60 * len(SCRIPTS) >= 200
    assert sum(pair.server[1] is None for pair in pairs) > 20  # Calls that were in flight while others were answered.
    assert {pair.server[0] for pair in by_script["default"]} == {0, 1, 2, 3}


def test_a_wrong_answer_would_be_noticed() -> None:
    recording = RECORDINGS["default"]
    answers = [list(answer) for answer in recording["answers"]]
    place = next(index for index, answer in enumerate(answers) if len(answer) == 3 and answer[1])
    answers[place][1] += 1
    pairs = list(play(SCRIPTS[0], RecordedServer(answers), recording["context_per_slot"]))
    assert [pair.model == pair.server for pair in pairs].count(False) == 1
