from __future__ import annotations

from log_files import jsonl, read

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
