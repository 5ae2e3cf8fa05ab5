"""A reply read by the plan of an earlier one is read as it would have been without."""

from __future__ import annotations

from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core import usage_plans
from hitrate.core.model import Usage
from hitrate.core.usage_plans import MOST_TOKENS, UsagePlans
from hitrate.targets.dialects import by_shape, openai_usage
from hitrate.targets.dialects.by_shape import read_reply

COUNT = st.sampled_from([0, 1, 64, 100, 164, 2000]) | st.sampled_from(
    [None, -5, 12.0, 0.5, True, "64", "standard", "", MOST_TOKENS + 1, [7]]
)
DETAILS = st.none() | st.dictionaries(
    st.sampled_from(["cached_tokens", "cache_write_tokens", "reasoning_tokens", "thinking_tokens", "audio_tokens"]),
    COUNT,
)
USAGE = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            (
                *("prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"),
                *("cache_read_input_tokens", "cache_creation_input_tokens", "prompt_cache_hit_tokens"),
                *("inputTokens", "cacheReadInputTokens", "input", "cacheRead", "promptTokenCount", "service_tier"),
                "prompt_tokens_details.cached_tokens",
            ),
            COUNT,
        ),
        "prompt_tokens_details": DETAILS,
        "input_tokens_details": DETAILS,
        "output_tokens_details": DETAILS,
        "cache_creation": st.just({"ephemeral_5m_input_tokens": 3}),
        "cacheDetails": st.just([{"ttl": "1h", "inputTokens": 5}]),
    },
)
REPLY = st.fixed_dictionaries(
    {},
    optional={
        "usage": USAGE | st.none() | st.just("many"),
        "usageMetadata": USAGE,
        "timings": st.just({"cache_n": 3, "prompt_n": 4}) | st.just({"cache_n": 3, "prompt_ms": 0.5}),
        "tokens_evaluated": COUNT,
        "tokens_predicted": COUNT,
        "id": st.just("r1"),
        "error": st.sampled_from([None, {"message": "overloaded"}]),
        "object": st.just("response"),
        "output": st.just([]),
    },
)
NAMES = st.sampled_from(
    [None, "openai-chat", "openai-responses", "anthropic-messages", "llamacpp-completion", "pi", "x"]
)


@given(st.lists(st.tuples(REPLY, NAMES), min_size=1, max_size=6))
def test_both_ways_read_the_same(replies):
    by_shape._plans = UsagePlans()
    for reply, named in [*replies, *replies]:
        assert read_reply(reply, named) == by_shape._read_reply(reply, named)


def test_the_figures_of_a_plan_are_those_of_a_usage_in_its_order():
    assert list(usage_plans._FIGURES) == [name for name, kind in Usage.__annotations__.items() if kind == "int | None"]
    plan = usage_plans.Plan("openai-chat", (), itemgetter(*range(7)), "absent", {})
    usage = plan.usage([70, 60, 50, 40, 30, 20, 0])
    assert usage is not None
    assert [getattr(usage, name) for name in usage_plans._FIGURES] == [70, 60, 50, 40, 30, 20, 0]


@given(st.lists(REPLY, min_size=1, max_size=6))
def test_both_ways_read_the_same_counts_of_the_chat_wire(replies):
    openai_usage._plans = UsagePlans()
    for reply in [*replies, *replies]:
        assert openai_usage.read_usage(reply) == openai_usage._look_for_usage(reply)


def _xai(prompt, cached, total):
    details = {"cached_tokens": cached}
    return {
        "openai-chat": {"prompt_tokens": prompt, "completion_tokens": 10, "prompt_tokens_details": details},
        "openai-responses": {"input_tokens": prompt, "output_tokens": 10, "input_tokens_details": details},
    }, total


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_cached_tokens_beside_the_prompt_tokens_of_one_reply_are_no_rule_for_the_next(wire):
    """xAI alone counts so, and only at times."""
    by_shape._plans, openai_usage._plans = UsagePlans(), UsagePlans()
    found = []
    for usage, total in (_xai(100, 4328, 4438), _xai(1000, 800, 1010)):
        read = read_reply({"usage": {**usage[wire], "total_tokens": total}}, wire)[1].usage
        found.append((read.prompt_tokens, read.cached_tokens))
    assert found == [(4428, 4328), (1000, 800)]


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 0}},
        {"input_tokens": 1, "cache_read_input_tokens": 0, "output_tokens": 2, "service_tier": "standard"},
    ],
)
def test_the_usual_reply_is_read_by_a_plan(monkeypatch, usage):
    by_shape._plans = UsagePlans()
    first = read_reply({"usage": usage}, None)
    monkeypatch.setattr(by_shape, "_read_reply", None)
    assert read_reply({"usage": dict(usage)}, None) == first
