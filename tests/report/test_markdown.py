"""Whole outputs, to the letter."""

from __future__ import annotations

import io

import pytest

from hitrate.report.markdown import render

TEST = """\
### test · practice · small-model · 2026-11-29T12:00:00Z · run r7k2m9

**sequential**

| turn | prompt tokens | cached tokens | hit rate % | TTFT ms | state | expected tokens |
| ---: | ---: | ---: | ---: | ---: | :--- | ---: |
| 1 | 3,012 | 0 | 0.0 | 740.0 | cold | *0* |
| 2 | 3,060 | 3,008 | 98.3 | 36.0 | hit | *3,008* |
| 3 | 3,108 | 1,504 | 48.4 | 402.5 | partial | *3,056* |
| 4 | 3,160 | not reported | – | 37.2 | not reported | *3,104* |
| 5 | – | – | – | – | failed | *–* |

- turn 5: stream cut after 12 tokens

- hit rate 49.2 %: 4,512 of 9,180 prompt tokens from cache, 5 calls, 1 not reported, 1 failed
- TTFT p50 cold 740.0 ms, warm 36.0 ms
- 1 of 5 calls got less than the cache rule predicts, 1,552 tokens in all
- Turn 3 found half of its history.
- cached tokens come in steps of 16
- expected by vllm-2026-11 (block 16), exact tokens
- this run's own error: loop lag p99 0.4 ms, 0 of 5 TTFTs are upper bounds, concurrency 1.0 of 1
- cost about $0.0012
- **Warning:** one call of 5 failed
"""

BENCH = """\
### bench · practice · small-model · 2026-11-29T12:00:00Z · run rb3nch

| target | order | first_ms | rest_p50_ms | speedup_x | p95_ms | cached tokens | hit % |
| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: |
| practice | stable-first | 740.0 | 36.0 | 20.6 | 38.9 | 2,960 | 98.7 |
| practice | variable-first | 744.0 | 712.0 | 1.0 | 730.0 | 0 | 0.0 |

- stable-first: cold in between p50 742.0 ms, n = 1; warm is 20.6x as fast, 95 % 19.1 to 22.0, n = 4
- stable-first: warm-up, not averaged: call 2
- expected by vllm-2026-11 (block 16), estimated tokens
- this run's own error: loop lag p99 0.4 ms, 1 of 7 TTFTs are upper bounds, concurrency 1.0 of 1
- 2 repeated tries after 3.0 s of waiting in all
"""

HOSTILE = """\
### test · m\\\\x1b\\[31m\\\\u202e\\[bold\\]\\|\\<script\\>alert(1)\\</script\\>\\\\n=1+1 · =cmd\\|' /C calc'!A0

**sequential**

| turn | prompt tokens | cached tokens | hit rate % | TTFT ms | state | expected tokens |
| ---: | ---: | ---: | ---: | ---: | :--- | ---: |
| 1 | 10 | 5 | 50.0 | 1.0 | partial | *–* |

- turn 1: \\\\u2028m\\\\x1b\\[31m\\\\u202e\\[bold\\]\\|\\<script\\>alert(1)\\</script\\>\\\\n=1+1

- hit rate 49.2 %: 4,512 of 9,180 prompt tokens from cache, 5 calls, 1 not reported, 1 failed
- TTFT p50 cold 740.0 ms, warm 36.0 ms
- m\\\\x1b\\[31m\\\\u202e\\[bold\\]\\|\\<script\\>alert(1)\\</script\\>\\\\n=1+1
- no expectation: no cache rule is known for this target
- **Warning:** m\\\\x1b\\[31m\\\\u202e\\[bold\\]\\|\\<script\\>alert(1)\\</script\\>\\\\n=1+1
"""


@pytest.mark.parametrize(("name", "expected"), [("test_result", TEST), ("bench_result", BENCH), ("hostile", HOSTILE)])
def test_whole_output(name, expected, request):
    out = io.StringIO()
    render(request.getfixturevalue(name), out)
    assert out.getvalue() == expected


def test_many_calls_are_folded_and_it_says_how_to_see_them(many_sessions):
    out = io.StringIO()
    render(many_sessions, out)
    assert "| 2 | 50.0 (44.4–55.6) | 300 | 45.1 | 50.0 |" in out.getvalue()
    assert "- 600 calls folded to one line a turn; `--csv` lists every call" in out.getvalue()
