import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.caches.block_chain import BlockChainCache
from hitrate.core.findings import LABELS, Verdict
from hitrate.explain.labels import LABEL_OF, label_tokens

NUMBERS = {"prompt_tokens": 1000, "cached_tokens": 0, "reusable_tokens": 0}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param({}, [("new", None, 1000)], id="first"),
        pytest.param({"prompt_tokens": 0}, [], id="no prompt"),
        pytest.param(
            {"cached_tokens": 800, "reusable_tokens": 800}, [("served", None, 800), ("new", None, 200)], id="hit"
        ),
        pytest.param(
            {"cached_tokens": 768, "reusable_tokens": 800, "granularity": 128},
            [("served", None, 768), ("new", None, 200), ("below granularity", None, 32)],
            id="rounded to steps",
        ),
        pytest.param(
            {"cached_tokens": 999, "reusable_tokens": 1000},
            [("served", None, 999), ("below granularity", None, 1)],
            id="the last token is never cached",
        ),
        pytest.param(
            {"reusable_tokens": 800, "minimum_tokens": 1024},
            [("new", None, 200), ("below granularity", None, 800)],
            id="below the minimum",
        ),
        pytest.param(
            {"reusable_tokens": 800, "label": "below granularity", "cause": "below-minimum"},
            [("new", None, 200), ("below granularity", "below-minimum", 800)],
            id="below the minimum, as a cause found it",
        ),
        pytest.param(
            {"cached_tokens": 256, "reusable_tokens": 800, "granularity": 128, "label": "expired", "cause": "idle"},
            [("served", None, 256), ("new", None, 200), ("below granularity", None, 32), ("expired", "idle", 512)],
            id="expired, and the rest of a block",
        ),
        pytest.param(
            {"reusable_tokens": 800}, [("new", None, 200), ("routed or evicted", None, 800)], id="no cause found"
        ),
        pytest.param(
            {"cached_tokens": 100, "reusable_tokens": 100, "kept_tokens": 850}
            | {"label": "behind a break", "cause": "clock-in-prefix"},
            [("served", None, 100), ("new", None, 50), ("behind a break", "clock-in-prefix", 850)],
            id="a break",
        ),
        pytest.param(
            {"cached_tokens": 60, "reusable_tokens": 100, "kept_tokens": 850}
            | {"label": "behind a break", "cause": "clock-in-prefix"},
            [("served", None, 60), ("new", None, 50), ("behind a break", "clock-in-prefix", 890)],
            id="a break, and back to an earlier breakpoint",
        ),
        pytest.param(
            {"reusable_tokens": 100, "kept_tokens": 850, "break_cause": "clock-in-prefix"}
            | {"label": "expired", "cause": "idle"},
            [("new", None, 50), ("behind a break", "clock-in-prefix", 850), ("expired", "idle", 100)],
            id="a break after a pause",
        ),
        pytest.param(
            {"cached_tokens": 900, "reusable_tokens": 800},
            [("served", None, 900), ("new", None, 100)],
            id="more served",
        ),
        pytest.param(
            {"cached_tokens": 900, "reusable_tokens": 700, "kept_tokens": 200},
            [("served", None, 900), ("behind a break", None, 100)],
            id="more served than the break allows",
        ),
        pytest.param(
            {"cached_tokens": None, "reusable_tokens": 800, "granularity": 128},
            [("new", None, 200), ("below granularity", None, 32), ("not reported", None, 768)],
            id="not reported",
        ),
        pytest.param(
            {"cached_tokens": None, "reusable_tokens": 100, "kept_tokens": 850, "label": "behind a break"},
            [("new", None, 50), ("behind a break", None, 850), ("not reported", None, 100)],
            id="not reported, and a break",
        ),
        pytest.param({"cached_tokens": 1001}, [("not reported", None, 1000)], id="more cached than prompt"),
        pytest.param({"cached_tokens": -1}, [("not reported", None, 1000)], id="a negative count"),
        pytest.param(
            {"reusable_tokens": 5000, "kept_tokens": 5000, "granularity": 0, "minimum_tokens": -1},
            [("below granularity", None, 1), ("routed or evicted", None, 999)],
            id="estimates beyond the prompt",
        ),
    ],
)
def test_labels(numbers, expected):
    assert list(label_tokens(**{**NUMBERS, **numbers})) == expected


def test_every_class_of_findings_that_loses_tokens_has_a_label():
    assert set(LABEL_OF) == set(typing.get_args(Verdict)) - {"pricing"}
    assert set(LABEL_OF.values()) <= set(LABELS)


counts = st.integers(-10, 3000)


@given(
    prompt=counts,
    cached=st.none() | counts,
    reusable=counts,
    kept=counts,
    label=st.sampled_from(LABELS),
    cause=st.none() | st.just("some-cause"),
    break_cause=st.none() | st.just("other-cause"),
    granularity=st.integers(-1, 600),
    minimum=st.integers(-1, 2048),
)
def test_labels_add_up_whatever_comes(prompt, cached, reusable, kept, label, cause, break_cause, granularity, minimum):
    found = label_tokens(
        prompt_tokens=prompt,
        cached_tokens=cached,
        reusable_tokens=reusable,
        kept_tokens=kept,
        label=label,
        cause=cause,
        break_cause=break_cause,
        granularity=granularity,
        minimum_tokens=minimum,
    )
    assert sum(one.tokens for one in found) == max(prompt, 0)
    assert all(one.tokens > 0 for one in found)
    assert [one.label for one in found] == sorted((one.label for one in found), key=LABELS.index)
    assert len({one[:2] for one in found}) == len(found)
    served = sum(one.tokens for one in found if one.label == "served" and one.cause is None)
    if label != "served" and cached is not None and 0 <= cached <= prompt:
        assert served == cached


@given(
    log=st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=40), min_size=2, max_size=8),
    block_size=st.sampled_from([1, 2, 3, 8, 16]),
    minimum=st.sampled_from([0, 1, 5, 16]),
    capacity=st.none() | st.integers(40, 60),
)
def test_labels_of_a_log_on_a_cache_rule(log, block_size, minimum, capacity):
    cache = BlockChainCache(block_size, capacity, minimum)
    for place, prompt in enumerate(log):
        lease = cache.begin(prompt)
        served = lease.cached_tokens if lease else 0
        if lease:
            cache.publish(lease)
            cache.finish(lease)
        found = label_tokens(
            prompt_tokens=len(prompt),
            cached_tokens=served,
            reusable_tokens=max((_shared(prompt, earlier) for earlier in log[:place]), default=0),
            granularity=block_size,
            minimum_tokens=minimum,
        )
        assert sum(one.tokens for one in found) == len(prompt)
        if capacity is None:  # then the rule accounts for every token: nothing is left to evictions
            assert {one.label for one in found} <= {"served", "new", "below granularity"}


def _shared(one, other):
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
