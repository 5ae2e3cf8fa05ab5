from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise

import pytest
from log_files import jsonl, read

from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply

SESSION = {"type": "session", "id": "abc", "timestamp": "2026-11-01T12:00:00Z", "cwd": "/home/me"}


def turn(fresh=10, read_tokens=900, written=90, output=20, stop="stop", **more):
    usage = {"input": fresh, "cacheRead": read_tokens, "cacheWrite": written, "output": output, "cost": {"total": 0.5}}
    message = {"role": "assistant", "api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-5"}
    message |= {"usage": usage, "stopReason": stop, "timestamp": 1793534400000, **more}
    return {"type": "message", "timestamp": "2026-11-01T12:00:01Z", "message": message}


def test_reads_and_writes_stand_beside_the_input(tmp_path):
    user = {"type": "message", "message": {"role": "user", "content": []}}
    (call,), records = read(tmp_path, jsonl(SESSION, user, turn(), {"type": "compaction", "summary": "x"}))
    assert (call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.written_tokens) == (1000, 900, 90)
    assert (call.usage.output_tokens, call.raw_usage["cost"]) == (20, {"total": 0.5})
    assert (call.target, call.model, call.session, call.timing.at) == (
        "anthropic",
        "claude-opus-4-5",
        "abc",
        1793534400.0,
    )
    assert records.read == 1


def test_an_aborted_turn_has_no_counts_rather_than_zeros(tmp_path):
    aborted = turn(0, 0, 0, 0, stop="aborted")
    late = turn(5, 0, 0, 1, stop="aborted")
    calls, _ = read(tmp_path, jsonl(SESSION, aborted, late))
    assert [(call.usage.prompt_tokens, call.error) for call in calls] == [
        (None, "aborted before its usage came"),
        (5, None),
    ]


def test_names_of_providers_and_wires_become_those_used_here(tmp_path):
    (call,), _ = read(tmp_path, jsonl(SESSION, turn(provider="google", api="google-generative-ai")))
    assert (call.target, call.dialect) == ("gemini", "gemini-generate")


def test_a_turn_without_usage_is_damaged(tmp_path):
    calls, records = read(tmp_path, jsonl(SESSION, turn(usage="12"), turn()))
    assert len(calls) == 1
    assert (records.skipped[0].line, records.skipped[0].reason) == (2, "/message/usage is a string, expected an object")


def test_an_answer_in_the_file_of_another_agent_is_no_turn(tmp_path):
    """Claude Code writes an answer in several lines, which would count more than once."""
    claude = {"type": "assistant", "message": {"role": "assistant", "usage": {"input_tokens": 5, "output_tokens": 1}}}
    calls, records = read(tmp_path, jsonl(turn(), claude, claude))
    assert (len(calls), records.damaged) == (1, 2)


def happenings(tmp_path, *lines):
    calls, _ = read(tmp_path, jsonl(SESSION, *lines))
    return [[(one.kind, one.detail) for one in call.happenings] for call in calls]


def change(**members):
    return {"type": "change", "timestamp": "2026-11-01T12:00:05Z", **members}


def test_what_happened_goes_to_the_next_call(tmp_path):
    compaction = change(type="compaction", summary="s", tokensBefore=175_004)
    assert happenings(tmp_path, turn(), compaction, turn(), turn()) == [[], [("compaction", "of 175,004 tokens")], []]


def test_of_a_setting_only_the_outcome_counts(tmp_path):
    levels = [change(thinkingLevel=level) for level in ("off", "low", "high")]
    assert happenings(tmp_path, levels[0], turn(), *levels[1:], turn(), levels[1], levels[2], turn()) == [
        [],
        [("setting", "thinking level off -> high")],
        [],
    ]


def test_a_model_that_changed(tmp_path):
    lines = [change(modelId="a"), turn(), change(modelId="b"), turn()]
    assert happenings(tmp_path, *lines) == [[], [("setting", "model a -> b")]]


def test_an_aborted_turn_is_told_to_the_next_answered_call_with_what_was_before_it(tmp_path):
    aborted, failed = turn(0, 0, 0, 0, stop="aborted"), turn(0, 0, 0, 0, stop="error")
    late = turn(5, 900, 20, 1, stop="aborted")
    compaction = change(type="compaction", summary="s")
    assert happenings(tmp_path, turn(), compaction, aborted, failed, late, turn()) == [
        [],
        [("compaction", "")],
        [("compaction", ""), ("aborted", "aborted before its usage came")],
        [
            ("compaction", ""),
            ("aborted", "aborted before its usage came"),
            ("aborted", "error before its usage came"),
        ],
        [],
    ]


TRACES = os.environ.get("HITRATE_TRACES")


@pytest.mark.skipif(not TRACES, reason="HITRATE_TRACES is not set")
def test_the_losses_of_a_real_session_and_what_stands_before_them():
    calls = list(open_log(f"{TRACES}/agent_usage/pi_before-compaction.jsonl.gz", read_reply))
    answered = [call for call in calls if call.error is None]
    losses = []
    for before, call in pairwise(answered):
        if call.usage.cached_tokens == 0 and before.usage.cached_tokens + before.usage.written_tokens > 0:
            idle = call.timing.at - before.timing.at > 300
            losses.append("idle" if idle else "+".join(one.kind for one in call.happenings) or "nothing")
    assert Counter(losses) == {
        "compaction": 1,
        "compaction+aborted": 1,
        "setting": 1,
        "aborted": 3,
        "idle": 1,
        "nothing": 5,
    }
