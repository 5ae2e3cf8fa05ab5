from __future__ import annotations

import pytest
from breaks import BODY, divergence, evidence, named, recognised

COUNTER = "counter-in-prefix"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("This is turn 7 of the conversation.", "This is turn 8 of the conversation."),
        ("Turn 9 of 20", "Turn 10 of 20"),
        ("Tokens left: 81,234", "Tokens left: 79,871"),
        ("Budget used: 12.5 %", "Budget used: 13.1 %"),
        ("Verbleibende Tokens: 81.234", "Verbleibende Tokens: 79.871"),
        ("Il reste 3 essais.", "Il reste 2 essais."),
        ("残り回数：12回", "残り回数：11回"),
        ("剩余次数: 12", "剩余次数: 11"),
        ("You saw 1 message.", "You saw 2 messages."),
        ("Outside temperature: -3 °C", "Outside temperature: -1 °C"),
        ("عدد الرسائل: ٧", "عدد الرسائل: ٨"),
    ],
)
def test_a_number_alone_changed(was, now):
    assert named(was + BODY, now + BODY) == COUNTER


@pytest.mark.parametrize(
    ("was", "now", "name"),
    [
        ("Use version 1.2.3.", "Use version 1.2.4.", "system-text-changed"),
        ("Prompt v1.", "Prompt v2.", "system-text-changed"),
        ("3. Roses need sun.", "4. Tulips need frost.", "system-text-changed"),
        ("It is 9:13 now.", "It is 9:14 now.", "clock-in-prefix"),
        ("hash: 48213977120", "hash: 99120048213", "nonce-in-prefix"),
        ("Answer in 3 words.", "Answer in three words.", "system-text-changed"),
        ("Call 555-0142 for help.", "Call 555-0199 for help.", "system-text-changed"),
        ("[doc 14] Pond liners last.", "[doc 31] Battery packs fail.", "retrieved-text-in-system"),
        ("# Open files\n3 files, 1 dirty", "# Open files\n4 files, 1 dirty", "state-in-system"),
    ],
)
def test_other_changes_are_no_counter(was, now, name):
    assert named(was + BODY, now + BODY, gap=60) == name


def test_what_it_says():
    past = [divergence("Turn: 7" + BODY, "Turn: 8" + BODY)]
    _, said = recognised(evidence(divergence("Turn: 8" + BODY, "Turn: 9" + BODY), lineage=past))
    assert said.confidence == "certain"
    assert said.summary == (
        'The number behind "Turn" in the system prompt (/messages/0/content, character 6) changed from "8" to "9"; '
        "it changed at this place 2 times."
    )
