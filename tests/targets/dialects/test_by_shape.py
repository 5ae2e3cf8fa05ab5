from __future__ import annotations

import pytest

from hitrate.targets.dialects import names
from hitrate.targets.dialects.by_shape import REPEATED_TOTALS, read_reply, standard_cached_sources

CHAT = {"usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}}}
MESSAGES = {"usage": {"input_tokens": 6, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 30}}


def counts(response, named=None):
    name, reading = read_reply(response, named)
    usage = reading.usage
    return name, usage.prompt_tokens, usage.cached_tokens, usage.written_tokens, reading.fault


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (CHAT, ("openai-chat", 100, 64, None)),
        ({"usage": {"prompt_tokens": 100, "cached_tokens": 64}}, ("openai-chat", 100, 64, None)),
        (
            {"usage": {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}},
            ("openai-chat", 100, 64, None),
        ),
        (
            {"usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64}}},
            ("openai-responses", 100, 64, None),
        ),
        ({"object": "response", "usage": {"input_tokens": 100}}, ("openai-responses", 100, None, None)),
        (MESSAGES, ("anthropic-messages", 100, 64, 30)),
        ({"usage": {"input_tokens": 100, "output_tokens": 5}}, ("anthropic-messages", 100, None, None)),
        # MiniMax: Anthropic's counters beside chat's total, which holds them
        (
            {"usage": {"prompt_tokens": 100, "cache_read_input_tokens": 64}},
            ("openai-chat", 100, 64, None),
        ),
        (
            {"usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 64}},
            ("gemini-generate", 100, 64, None),
        ),
        (
            {"usage": {"inputTokens": 6, "cacheReadInputTokens": 64, "cacheWriteInputTokens": 30}},
            ("bedrock-converse", 100, 64, 30),
        ),
        ({"timings": {"prompt_n": 36, "cache_n": 64, "predicted_n": 5}}, ("llamacpp-completion", 100, 64, None)),
        ({"usage": {"input": 6, "cacheRead": 64, "cacheWrite": 30, "output": 5}}, ("pi", 100, 64, 30)),
        # the Vercel SDK's own names: not known for certain, so not guessed
        ({"usage": {"inputTokens": 100, "cachedInputTokens": 64}}, (None, None, None, None)),
        ({"usage": {"tokens": 5}}, (None, None, None, None)),
        ({"status": 500}, (None, None, None, None)),
    ],
)
def test_by_shape(response, expected):
    assert counts(response) == (*expected, None)


def test_the_named_format_is_believed_while_it_finds_counts():
    plain = {"usage": {"input_tokens": 100, "output_tokens": 5}}
    assert counts(plain, "openai-responses")[:2] == ("openai-responses", 100)
    assert counts(MESSAGES, "openai-chat") == ("anthropic-messages", 100, 64, 30, None)
    assert counts({"usage": {}}, "openai-chat") == ("openai-chat", None, None, None, None)
    assert counts(CHAT, "no such format")[0] == "openai-chat"


def test_a_reply_with_its_message_is_read_whole():
    _, reading = read_reply({**CHAT, "choices": [{"message": {"role": "assistant", "content": "hi"}}]}, None)
    assert reading.reply.text == "hi"
    assert reading.raw_usage == CHAT["usage"]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (
            [
                {"type": "message_start", "message": {**MESSAGES, "id": "a"}},
                {"type": "message_delta", "delta": {}, "usage": {**MESSAGES["usage"], "output_tokens": 52}},
                {"type": "message_stop"},
            ],
            ("anthropic-messages", 100, 64, 30),
        ),
        (
            [{"type": "response.completed", "response": {"usage": {"input_tokens": 100}, "output": []}}],
            ("openai-responses", 100, None, None),
        ),
        ([{"choices": [{"delta": {"content": "x"}}]}, {"choices": [], **CHAT}], ("openai-chat", 100, 64, None)),
        (["data: what", 5], (None, None, None, None)),
    ],
)
def test_streams_by_shape(events, expected):
    assert counts({"events": events})[:4] == expected


def test_wrong_types_do_not_raise():
    for response in (
        {"usage": []},
        {"usage": "12"},
        {"choices": 5},
        {"events": [None]},
        {"usage": {"prompt_tokens": []}},
    ):
        assert counts(response)[1] is None


def anthropic_stream(at_the_end):
    usage = {"input_tokens": 288, "cache_read_input_tokens": 5120, "cache_creation_input_tokens": 0}
    return [
        {"type": "message_start", "message": {"id": "a", "role": "assistant", "content": [], "usage": usage}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {**at_the_end, "output_tokens": 52}},
        {"type": "message_stop"},
    ]


@pytest.mark.parametrize(
    ("events", "repeated"),
    [
        (
            anthropic_stream({"input_tokens": 288, "cache_read_input_tokens": 5120}),
            "message_start: message.usage, message_delta: usage",
        ),
        (anthropic_stream({}), None),
        (anthropic_stream({"input_tokens": 0, "cache_read_input_tokens": 0}), None),
        ([{"choices": []}, {"choices": [], "usage": {"prompt_tokens": 10}}], None),
        ([{"choices": [], "usage": {"prompt_tokens": 10}}, {"usage": {"prompt_tokens": 10}}], "chunk: usage"),
        ([5, "data: [DONE]", {"type": "message_start", "message": 5}], None),
    ],
)
def test_a_stream_that_reports_its_input_twice_says_so(events, repeated):
    _, reading = read_reply({"events": events}, None)
    assert reading.usage.sources.get(REPEATED_TOTALS) == repeated


@pytest.mark.parametrize("name", names())
def test_every_wire_has_a_standard_place_for_cached_tokens(name):
    (place, *_) = standard_cached_sources(name)
    value = 7
    for member in reversed(place.split(".")):
        value = {member: value}
    _, reading = read_reply(value, name)
    assert (reading.usage.cached_tokens, reading.usage.cached_source) == (7, place)


def test_an_unusual_place_for_cached_tokens_can_be_told():
    name, reading = read_reply({"usage": {"prompt_tokens": 100, "cached_tokens": 64}}, "openai-chat")
    assert reading.usage.cached_source not in standard_cached_sources(name)
    assert standard_cached_sources("smoke-signals") == ()
