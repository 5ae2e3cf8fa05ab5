import pytest
from msgspec.structs import replace

from hitrate.core.model import REPEATED_TOTALS, Usage
from hitrate.explain.evidence import Seen
from hitrate.explain.oddities.reporting import Reporting

CHAT = "usage.prompt_tokens_details.cached_tokens"


def seen(index, prompt=2000, cached=0, source=CHAT, dialect="openai-chat", written=None, **more):
    usage = Usage(prompt_tokens=prompt, cached_tokens=cached, written_tokens=written, cached_source=source)
    return Seen(index=index, dialect=dialect, usage=usage, **more)


def causes(*calls, raw=None, repeated=0):
    reporting = Reporting()
    for one in calls:
        reporting.add(one, raw, continues=one.index > 0)
    return [(one.cause, one.calls) for one in reporting.findings(repeated=repeated, answers=len(calls))]


@pytest.mark.parametrize(
    ("calls", "raw", "found"),
    [
        (
            [seen(0, 1816, 0, "usage.cached_tokens"), seen(1, 1886, 1792, "usage.cached_tokens")],
            {"prompt_tokens": 1886, "cached_tokens": 1792},
            [("unusual-field", (1,))],
        ),
        ([seen(0, 1816, 64, "usage.prompt_cache_hit_tokens")], None, [("unusual-field", (0,))]),
        ([seen(0, 1816, 64, "usage.num_cached_tokens")], None, [("unusual-field", (0,))]),
        ([seen(0, 1816, 64, CHAT, "openai-responses")], None, [("unusual-field", (0,))]),
        (
            [seen(0, 2500, 0)],
            {"prompt_tokens": 2500, "prompt_tokens_details": {"cached_tokens": 0}, "cache_read_input_tokens": 2455},
            [("counts-contradict", (0,))],
        ),
        ([seen(0, 100, 4000)], None, [("counts-contradict", (0,))]),
        (
            [seen(0, 5000, 0, ttft_s=2.0), seen(1, 5100, 0, ttft_s=0.3), seen(2, 5200, 0, ttft_s=0.3)],
            None,
            [("zero-but-warm", (1, 2))],
        ),
        (
            [
                seen(0, 5000, None, "absent", ttft_s=2.0),
                seen(1, 5100, None, "absent", ttft_s=0.3),
                seen(2, 5200, None, "absent", ttft_s=0.3),
            ],
            None,
            [("not-reported-but-warm", (1, 2))],
        ),
        (
            [seen(0, 5000, None, "null"), seen(1, 5100, None, "null"), seen(2, 5200, None, "null")],
            None,
            [("not-reported", (1, 2))],
        ),
    ],
)
def test_oddities(calls, raw, found):
    assert causes(*calls, raw=raw) == found


@pytest.mark.parametrize(
    ("calls", "raw"),
    [
        ([seen(0, 1426, 0), seen(1, 1481, 1408), seen(2, 1518, 1408)], {"prompt_tokens_details": {"cached_tokens": 0}}),
        (
            [seen(0, 1444, 0, "usage.cache_read_input_tokens", "anthropic-messages", 1425)],
            {"cache_read_input_tokens": 0},
        ),
        ([seen(0, 1444, 900, "usage.input_tokens_details.cached_tokens", "openai-responses")], None),
        ([seen(0, 1444, 900, "timings.cache_n")], None),
        ([seen(0, 1444, 900, "header fireworks-cached-prompt-tokens")], None),
        ([seen(0, 1444, 0, "usage.cached_tokens")], {"cached_tokens": 0}),
        ([seen(0, 5000, 0, ttft_s=2.0), seen(1, 5100, 0, ttft_s=1.9), seen(2, 5200, 0, ttft_s=2.1)], None),
        ([seen(0, 5000, 0, ttft_s=2.0), seen(1, 5100, 0, ttft_s=0.3), seen(2, 5200, 5056, ttft_s=0.3)], None),
        ([seen(0, 5000, 0, ttft_s=2.0), seen(1, 200, 0, ttft_s=0.3), seen(2, 200, 0, ttft_s=0.3)], None),
        ([seen(0, None, None, "absent"), seen(1, None, None, "absent")], None),
        ([seen(0, 5000, None, "absent"), seen(1, 5100, None, "absent")], None),
        ([seen(0, 5000, None, "null"), seen(1, 5100, None, "null")], None),
        (
            [seen(0, 2500, 2455)],
            {"prompt_tokens_details": {"cached_tokens": 2455}, "cache_read_input_tokens": 2455, "cached_tokens": None},
        ),
        ([seen(0, 100, 4000, answered=False)], None),
    ],
)
def test_ordinary_logs_raise_nothing(calls, raw):
    assert causes(*calls, raw=raw) == []


def test_repeated_lines_are_counted():
    reporting = Reporting()
    (found,) = reporting.findings(repeated=5, answers=3)
    assert (found.verdict, found.cause, found.call, found.against) == ("reporting", "lines-repeated", None, None)
    assert found.summary.startswith("8 lines stand for 3 answers")
    assert found.voice == "observation"


def test_running_totals_of_a_stream():
    one = seen(0, 5408, 5120, "usage.cache_read_input_tokens", "anthropic-messages")
    assert causes(one) == []
    one.usage = replace(one.usage, sources={REPEATED_TOTALS: "message.usage (message_start), usage (message_delta)"})
    assert causes(one) == [("stream-totals-repeated", (0,))]


def test_a_conflict_names_both_places():
    reporting = Reporting()
    usage = {"prompt_tokens_details": {"cached_tokens": 0}, "cached_tokens": 2455}
    reporting.add(seen(0, 2500, 0), {"service_tier": "default", "usage": usage}, continues=False)
    (found,) = reporting.findings()
    assert "prompt_tokens_details.cached_tokens says 0, cached_tokens says 2,455" in found.summary
