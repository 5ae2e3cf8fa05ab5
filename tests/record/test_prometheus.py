"""The text of /metrics."""

from hitrate.core.model import Call, Timing, Usage
from hitrate.record import prometheus
from hitrate.record.prometheus import Counters, Gauges


def call(**fields):
    usual = {"target": "openai", "dialect": "openai-chat", "body": b"", "model": "gpt-5", "status": 200}
    return Call(**{**usual, **fields})


def timed(ttft_s):
    return Timing(at=0.0, sent_at_s=0.0, ttft_s=ttft_s)


def samples(counters, gauges=None):
    lines = counters.text(gauges).splitlines()
    return {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in lines if not line.startswith("#")}


def test_nothing_recorded_has_no_samples():
    assert samples(Counters()) == {}


def test_sums_and_no_ratios():
    counters = Counters()
    counters.add(call(usage=Usage(prompt_tokens=1000, cached_tokens=0, written_tokens=900, output_tokens=10)))
    counters.add(call(usage=Usage(prompt_tokens=2000, cached_tokens=1800, written_tokens=100, output_tokens=20)))
    counters.add(call(usage=Usage(prompt_tokens=500, output_tokens=5)))
    counters.add(call(status=429, error="slow down"))
    counters.add(call(error="cut off"))
    labels = 'target="openai",model="gpt-5"'
    assert samples(counters) == {
        f'hitrate_requests_total{{{labels},outcome="answered"}}': "3",
        f'hitrate_requests_total{{{labels},outcome="refused"}}': "1",
        f'hitrate_requests_total{{{labels},outcome="failed"}}': "1",
        f'hitrate_tokens_total{{{labels},kind="prompt"}}': "3500",
        f'hitrate_tokens_total{{{labels},kind="cached"}}': "1800",
        f'hitrate_tokens_total{{{labels},kind="written"}}': "1000",
        f'hitrate_tokens_total{{{labels},kind="output"}}': "35",
        f"hitrate_reporting_prompt_tokens_total{{{labels}}}": "3000",
        f"hitrate_requests_not_reporting_total{{{labels}}}": "3",
    }


def test_counts_that_contradict_each_other_are_in_no_sum():
    counters = Counters()
    counters.add(call(usage=Usage(prompt_tokens=10, cached_tokens=20)))
    found = samples(counters)
    assert found['hitrate_tokens_total{target="openai",model="gpt-5",kind="prompt"}'] == "0"
    assert found['hitrate_requests_not_reporting_total{target="openai",model="gpt-5"}'] == "1"


def test_ttft_cold_warm_and_unknown():
    counters = Counters()
    counters.add(call(usage=Usage(prompt_tokens=100, cached_tokens=0), timing=timed(1.2)))
    counters.add(call(usage=Usage(prompt_tokens=100, cached_tokens=90), timing=timed(0.1)))
    counters.add(call(usage=Usage(prompt_tokens=100, cached_tokens=90), timing=timed(0.2)))
    counters.add(call(usage=Usage(prompt_tokens=100), timing=timed(400.0)))
    counters.add(call(usage=Usage(prompt_tokens=100, cached_tokens=90)))
    found = samples(counters)

    def bucket(cache, bound):
        return found[f'hitrate_ttft_seconds_bucket{{target="openai",model="gpt-5",cache="{cache}",le="{bound}"}}']

    assert [bucket("warm", bound) for bound in ("0.05", "0.1", "0.25", "+Inf")] == ["0", "1", "2", "2"]
    assert [bucket("cold", bound) for bound in ("1", "2.5", "+Inf")] == ["0", "1", "1"]
    assert [bucket("unknown", bound) for bound in ("300", "+Inf")] == ["0", "1"]
    assert found['hitrate_ttft_seconds_sum{target="openai",model="gpt-5",cache="warm"}'] == "0.300000"
    assert found['hitrate_ttft_seconds_count{target="openai",model="gpt-5",cache="warm"}'] == "2"


def test_what_the_recorder_does_not_know_is_left_out():
    assert samples(Counters(), Gauges(not_recorded=2)) == {"hitrate_exchanges_not_recorded_total": "2"}
    assert samples(Counters(), Gauges(journal_bytes=0)) == {"hitrate_journal_bytes": "0"}


def test_names_cannot_break_out_of_their_label():
    counters = Counters()
    counters.add(call(model='a"b\\c\nd\ud800'))
    line = next(line for line in counters.text().splitlines() if line.startswith("hitrate_requests_total{"))
    assert line == 'hitrate_requests_total{target="openai",model="a\\"b\\\\c\\nd?",outcome="answered"} 1'


def test_models_beyond_the_limit_are_counted_together():
    counters = Counters()
    for number in range(prometheus.MOST_SERIES + 5):
        counters.add(call(model=f"m{number}"))
    found = samples(counters)
    assert found['hitrate_requests_total{target="other",model="other",outcome="answered"}'] == "5"
    assert sum(name.startswith("hitrate_requests_not_reporting_total") for name in found) == prometheus.MOST_SERIES + 1
