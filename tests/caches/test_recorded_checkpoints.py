"""The checkpoint model against what a real llama.cpp server answered with a sliding-window and a recurrent model.

The answers are recorded by `make differential`.
"""

from __future__ import annotations

import json

import pytest
from checkpoint_scripts import RECORDED, SCRIPTS, RecordedChats, Script, play, play_chats
from llamacpp_scripts import Pair, RecordedServer

RECORDINGS = json.loads(RECORDED.read_text(encoding="utf-8"))["scripts"]


def replayed(script: Script) -> list[Pair]:
    recording = RECORDINGS[script.name]
    answers, context = recording["answers"], recording["context_per_slot"]
    if script.chats:
        return list(play_chats(script, RecordedChats(answers), context))
    return list(play(script, RecordedServer(answers), context))


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_every_call(script: Script) -> None:
    pairs = replayed(script)
    assert [pair.model for pair in pairs] == [pair.server for pair in pairs]
    assert len(pairs) == script.drawn + (0 if script.chats else 13)
    assert len({pair.server[1] for pair in pairs}) > 3


def test_the_recording_is_of_every_script() -> None:
    assert list(RECORDINGS) == [script.name for script in SCRIPTS]
    assert sum(len(recording["answers"]) for recording in RECORDINGS.values()) >= 500


def test_a_wrong_answer_would_be_noticed() -> None:
    script, recording = SCRIPTS[0], RECORDINGS[SCRIPTS[0].name]
    answers = [list(answer) for answer in recording["answers"]]
    answers[2][1] += 1
    pairs = list(play(script, RecordedServer(answers), recording["context_per_slot"]))
    assert [pair.model == pair.server for pair in pairs].count(False) == 1
