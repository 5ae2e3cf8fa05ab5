"""Whole outputs, to the letter, and what a terminal must never be sent."""

from __future__ import annotations

import io

import pytest

from hitrate.report import kinds
from hitrate.report.table import render

TEST = """\
test · practice · small-model · 2026-11-29T12:00:00Z · run r7k2m9

sequential
      prompt        cached     hit   TTFT                │  expected
turn  tokens        tokens  rate %     ms  state         │    tokens
────────────────────────────────────────────────────────────────────
   1   3,012             0     0.0  740.0  cold          │         0
   2   3,060         3,008    98.3   36.0  hit           │     3,008
   3   3,108         1,504    48.4  402.5  partial       │     3,056
   4   3,160  not reported       –   37.2  not reported  │     3,104
   5       –             –       –      –  failed        │         –
  turn 5: stream cut after 12 tokens

hit rate 49.2 %: 4,512 of 9,180 prompt tokens from cache, 5 calls, 1 not
reported, 1 failed
TTFT p50 cold 740.0 ms, warm 36.0 ms
1 of 5 calls got less than the cache rule predicts, 1,552 tokens in all
Turn 3 found half of its history.
cached tokens come in steps of 16
expected by vllm-2026-11 (block 16), exact tokens
this run's own error: loop lag p99 0.4 ms, 0 of 5 TTFTs are upper bounds,
concurrency 1.0 of 1
cost about $0.0012
warning: one call of 5 failed
"""

BENCH = """\
bench · practice · small-model · 2026-11-29T12:00:00Z · run rb3nch

                                                                    cached   hit
target    order           first_ms  rest_p50_ms  speedup_x  p95_ms  tokens     %
────────────────────────────────────────────────────────────────────────────────
practice  stable-first       740.0         36.0       20.6    38.9   2,960  98.7
practice  variable-first     744.0        712.0        1.0   730.0       0   0.0

stable-first: cold in between p50 742.0 ms, n = 1; warm is 20.6x as fast, 95 %
19.1 to 22.0, n = 4
stable-first: warm-up, not averaged: call 2
expected by vllm-2026-11 (block 16), estimated tokens
this run's own error: loop lag p99 0.4 ms, 1 of 7 TTFTs are upper bounds,
concurrency 1.0 of 1
2 repeated tries after 3.0 s of waiting in all
"""

FOLDED = """\
test · practice

parallel
          history found        of     hit  TTFT p50
turn  % (95 % interval)  sessions  rate %        ms
───────────────────────────────────────────────────
   1                  –         –     0.0     500.0
   2   50.0 (44.4–55.6)       300    45.1      50.0

600 calls folded to one line a turn; --csv lists every call
hit rate 23.6 %: 148,800 of 630,000 prompt tokens from cache, 600 calls
150 of 600 calls got less than the cache rule predicts, 148,800 tokens in all
Calls of one session reach different replicas.
about 2.0 replicas behind the address, 95 % 1.8 to 2.3, n = 300
repeated runs gave different counts
no expectation: no cache rule is known for this target
"""

COMPARED = """\
compare · test · A practice small-model run r7k2m9 · B hosted other-model

sequential
      cached A  cached B  hit A  hit B     B-A  TTFT A  TTFT B
turn    tokens    tokens      %      %  points      ms      ms  reason
────────────────────────────────────────────────────────────────────────────
   1         0         0    0.0    0.0    +0.0   740.0   900.0  equal
   2     3,008     2,944   98.3   96.2    -2.1    36.0    90.0  granularity
   3     1,504     3,072   48.4   98.8   +50.5   402.5    91.0  missed reuse
   4         –     3,072      –   97.2       –    37.2    92.0  not reported
   5         –         –      –      –       –       –       –  only in A
  turn 3: A is 1,568 tokens short, 98 whole steps of 16 or more
  turn 4: no cached tokens reported by A
  turn 5: only A has this call

A 49.2 %, B 65.5 % of prompt tokens from cache: 1,568 tokens are missed reuse
(sequential session 1 turn 3), 64 are granularity
A credits in steps of 16 tokens (measured)
A expected by vllm-2026-11
B credits in steps of 128 tokens (measured)
warning: 1 of 5 calls exist on one side only: the runs are not the same
conversation
"""


