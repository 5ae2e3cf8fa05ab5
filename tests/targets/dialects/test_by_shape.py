from __future__ import annotations

import pytest

from hitrate.targets.dialects.by_shape import read_reply

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
