"""A conversation under another head is told without a search, and as a search tells it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitrate.core.prompt import Part, Sketch
from hitrate.explain.evidence import Pair, Seen
from hitrate.explain.pairs import pairing as usual
from hitrate.explain.pairs.other_head import goes_on_under_other_head
from hitrate.explain.pairs.pairing import Pairing

STEPS = st.sampled_from(
    ["clock"] * 6
    + ["goes on", "goes on", "only a clock", "two clocks", "no clock", "fork", "edit", "cut", "asks alone"]
)
TEXTS = st.sampled_from(["Go on.", "Yes."]) | st.integers(0, 99).map("What of number {}? ".format)
SESSIONS = st.sampled_from(["none", "none", "own", "one", "wrong"])


class Sent(NamedTuple):
    prompt: list[str]
    answered: bool
    session: str
    affinity: str | None


@st.composite
def logs(draw: Any) -> list[Sent]:
    """Conversations that go on by turns under heads in which a clock moves on, as parts "kind:text"."""
    sessions, affine, sent = draw(SESSIONS), draw(st.booleans()), list[Sent]()
    talks = [[draw(st.integers(0, 2)), [f"user:{draw(TEXTS)}"]] for _ in range(draw(st.integers(1, 4)))]
    for number in range(draw(st.integers(2, 16))):
        place = draw(st.integers(0, len(talks) - 1))
        agent, history = talks[place]
        step = draw(STEPS)
        answer = f"{draw(st.sampled_from(['assistant', 'assistant', 'tool', 'system']))}:{draw(TEXTS)}"
        if step in ("clock", "goes on", "two clocks", "no clock"):
            history = [*history, answer, f"user:{draw(TEXTS)}"]
        elif step == "fork":
            talks.append([agent, [*history, f"user:{draw(TEXTS)}"]])
        elif step == "edit":
            history = [*history[:-1], f"user:{draw(TEXTS)}", answer]
        elif step == "cut":
            history = history[:-2] or history
        talks[place][1] = history
        clock = draw(st.integers(0, 3)) if step == "goes on" else number
        system = f"system:{agent} it is {clock} " + "You ship freight. " * 20
        head = {0: [system], 1: ["tools:search", system], 2: ["tools:book " + "x" * 150, "system:Be kind.", system]}[
            agent
        ]
        if step == "two clocks":
            head = [f"tools:{number}", *head[1:]]
        elif step == "no clock":
            head = head[:-1]
        session = {"none": "", "one": "all", "own": f"{place}", "wrong": f"{number % 3}"}[sessions]
        prompt = [*head, history[-1]] if step == "asks alone" else [*head, *history]
        sent.append(Sent(prompt, draw(st.integers(0, 9)) > 0, session, f"{place}" if affine else None))
    return sent


def paired(log: list[Sent], texts: bool) -> list[Pair]:
    texts_of = (lambda index: [part.split(":", 1)[1] for part in log[index].prompt]) if texts else None
    pairing = Pairing(texts_of)
    pairs = [
        pairing.add(Seen(index=index, answered=one.answered, session=one.session, affinity=one.affinity), sketch(one))
        for index, one in enumerate(log)
    ]
    pairing.check_integrity()
    return pairs


def sketch(sent: Sent) -> Sketch:
    found = []
    for part in sent.prompt:
        kind, text = part.split(":", 1)
        found.append(Part(hash(part), kind, len(text), (len(text),)))
    return Sketch(tuple(found))


@settings(max_examples=150, deadline=None)
@given(logs(), st.booleans())
def test_it_is_what_a_search_finds(log: list[Sent], texts: bool):
    found = paired(log, texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usual, "goes_on_under_other_head", lambda *given: None)
        assert paired(log, texts) == found


@pytest.mark.parametrize("tools", [[], ["tools:search"]])
def test_a_clock_is_told_without_a_search(monkeypatch: pytest.MonkeyPatch, tools: list[str]):
    tips = []

    def noted(*given: Any) -> Any:
        tips.append(goes_on_under_other_head(*given))
        return tips[-1]

    monkeypatch.setattr(usual, "goes_on_under_other_head", noted)
    history = ["user:Is it raining?"]
    log = []
    for minute in range(4):
        log.append(Sent([*tools, f"system:It is 9:{minute:02}. Be kind.", *history], True, "", None))
        history += [f"assistant:Ask again, this is {minute}.", f"user:And {minute}?"]
    pairs = paired(log, texts=False)
    assert [tip and tip.call for tip in tips] == [None, 0, 1, 2]
    assert [(pair.relation, pair.against, pair.shared_parts) for pair in pairs[1:]] == [
        ("rewrite", number, len(tools)) for number in range(3)
    ]
