from __future__ import annotations

from log_files import jsonl, read

META = {"type": "session_meta", "payload": {"id": "s1", "model_provider": "openai", "cwd": "/home/me"}}


def at(second):
    return f"2026-11-01T12:00:{second:02}.000Z"


def line(kind, payload, second=0):
    return {"timestamp": at(second), "type": kind, "payload": payload}


def context(model="gpt-5-codex", effort="high", second=0):
    return line("turn_context", {"model": model, "effort": effort, "cwd": "/home/me"}, second)


def tokens(prompt, cached, output=20, reasoning=5, **more):
    counts = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": output}
    return {**counts, "reasoning_output_tokens": reasoning, "total_tokens": prompt + output, **more}


def counted(last, total, second=0):
    return line(
        "event_msg", {"type": "token_count", "info": {"last_token_usage": last, "total_token_usage": total}}, second
    )


def figures(call):
    usage = call.usage
    return usage.prompt_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens


def test_a_call_a_token_count(tmp_path):
    item = line("response_item", {"type": "message", "role": "user", "content": []})
    count = counted(tokens(9000, 8000, cache_write_input_tokens=500), tokens(9000, 8000), 3)
    (call,), records = read(tmp_path, jsonl(META, context(), item, count))
    assert figures(call) == (9000, 8000, 20, 5)
    assert call.usage.written_tokens == 500
    assert call.usage.sources["cached_tokens"] == call.usage.cached_source == "cached_input_tokens"
    assert (call.session, call.target, call.dialect, call.model) == ("s1", "openai", "openai-responses", "gpt-5-codex")
    assert (call.timing.at, call.body, call.line, records.read) == (1793534403.0, b"", 4, 1)


def test_the_same_totals_again_are_no_call(tmp_path):
    limits = line("event_msg", {"type": "token_count", "info": None, "rate_limits": {}})
    first = counted(tokens(9000, 0), tokens(9000, 0))
    calls, records = read(tmp_path, jsonl(META, limits, first, first, counted(tokens(9100, 9000), tokens(18100, 9000))))
    assert [figures(call)[:2] for call in calls] == [(9000, 0), (9100, 9000)]
    assert (records.used, records.repeated) == (2, 1)


def test_without_the_last_call_it_is_what_the_totals_grew_by(tmp_path):
    totals = [tokens(9000, 0, 20, 5), tokens(18100, 9000, 50, 5), tokens(4000, 0, 9, 0)]
    calls, _ = read(tmp_path, jsonl(META, *(counted(None, total) for total in totals)))
    assert [figures(call) for call in calls] == [(9000, 0, 20, 5), (9100, 9000, 30, 0), (4000, 0, 9, 0)]


def test_what_is_not_counted_stays_unknown(tmp_path):
    (call,), _ = read(tmp_path, jsonl(META, counted({"input_tokens": 50}, None)))
    assert figures(call) == (50, None, None, None)
    assert call.usage.cached_source == "absent"


def test_what_happened_between_the_calls(tmp_path):
    calls, _ = read(
        tmp_path,
        jsonl(
            META,
            context(),
            counted(tokens(9000, 0), tokens(1, 0)),
            line("event_msg", {"type": "context_compacted"}, 1),
            line("compacted", {"message": "so far"}, 1),
            counted(tokens(3000, 0), tokens(2, 0)),
            context(effort="low", second=2),
            line("event_msg", {"type": "turn_aborted", "reason": "interrupted"}, 3),
            counted(tokens(3100, 0), tokens(3, 0)),
            counted(tokens(3200, 3100), tokens(4, 0)),
        ),
    )
    assert [[(one.kind, one.detail) for one in call.happenings] for call in calls] == [
        [],
        [("compaction", "")],
        [("aborted", "turn aborted by the user"), ("setting", "reasoning effort high -> low")],
        [],
    ]


def test_a_forked_session_keeps_its_own_name(tmp_path):
    parent = {"type": "session_meta", "payload": {"id": "s0"}}
    (call,), _ = read(tmp_path, jsonl(META, parent, counted(tokens(9, 0), None)))
    assert call.session == "s1"


def test_one_bad_record_among_good_ones(tmp_path):
    good = [counted(tokens(9000 + more, 0), tokens(more, 0)) for more in range(2)]
    odd = line("event_msg", {"type": "token_count", "info": {"last_token_usage": {"input_tokens": "many"}}})
    data = jsonl(META, good[0]) + b'{"timestamp": "2026\n[1]\n' + jsonl(odd, good[1])
    calls, records = read(tmp_path, data)
    assert len(calls) == 2
    assert [(one.line, one.reason[:34]) for one in records.skipped] == [
        (3, "cut off: the JSON value does not e"),
        (4, "the record is an array, expected a"),
        (5, "/payload/info has no input_tokens "),
    ]
