"""The block chain against what a real vLLM server reported; recorded by `make differential`."""

from __future__ import annotations

import json

from vllm_server_script import AT_ONCE, CALLS, RECORDED, ROUNDS, RecordedServer, play

PAIRS = list(play(RecordedServer(json.loads(RECORDED.read_text(encoding="utf-8"))["answers"])))
ALONE = [pair for pair in PAIRS if not pair.in_round]
IN_ROUNDS = [pair for pair in PAIRS if pair.in_round]


def test_every_call_that_was_alone() -> None:
    assert len(ALONE) == CALLS and sum(pair.server > 0 for pair in ALONE) > 80
    assert [pair.model for pair in ALONE] == [pair.server for pair in ALONE]


def test_nearly_every_call_of_the_rounds() -> None:
    # Replies that run side by side take and give back their blocks in another order than one after the other.
    equal = sum(pair.model == pair.server for pair in IN_ROUNDS)
    assert len(IN_ROUNDS) == ROUNDS * AT_ONCE and equal >= 0.95 * len(IN_ROUNDS)
