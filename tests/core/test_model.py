import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.model import Usage

counts = st.none() | st.integers(-5, 5000)
usages = st.builds(Usage, prompt_tokens=counts, cached_tokens=counts, written_tokens=counts)


@given(usages)
def test_every_prompt_token_is_read_written_or_fresh(usage: Usage):
    parts = (usage.cached_tokens, usage.written_tokens, usage.fresh_tokens)
    if None in (usage.prompt_tokens, usage.cached_tokens, usage.written_tokens) or usage.accounting_fault:
        assert usage.fresh_tokens is None
    else:
        assert sum(parts) == usage.prompt_tokens
        assert min(parts) >= 0


@given(usages)
def test_a_hit_rate_lies_within_0_and_1_or_is_not_known(usage: Usage):
    rate = usage.hit_rate
    if usage.prompt_tokens is None or usage.cached_tokens is None or usage.accounting_fault:
        assert rate is None
    else:
        assert rate is None or 0 <= rate <= 1


@pytest.mark.parametrize(
    ("prompt", "cached", "written", "fault", "fresh", "rate"),
    [
        (100, 60, 30, False, 10, 0.6),
        (100, 60, None, False, None, 0.6),
        (100, None, 30, False, None, None),
        (None, 60, 30, False, None, None),
        (100, 0, 0, False, 100, 0.0),
        (0, 0, 0, False, 0, None),
        (100, 101, None, True, None, None),
        (100, 60, 41, True, None, None),
        (100, None, 101, True, None, None),
        (100, -1, None, True, None, None),
        (100, 60, -1, True, None, None),
        (None, None, None, False, None, None),
    ],
)
def test_contradictions_and_unknowns(prompt, cached, written, fault, fresh, rate):
    usage = Usage(prompt_tokens=prompt, cached_tokens=cached, written_tokens=written)
    assert (usage.accounting_fault, usage.fresh_tokens, usage.hit_rate) == (fault, fresh, rate)
