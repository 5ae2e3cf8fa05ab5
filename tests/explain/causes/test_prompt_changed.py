from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

from hitrate.explain.causes.prompt_changed import PromptChanged

CHANGED = "prompt-changed"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("Once upon a time", "Once in a while"),
        ("Es war einmal", "Es ist einmal"),
        ("Il était une fois", "Il est une fois"),
        ("むかしむかし", "むかしある所"),
        ("从前有座山", "从前有条河"),
        ("Жили-были", "Жили дружно"),
    ],
)
def test_a_plain_prompt(was, now):
    assert named(was, now, kind="user", pointer="/prompt") == CHANGED


@pytest.mark.parametrize(
    ("pointer", "change"), [("/prompt_token_ids/3", "ids"), ("/prompt", "value"), ("", "prefix rebuilt")]
)
def test_other_places(pointer, change):
    assert recognised(evidence(place(pointer, change, kind="user", words="it changed")))[0] == CHANGED


def test_it_takes_every_break_and_nothing_else():
    assert PromptChanged().recognise(evidence(divergence("a", "b", kind="tools", pointer="/tools/0"))) is not None
    assert PromptChanged().recognise(evidence(None)) is None


def test_what_it_says():
    _, said = recognised(evidence(divergence("Once upon a time", "Once in a while", kind="user", pointer="/prompt")))
    assert said.summary == (
        'The prompt changed in the rendered prompt (/prompt, character 5): "Once upon a time" became "Once in a while".'
    )
