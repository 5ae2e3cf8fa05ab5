"""Named objects by literal numbers: what a request that names one is served, and what storage is billed."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from hitrate.caches.objects import ObjectCache
from hitrate.caches.oracle_units import ObjectOracle
from hitrate.errors import UsageError

DOCUMENT = list(range(2000))
QUESTION = [9001, 9002, 9003]

EXAMPLES = int(os.environ.get("HITRATE_EXAMPLES", "8"))
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failure is shown as found: shrinking a machine of forty steps takes minutes, and the steps tell enough."""
NAMES = st.sampled_from(["a", "b"])
LIFETIMES = st.sampled_from([None, 2.0, 7.0])


def ask(cache: ObjectCache, now: float = 0.0, **request: object) -> int:
    lease = cache.begin(DOCUMENT + QUESTION, now=now, **request)  # type: ignore[arg-type]
    cache.publish(lease, now=now)
    cache.finish(lease, [1, 2], now=now)
    cache.check_integrity()
    assert lease.prompt_tokens == 2003
    return lease.cached_tokens


def test_a_request_is_served_the_object_it_names_and_nothing_else() -> None:
    cache = ObjectCache()
    assert ask(cache) == 0
    cache.create("book", DOCUMENT)
    assert [ask(cache, name="book"), ask(cache, name="book"), ask(cache)] == [2000, 2000, 0]
    assert cache.peek(DOCUMENT, name="book") == 2000


def test_an_object_expires_and_no_use_renews_it() -> None:
    cache = ObjectCache()
    cache.create("book", DOCUMENT, ttl_s=300, now=100)
    assert [ask(cache, now=now, name="book") for now in (100, 250, 399.9)] == [2000, 2000, 2000]
    with pytest.raises(UsageError, match=r"the cached object 'book' expired 0\.5 s ago"):
        ask(cache, now=400.5, name="book")


@pytest.mark.parametrize(("ttl_s", "lives_at", "gone_at"), [(None, 3599.0, 3600.0), (60.0, 59.0, 60.0)])
def test_left_out_the_lifetime_is_an_hour(ttl_s: float | None, lives_at: float, gone_at: float) -> None:
    cache = ObjectCache()
    cache.create("book", DOCUMENT, ttl_s=ttl_s)
    assert ask(cache, now=lives_at, name="book") == 2000
    with pytest.raises(UsageError, match="expired"):
        ask(cache, now=gone_at, name="book")


def test_a_lifetime_can_be_set_anew_before_it_ends() -> None:
    cache = ObjectCache()
    cache.create("book", DOCUMENT, ttl_s=300)
    cache.extend("book", ttl_s=600, now=200)
    assert ask(cache, now=799, name="book") == 2000
    with pytest.raises(UsageError, match="expired"):
        cache.extend("book", now=800)


def test_storage_is_counted_in_token_seconds_until_expiry_or_deletion() -> None:
    cache = ObjectCache()
    cache.create("book", DOCUMENT, ttl_s=100, now=0)
    assert [cache.stored_token_seconds(now) for now in (0, 50)] == [0, 100_000]
    cache.create("paper", DOCUMENT[:1500], now=50)
    assert cache.stored_token_seconds(60) == 120_000 + 15_000
    assert cache.stored_token_seconds(200) == 200_000 + 1500 * 150
    cache.delete("paper", now=200)
    assert cache.stored_token_seconds(9999) == 200_000 + 225_000
    cache.create("book", DOCUMENT, now=10_000)  # The name is free again, its past stays on the bill.
    assert cache.stored_token_seconds(10_010) == 425_000 + 20_000


def test_a_deleted_object_is_gone_but_a_request_in_flight_keeps_its_tokens() -> None:
    cache = ObjectCache()
    cache.create("book", DOCUMENT)
    lease = cache.begin(DOCUMENT + QUESTION, name="book")
    cache.delete("book", now=1)
    cache.finish(lease, now=2)
    assert lease.cached_tokens == 2000
    with pytest.raises(UsageError, match="there is no cached object 'book': create it first"):
        ask(cache, now=3, name="book")


