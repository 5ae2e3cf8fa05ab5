import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.tokens.estimate import TokenEstimate, common_prefix, shared_characters, shared_tokens


def prompt(*segments, namespace=("m",)):
    return CanonicalPrompt(tuple(Segment(kind, "", 0, 0, text) for kind, text in segments), namespace=namespace)


EARLIER = prompt(("system", "s" * 60), ("user", "first"))


@pytest.mark.parametrize(
    ("later", "prompt_tokens", "estimate"),
    [
        (prompt(("system", "s" * 60), ("user", "first"), ("user", "x" * 35)), 50, TokenEstimate(32, 65, 100)),
        (prompt(("system", "s" * 60), ("user", "fi" + "x" * 38)), 50, TokenEstimate(31, 62, 100)),
        (prompt(("system", "s" * 60), ("assistant", "first" + "x" * 35)), 50, TokenEstimate(30, 60, 100)),
        (prompt(("system", "x"), ("user", "first")), 50, TokenEstimate(0, 0, 6)),
        (prompt(("system", "s" * 60)), 20, TokenEstimate(20, 60, 60)),
        (prompt(("system", "s" * 60), namespace=("other",)), 20, TokenEstimate(0, 0, 60)),
        (prompt(("system", "s" * 60)), None, None),
        (prompt(), 20, None),
        (prompt(("user", "")), 20, None),
    ],
)
def test_shared_tokens(later, prompt_tokens, estimate):
    assert shared_tokens(EARLIER, later, prompt_tokens) == estimate


def test_shared_characters_stop_at_the_shorter_prompt():
    assert shared_characters(EARLIER, prompt(("system", "s" * 60))) == 60
    assert shared_characters(prompt(), EARLIER) == 0


@given(head=st.text(max_size=20), one=st.text(max_size=5), other=st.text(max_size=5))
def test_common_prefix_is_what_a_plain_loop_finds(head, one, other):
    expected = 0
    for a, b in zip(head + one, head + other, strict=False):
        if a != b:
            break
        expected += 1
    assert common_prefix(head + one, head + other) == expected