def drawn(value, **options) -> str:
    out = io.StringIO()
    render(value, out, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("test_result", TEST), ("bench_result", BENCH), ("many_sessions", FOLDED), ("comparison", COMPARED)],
)
def test_whole_output_at_80_columns(name, expected, request):
    text = drawn(request.getfixturevalue(name), width=80)
    assert text == expected
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("name", "expected"), [("test_result", TEST), ("bench_result", BENCH), ("comparison", COMPARED)]
)
def test_without_a_terminal_tables_are_80_columns_wide_and_sentences_one_line(name, expected, request, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    value = request.getfixturevalue(name)
    piped = drawn(value).splitlines()
    assert " ".join(piped) == " ".join(expected.splitlines())
    assert {len(line) for line in piped if "──" in line} == {
        len(line) for line in expected.splitlines() if "──" in line
    }
    sentences = {line.text for line in kinds.of(value).lines(value) if line.kind != "warning"}
    assert sentences <= set(piped)


@pytest.mark.parametrize("width", range(20, 61, 5))
@pytest.mark.parametrize("name", ["test_result", "bench_result", "many_sessions", "comparison"])
def test_figures_are_never_cut(name, width, request):
    value = request.getfixturevalue(name)
    text = drawn(value, width=width)
    for sheet in kinds.of(value).sheets(value):
        for column in sheet.columns:
            if column.show and not column.drop_order:
                assert {word for row in sheet.rows for word in column.text(row).split()} <= set(text.split())


def test_a_screen_too_narrow_for_the_figures_has_a_line_for_each(bench_result):
    assert drawn(bench_result, width=24).splitlines()[5:13] == [
        "order: stable-first",
        "  first_ms: 740.0",
        "  rest_p50_ms: 36.0",
        "  speedup_x: 20.6",
        "  p95_ms: 38.9",
        "  cached tokens: 2,960",
        "  hit %: 98.7",
        "order: variable-first",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 100, 200])
@pytest.mark.parametrize("name", ["test_result", "bench_result", "many_sessions", "comparison"])
def test_no_line_is_wider_than_the_terminal(name, width, request):
    assert max(map(len, drawn(request.getfixturevalue(name), width=width).splitlines())) <= width


def test_a_wide_screen_shows_every_column(comparison):
    header = " ".join(drawn(comparison, width=140).splitlines()[3].split())
    assert header == "prompt A prompt B cached A cached B hit A hit B B-A TTFT A TTFT B B-A"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(value) -> str:
    out = Terminal()
    render(value, out, width=80)
    return out.getvalue()


def test_colour_only_adds(test_result, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = on_terminal(test_result)
    assert "\x1b[32mhit" in coloured
    assert "\x1b[31mfailed" in coloured


def test_no_color_is_respected(test_result, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[3" not in on_terminal(test_result)


def test_hostile_text_is_shown_and_does_nothing(hostile):
    text = drawn(hostile, width=200)
    assert text.splitlines()[0] == (
        r"test · m\x1b[31m\u202e[bold]|<script>alert(1)</script>\n=1+1 · =cmd|' /C calc'!A0"
    )
    assert r"  turn 1: \u2028m\x1b[31m\u202e[bold]|<script>" in text
    assert not set("\x1b\u202e\u2028") & set(text)


def test_an_old_terminal_gets_what_it_can_show(test_result):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    render(test_result, out, width=80)
    out.flush()
    assert b"hit rate 49.2 %: 4,512 of 9,180 prompt tokens from cache" in raw.getvalue()