def test_objects_of_another_namespace_are_not_there() -> None:
    cache = ObjectCache()
    cache.create("book", DOCUMENT, namespace="flash")
    assert ask(cache, name="book", namespace="flash") == 2000
    with pytest.raises(UsageError, match="no cached object"):
        ask(cache, name="book", namespace="pro")


@pytest.mark.parametrize(
    ("tokens", "options", "says"),
    [
        (DOCUMENT[:1023], {}, "a cached object of 1023 tokens is too small: it has to have 1024"),
        (DOCUMENT, {"ttl_s": 0}, "a lifetime of 0 s: it has to be above 0"),
        (DOCUMENT, {"ttl_s": -5.0}, "a lifetime of -5 s"),
        (DOCUMENT, {"name": "old"}, "there is a cached object 'old' already"),
    ],
)
def test_objects_that_cannot_be_are_refused(tokens: list[int], options: dict[str, object], says: str) -> None:
    cache = ObjectCache()
    cache.create("old", DOCUMENT)
    with pytest.raises(UsageError, match=says):
        cache.create(**{"name": "new", "tokens": tokens, **options})  # type: ignore[arg-type]
    assert cache.stored_token_seconds(1) == 2000


def test_a_prompt_has_to_begin_with_the_object_it_names() -> None:
    cache = ObjectCache()
    cache.create("book", DOCUMENT)
    with pytest.raises(ValueError, match="does not begin with the 2000 tokens of the object 'book'"):
        cache.begin(QUESTION, name="book")


def test_reset_forgets_objects_and_storage() -> None:
    cache = ObjectCache()
    cache.create("book", DOCUMENT)
    cache.reset()
    assert cache.stored_token_seconds(100) == 0
    with pytest.raises(UsageError):
        ask(cache, name="book")


class ObjectsAgainstOracle(RuleBasedStateMachine):
    """Model and oracle side by side; every object is a beginning of one document."""

    def __init__(self) -> None:
        super().__init__()
        self.pair: tuple[Any, Any] = (ObjectCache(3, 4.0), ObjectOracle(3, 4.0))
        self.now = 0.0

    def both(self, verb: str, *arguments: Any, **request: Any) -> None:
        """The same answer, or refused by both."""
        answers = []
        for cache in self.pair:
            try:
                answers.append(getattr(cache, verb)(*arguments, now=self.now, **request))
            except UsageError:
                answers.append("refused")
        assert answers[0] == answers[1]

    @rule(name=NAMES, tokens=st.integers(0, 9), ttl_s=LIFETIMES, namespace=NAMES)
    def create(self, name: str, tokens: int, ttl_s: float | None, namespace: str) -> None:
        self.both("create", name, range(tokens), ttl_s=ttl_s, namespace=namespace)

    @rule(name=NAMES, ttl_s=LIFETIMES, namespace=NAMES)
    def extend(self, name: str, ttl_s: float | None, namespace: str) -> None:
        self.both("extend", name, ttl_s=ttl_s, namespace=namespace)

    @rule(name=NAMES, namespace=NAMES)
    def delete(self, name: str, namespace: str) -> None:
        self.both("delete", name, namespace=namespace)

    @rule(name=st.none() | NAMES, namespace=NAMES)
    def peek(self, name: str | None, namespace: str) -> None:
        self.both("peek", range(12), name=name, namespace=namespace)

    @rule(seconds=st.sampled_from([0.5, 2.0, 5.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def sound(self) -> None:
        self.pair[0].check_integrity()
        assert self.pair[0].stored_token_seconds(self.now) == self.pair[1].stored_token_seconds(self.now)


def test_objects_answer_as_their_oracle() -> None:
    run_state_machine_as_test(
        ObjectsAgainstOracle,
        settings=settings(
            max_examples=EXAMPLES,
            phases=PHASES,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
