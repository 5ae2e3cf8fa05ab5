"""When a break is taken for the one before it again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hitrate.explain.causes.clock_in_prefix import ClockInPrefix
from hitrate.explain.causes.name_on_top import NameOnTop
from hitrate.explain.evidence import Divergence, Pair, Recognised, Seen
from hitrate.explain.repeats import Repeats

CLOCK, NAME = ClockInPrefix(), NameOnTop()
SAID = Recognised(confidence="certain", summary="s", advice="a")
PLACE = Divergence(
    pointer="/messages/0/content",
    offset=6,
    was="1",
    now="2",
    change="text",
    kind="system",
    cacheable_chars=6,
    cacheable_share=0.1,
)
PAIR = Pair(relation="rewrite", against=0, kept_characters=90)
BODIES = (b"{'now 1', the rest", b"{'now 2', the rest")


def noted(*causes: object, pair: Pair = PAIR, kept: int = 90) -> Repeats:
    repeats = Repeats()
    for cause in causes:
        repeats.note(Seen(index=1, characters=100), pair, BODIES, cause, SAID, PLACE, kept)  # type: ignore[arg-type]
    return repeats


@pytest.mark.parametrize(
    ("repeats", "is_again"),
    [
        pytest.param(noted(), False, id="never seen"),
        pytest.param(noted(CLOCK), False, id="once is chance"),
        pytest.param(noted(CLOCK, CLOCK), True, id="twice"),
        pytest.param(noted(CLOCK, NAME), False, id="two causes"),
        pytest.param(noted(CLOCK, CLOCK, NAME), False, id="another cause came between"),
        pytest.param(noted(CLOCK, CLOCK, pair=replace(PAIR, relation="summary")), False, id="no rewrite"),
        pytest.param(noted(CLOCK, CLOCK, kept=200), False, id="text behind it that hashes do not see"),
    ],
)
def test_two_breaks_alike_make_the_third(repeats: Repeats, is_again: bool):
    assert (repeats.again(Seen(index=2), PAIR, BODIES) is not None) == is_again


@pytest.mark.parametrize(
    ("seen", "pair", "bodies"),
    [
        pytest.param(Seen(index=2, conversation=1), PAIR, BODIES, id="another conversation"),
        pytest.param(Seen(index=2), replace(PAIR, shared_parts=1), BODIES, id="another part"),
        pytest.param(Seen(index=2), replace(PAIR, relation="append"), BODIES, id="no break"),
        pytest.param(Seen(index=2), replace(PAIR, kept_characters=0), BODIES, id="nothing behind it"),
        pytest.param(Seen(index=2), PAIR, (b"x" * 90 + b"1", b"x" * 90 + b"2"), id="another byte"),
    ],
)
def test_a_break_elsewhere_is_looked_at(seen: Seen, pair: Pair, bodies: tuple[bytes, bytes]):
    assert noted(CLOCK, CLOCK).again(seen, pair, bodies) is None


def test_the_share_in_front_shrinks_as_the_prompt_grows():
    known = noted(CLOCK, CLOCK).again(Seen(index=2), PAIR, BODIES)
    assert known is not None
    assert known.divergence_of(Seen(index=2, characters=200)).cacheable_share == pytest.approx(0.05)
