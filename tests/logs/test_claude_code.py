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


def test_bedrock_is_known_by_the_model(tmp_path):
    (call,), _ = read(tmp_path, jsonl(line("a", 1, message={"model": "us.anthropic.claude-opus-4-5-20251101-v1:0"})))
    assert call.target == "bedrock"


def test_as_the_log_of_a_session_file(tmp_path):
    document = json.dumps({"requests": [], "log": [line("a", 1), line("a", 5), line("b", 2)]}, indent=1)
    calls, records = read(tmp_path, document.encode())
    assert [call.usage.output_tokens for call in calls] == [5, 2]
    assert records.repeated == 1
