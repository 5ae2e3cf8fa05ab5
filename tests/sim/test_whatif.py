"""Replaying a log on a rule: who is served what, on one machine and on several."""

from __future__ import annotations

import pytest

from hitrate.caches.breakpoints import Mark
from hitrate.caches.marked import MarkedCache
from hitrate.caches.radix import RadixCache
from hitrate.caches.slots import SlotCache
from hitrate.sim.scaling import counted
from hitrate.sim.whatif import Moments, Prompt, Served, replay

FIRST, SECOND, THIRD = [1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7, 8]


def at(*moments: float) -> list[Moments]:
    """Calls that are done as soon as they are sent."""
    return [Moments(moment, moment, moment) for moment in moments]


def served(prompts, make_cache, moments=None, **more) -> list[int]:
    made = [prompt if isinstance(prompt, Prompt) else Prompt(prompt) for prompt in prompts]
    moments = moments or at(*range(len(made)))
    return [one.cached for one in replay(moments, made.__getitem__, make_cache, **more)]


def test_a_conversation_is_served_its_earlier_prompts() -> None:
    assert served([FIRST, SECOND, THIRD], RadixCache) == [0, 4, 6]


def test_what_was_generated_is_kept_behind_the_prompt() -> None:
    # The state of the last token is computed only when another one follows.
    assert served([Prompt(FIRST, [5, 6, 7]), THIRD], RadixCache) == [0, 6]


def test_a_prompt_is_readable_from_the_first_token_of_its_reply() -> None:
    moments = [Moments(0, 5, 9), Moments(1, 2, 3), Moments(6, 7, 8)]
    assert served([FIRST, SECOND, THIRD], RadixCache, moments) == [0, 0, 6]


def test_order_is_that_of_the_moments() -> None:
    assert served([SECOND, FIRST], RadixCache, at(9, 3)) == [4, 0]


@pytest.mark.parametrize(("ttl_s", "found"), [(300.0, [0, 4, 0]), (3600.0, [0, 4, 6])])
def test_a_marked_prefix_lives_as_long_as_it_asked_for(ttl_s, found) -> None:
    def prompt(tokens):
        ends = list(range(2, len(tokens) + 1, 2))
        return Prompt(tokens, places={"boundaries": ends, "marks": [Mark(len(ends) - 1, ttl_s)]})

    prompts = [prompt(FIRST), prompt(SECOND), prompt(THIRD)]
    outcome = replay(at(0, 70, 745), prompts.__getitem__, lambda: MarkedCache(minimum_tokens=0))
    assert [one.cached for one in outcome] == found
    written = [dict(one.written or {}) for one in outcome]
    assert written == [{ttl_s: 4}, {ttl_s: 2}, {ttl_s: 8 - found[2]}]


def test_too_many_marks_are_refused_and_write_nothing() -> None:
    marks = [Mark(index) for index in range(5)]
    prompt = Prompt([1, 2, 3, 4, 5], places={"boundaries": [1, 2, 3, 4, 5], "marks": marks})
    fine = Prompt([1, 2, 3], places={"boundaries": [1, 2, 3], "marks": [Mark(2)]})
    outcome = replay(at(0, 1), [prompt, fine].__getitem__, lambda: MarkedCache(minimum_tokens=0))
    assert outcome == [Served(0, refused=True), Served(0, {300.0: 3})]


def test_a_call_waits_for_a_slot() -> None:
    moments = [Moments(0, 1, 5), Moments(2, 3, 4)]
    assert served([FIRST, SECOND], lambda: SlotCache(slots=1, host_cache_bytes=0), moments) == [0, 4]


def test_a_key_leads_home_and_without_one_it_is_chance() -> None:
    prompts = [Prompt(FIRST), Prompt(SECOND), Prompt(THIRD)] * 10
    named = [prompt._replace(affinity="a", tokens=[place // 3, *prompt.tokens]) for place, prompt in enumerate(prompts)]
    unnamed = [prompt._replace(affinity=None) for prompt in named]
    assert served(named, RadixCache, replicas=4) == [0, 5, 7] * 10
    by_chance = sum(sum(served(unnamed, RadixCache, replicas=4, seed=seed)) for seed in range(20)) / 20
    # A second call finds the first with 1/4; a third the second with 1/4, else the first with 1/4 of the rest.
    assert by_chance == pytest.approx(10 * (5 / 4 + 7 / 4 + 5 * 3 / 16), rel=0.15)


@pytest.mark.parametrize(
    ("place", "engine"),
    [(0, 0), (10, 50), (20, 100), (30, 150), (40, 200)],
)
def test_places_are_carried_over_by_the_share_of_the_prompt(place, engine) -> None:
    assert counted(range(40), 200).in_engine_tokens(place) == engine


@pytest.mark.parametrize(("place", "engine"), [(10, 60), (20, 120), (30, 160), (40, 200)])
def test_the_end_of_the_prompt_before_is_where_it_was_reported(place, engine) -> None:
    assert counted(list(range(40)), 200, list(range(20)), 120).in_engine_tokens(place) == engine


def test_a_prompt_that_does_not_go_on_from_the_one_before_knows_no_such_place() -> None:
    assert counted(list(range(40)), 200, [7] * 20, 120).in_engine_tokens(20) == 100
    assert counted(list(range(40)), 200, list(range(20)), 250).in_engine_tokens(20) == 100
