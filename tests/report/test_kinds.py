"""Every kind of value that can be shown has all that the formats ask for."""

from __future__ import annotations

import io

import explained
import msgspec
import pytest

from hitrate import errors
from hitrate.core.listings import TargetList
from hitrate.explain.gates import Expectations, check
from hitrate.report import kinds, pages, plots_explain
from hitrate.report.formats import render
from hitrate.report.kinds.explain import first_line


@pytest.mark.parametrize("name", kinds.names())
def test_a_kind_is_named_as_its_values_are(name):
    kind = kinds.named(name)
    fields = {field.name: field for field in msgspec.structs.fields(kind.TYPE)}
    assert fields["kind"].default == name
    assert all(callable(getattr(kind, function)) for function in ("title", "sheets", "records", "lines"))


def test_what_only_some_kinds_have(many_sessions, test_result):
    assert kinds.folded_calls(many_sessions) == 600
    assert kinds.folded_calls(test_result) == 0
    assert kinds.passages(test_result) == []
    assert [passage.heading.split(" · ")[0] for passage in kinds.passages(explained.BROKEN)] == [
        "finding 1",
        "finding 2",
        "finding 3",
    ]


@pytest.mark.parametrize(
    "value", [TargetList(targets=()), check(explained.HEALTHY, Expectations(no_breaks=True), first_line)]
)
def test_a_kind_without_a_page_says_so(value):
    with pytest.raises(errors.UsageError, match="no HTML page"):
        pages.of(value)


CHECK = """\
check · logs/agent.jsonl · not passed: 1 failed, 1 could not be checked

expectation   outcome      stated  seen
───────────────────────────────────────
min-hit-rate  held            0.3   0.4
no-breaks     failed            0     1
max-lost-usd  not checked    0.02     0

min-hit-rate: hit rate 40.0 %, expected at least 30.0 %
no-breaks: 1 break, expected none: call 4 against 3 · /tools · order_lookup, refund became refund,
order_lookup · about 900 tokens lost: tool-order
max-lost-usd: could not check a loss of at most $0.02: $0 is known, for 1 of 6 calls it is not
you can change this, likely: tool-order: The same 2 tools stand in another order.
what to do: Sort the tools by name.
provider suspected, possible: provider-missed: The text only grew, and nothing was served.
allowed: clock-in-prefix
"""


def test_a_check_as_a_table():
    expected = Expectations(min_hit_rate=0.3, no_breaks=True, max_lost_usd=0.02, allow=("clock-in-prefix",))
    out = io.StringIO()
    render(check(explained.BROKEN, expected, first_line), "table", out, width=100)
    assert out.getvalue() == CHECK


@pytest.mark.parametrize("width", [340.0, 760.0])
@pytest.mark.parametrize("calls", [1, 2, 1000])
def test_a_plot_of_few_and_of_many_calls_stays_inside(width, calls):
    shown = [plots_explain.CallPoint(call, (call % 11) / 10, call % 7 == 0) for call in range(calls)]
    drawing = plots_explain.hit_rate_plot(shown, width)
    drawn = str(drawing.svg("t", "d", "i", "wide"))
    centres = [float(part.split('"')[0]) for part in drawn.split('cx="')[1:]]
    assert all(0 <= centre <= width for centre in centres)
    assert drawn.count("<circle") + drawn.count("<path") == calls
