from __future__ import annotations

import json

from log_files import jsonl, read


def line(message_id, output, *, request="req_1", kind="assistant", at="2026-11-01T12:00:00Z", **more):
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 800,
        "cache_read_input_tokens": 17_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 500},
        "output_tokens": output,
    }
    message = {"id": message_id, "role": "assistant", "model": "claude-sonnet-4-5", "content": [], "usage": usage}
    message |= more.pop("message", {})
    return {
        "sessionId": "s",
        "uuid": "u",
        "type": kind,
        "timestamp": at,
        "requestId": request,
        "message": message,
        **more,
    }


USER = {"sessionId": "s", "uuid": "u", "type": "user", "message": {"role": "user", "content": "hi"}}


def test_an_answer_counts_once_with_its_whole_output(tmp_path):
    data = jsonl({"type": "summary", "leafUuid": "x"}, USER, line("a", 2), line("a", 2), line("a", 414), line("b", 7))
    calls, records = read(tmp_path, data)
    assert [(call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) for call in calls] == [
        (17_805, 17_000, 414),
        (17_805, 17_000, 7),
    ]
    assert (calls[0].usage.written_5m_tokens, calls[0].usage.written_1h_tokens) == (300, 500)
    assert (calls[0].target, calls[0].dialect, calls[0].session) == ("anthropic", "anthropic-messages", "s")
    assert (records.read, records.used, records.repeated) == (4, 2, 2)


def test_side_chains_interleave(tmp_path):
    data = jsonl(line("a", 1), line("b", 1, isSidechain=True), line("a", 9), line("b", 8, isSidechain=True))
    calls, _ = read(tmp_path, data)
    assert [(call.usage.output_tokens, call.label) for call in calls] == [(9, ""), (8, "sidechain")]


def test_the_same_message_id_of_another_request_is_another_call(tmp_path):
    calls, _ = read(tmp_path, jsonl(line("a", 1), line("a", 1, request="req_2")))
    assert len(calls) == 2


def test_more_open_answers_than_are_kept_in_mind(tmp_path):
    many = [line(f"m{number}", 1) for number in range(1100)]
    calls, records = read(tmp_path, jsonl(*many, many[0]))
    assert len(calls) == 1100
    assert records.repeated == 1


def test_messages_of_the_agent_itself_are_no_calls(tmp_path):
    calls, records = read(tmp_path, jsonl(line("a", 1), line("x", 0, message={"model": "<synthetic>"})))
    assert (len(calls), records.read) == (1, 1)


def test_an_answer_without_usage_is_damaged(tmp_path):
    calls, records = read(tmp_path, jsonl(line("a", 1), line("b", 1, message={"usage": None})))
    assert len(calls) == 1
    assert records.skipped[0].reason == "/message/usage is null, expected an object"


def test_lines_of_another_agent_are_not_passed_over_without_a_word(tmp_path):
    pi = {"type": "message", "message": {"role": "assistant", "usage": {"input": 1, "cacheRead": 2, "output": 3}}}
    calls, records = read(tmp_path, jsonl(line("a", 1), pi))
    assert (len(calls), records.damaged) == (1, 1)


def test_bedrock_is_known_by_the_model(tmp_path):
    (call,), _ = read(tmp_path, jsonl(line("a", 1, message={"model": "us.anthropic.claude-opus-4-5-20251101-v1:0"})))
    assert call.target == "bedrock"


def test_as_the_log_of_a_session_file(tmp_path):
    document = json.dumps({"requests": [], "log": [line("a", 1), line("a", 5), line("b", 2)]}, indent=1)
    calls, records = read(tmp_path, document.encode())
    assert [call.usage.output_tokens for call in calls] == [5, 2]
    assert records.repeated == 1


def told(tmp_path, *lines):
    calls, _ = read(tmp_path, jsonl(*lines))
    return [(call.session, [(one.kind, one.detail) for one in call.happenings]) for call in calls]


def user(text, **more):
    return {**USER, "message": {"role": "user", "content": text}, **more}


BOUNDARY = {"sessionId": "s", "uuid": "c", "type": "system", "subtype": "compact_boundary"}


def test_a_compaction_is_told_once(tmp_path):
    boundary = {**BOUNDARY, "compactMetadata": {"trigger": "auto", "preTokens": 155_000}}
    summary = user("This session is being continued", isCompactSummary=True)
    assert told(tmp_path, line("a", 1), boundary, summary, line("b", 1), line("b", 5), line("c", 1)) == [
        ("s", []),
        ("s", [("compaction", "of 155,000 tokens")]),
        ("s", []),
    ]


def test_a_summary_between_calls_is_a_compaction_and_in_front_of_them_a_title(tmp_path):
    summary = {"type": "summary", "summary": "x", "leafUuid": "u"}
    found = told(tmp_path, summary, line("a", 1), summary, line("b", 1))
    assert found == [("s", []), ("s", [("compaction", "")])]


def test_another_model(tmp_path):
    other = line("b", 1, message={"model": "claude-opus-4-5"})
    assert told(tmp_path, line("a", 1), other) == [
        ("s", []),
        ("s", [("setting", "model claude-sonnet-4-5 -> claude-opus-4-5")]),
    ]


def test_a_call_that_ended_without_usage(tmp_path):
    stopped = user([{"type": "text", "text": "[Request interrupted by user]"}])
    refused = user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    failed = line("x", 0, message={"model": "<synthetic>"}, isApiErrorMessage=True)
    assert told(tmp_path, line("a", 1), stopped, line("b", 1), refused, line("c", 1), failed, line("d", 1)) == [
        ("s", []),
        ("s", [("aborted", "interrupted by the user")]),
        ("s", []),
        ("s", [("aborted", "error before its usage came")]),
    ]


def test_side_chains_are_sessions_of_their_own(tmp_path):
    def side(own, parent, message_id, **more):
        return line(message_id, 1, isSidechain=True, uuid=own, parentUuid=parent, **more)

    first = user("look", isSidechain=True, uuid="u1", parentUuid=None)
    second = user("find", isSidechain=True, uuid="u2", parentUuid=None)
    lines = [line("m", 1), first, second, side("a1", "u1", "a"), side("b1", "u2", "b"), side("a2", "a1", "c")]
    named = side("d1", "gone", "d", agentId="agent7")
    found = told(tmp_path, *lines, BOUNDARY, named, line("n", 1))
    assert [session for session, _ in found] == ["s", "s#u1", "s#u2", "s#u1", "s#agent7", "s"]
    assert [kind for _, told_of in found for kind, _ in told_of] == ["compaction"]
    assert found[-1][1]


def test_the_diagnosis_of_the_vendor(tmp_path):
    reason = {"cache_miss_reason": {"type": "system_changed"}}
    (call,), _ = read(tmp_path, jsonl(line("a", 1, message={"diagnostics": reason})))
    assert call.diagnosis == reason
