from __future__ import annotations

import pytest

from hitrate.core.cost import BreakEven, Quote, price_calls
from hitrate.core.model import Call, Usage
from hitrate.core.money import Price, Unpriced
from hitrate.core.records import MOST_LISTED, RecordCount, Remark, Skipped

FLASH = Price(input_usd_per_mtok=0.30, cached_usd_per_mtok=0.006, output_usd_per_mtok=1.20, source="list")
CLAUDE = Price(
    input_usd_per_mtok=3.0,
    cached_usd_per_mtok=0.3,
    written_usd_per_mtok=3.75,
    written_1h_usd_per_mtok=6.0,
    output_usd_per_mtok=15.0,
)


def call(prompt, cached, written=None, output=0, model="m"):
    usage = Usage(prompt_tokens=prompt, cached_tokens=cached, written_tokens=written, output_tokens=output)
    return Call(target="t", dialect="openai-chat", body=b"", model=model, usage=usage)


def report(calls, quote=lambda one: Quote(price=FLASH), **more):
    return price_calls(calls, quote, log="log", format="f", records=RecordCount().records, **more)


def test_twenty_calls_with_66_500_of_72_000_tokens_repeated():
    found = report([call(3600, 0), *(call(3600, 3500) for _ in range(19))])
    assert (found.calls, found.prompt_tokens, found.cached_tokens) == (20, 72_000, 66_500)
    assert round(found.hit_rate, 2) == 0.92
    assert (found.usd, found.usd_without_caching, found.usd_saved) == (0.002049, 0.0216, 0.019551)


def test_nothing_known_is_nothing_and_not_zero():
    found = report([call(None, None, output=None)])
    assert (found.prompt_tokens, found.cached_tokens, found.output_tokens, found.hit_rate) == (None, None, None, None)
    assert (found.usd, found.usd_without_caching, found.usd_saved, found.write_premium_usd) == (None, None, None, None)
    assert found.unpriced_calls == 1
    assert [(one.reason, one.calls) for one in found.unpriced] == [("no token counts", 1)]


def test_an_unpriced_call_counts_its_tokens_and_no_money():
    quotes = {"m": Quote(price=FLASH), "x": Unpriced("no price known")}
    found = report([call(1000, 0), call(1000, 500, model="x")], lambda one: quotes[one.model])
    assert (found.prompt_tokens, found.cached_tokens, found.hit_rate) == (2000, 500, 0.25)
    assert (found.usd, found.usd_without_caching, found.unpriced_calls) == (0.0003, 0.0003, 1)
    assert [(one.model, one.usd, one.unpriced_calls) for one in found.models] == [("m", 0.0003, 0), ("x", None, 1)]


def test_contradicting_counts_are_in_no_sum():
    found = report([call(100, 50), call(100, 400)])
    assert (found.prompt_tokens, found.cached_tokens, found.hit_rate, found.unpriced_calls) == (100, 50, 0.5, 1)


def test_what_is_not_reported_is_said():
    found = report([call(100, 50), call(100, None), call(100, 0, output=None)])
    assert (found.prompt_tokens, found.cached_tokens, found.hit_rate) == (300, 50, 0.25)
    assert (found.not_reported, found.without_output) == (1, 1)
    assert [warning.partition(" calls ")[2][:32] for warning in found.warnings] == [
        "do not report cached tokens: bil",
        "report no output tokens: no outp",
    ]


def test_cached_tokens_of_a_call_without_prompt_tokens_cannot_lift_the_rate():
    found = report([call(100, 50), call(None, 80)])
    assert (found.prompt_tokens, found.cached_tokens, found.hit_rate) == (100, 50, 0.5)


def test_write_premium_and_break_even():
    found = report([call(1_000_000, 0, written=1_000_000)], lambda one: Quote(price=CLAUDE))
    assert (found.usd, found.write_premium_usd, found.usd_saved) == (3.75, 0.75, -0.75)
    assert found.break_even == (
        BreakEven(model="m", lifetime="usual", write_x=1.25, read_x=0.1, calls=2),
        BreakEven(model="m", lifetime="1h", write_x=2.0, read_x=0.1, calls=3),
    )


def test_every_price_is_listed_with_its_calls():
    quotes = iter([Quote(price=FLASH, provider="a"), Quote(price=FLASH, provider="a", tier="flex", note="x")] * 2)
    found = report([call(1, 0)] * 4, lambda one: next(quotes))
    assert [(one.provider, one.tier, one.calls, one.source, one.note) for one in found.prices] == [
        ("a", None, 2, "list", None),
        ("a", "flex", 2, "list", "x"),
    ]


@pytest.mark.parametrize(("logged", "warned"), [(0.0003, False), (0.0004, True)])
def test_the_log_s_own_figure_is_held_against_the_bill(logged, warned):
    found = report([call(1000, 0)], logged_usd=lambda one: logged)
    assert found.usd_logged == logged
    assert bool(found.warnings) == warned


def test_records_are_counted_past_what_is_listed():
    count = RecordCount()
    count.use()
    count.repeat()
    for line in range(MOST_LISTED + 5):
        count.skip(Skipped(line=line, reason="x"))
        count.remark(Remark(line=line, what="y"))
    records = count.records()
    assert (records.read, records.used, records.repeated, records.damaged) == (MOST_LISTED + 7, 1, 1, MOST_LISTED + 5)
    assert (len(records.skipped), len(records.remarks)) == (MOST_LISTED, MOST_LISTED)
