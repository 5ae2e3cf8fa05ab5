from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

WINDOW = "sliding-window"
TWO = ("/messages/1", "/messages/2")


@pytest.mark.parametrize(
    ("pointer", "change", "names", "shift", "name"),
    [
        ("/messages/1/content", "messages dropped", TWO, 2, WINDOW),
        ("/messages/0/content", "messages dropped", ("/messages/0",), 0, WINDOW),
        ("/messages/2/content", "messages dropped", TWO, 0, WINDOW),  # the first question is pinned
        ("/contents/0/parts/0/text", "messages dropped", TWO, 2, WINDOW),
        ("/input/1/role", "messages dropped", TWO, 2, WINDOW),
        ("/messages/1/content", "replaced", (), 4, WINDOW),
        ("/messages/1/content", "text", (), 2, WINDOW),
        ("/messages/9/content", "messages dropped", TWO, 2, "history-edited"),
        ("/messages/1/content", "replaced", (), 0, "history-edited"),
        ("/messages/1/content", "messages condensed", TWO, 1, "history-compacted"),
        ("/messages/1/content", "messages inserted", TWO, 0, "block-not-persisted"),
        ("/tools/1/function/name", "list members", ("a",), 2, "tool-set-changed"),
    ],
)
def test_by_place_and_shift(pointer, change, names, shift, name):
    kind = "tools" if pointer.startswith("/tools") else "user"
    found = place(pointer, change, kind=kind, was="Message 1", now="Message 2", names=names, offset=0)
    assert recognised(evidence(found, pair={"shift": shift}))[0] == name


@pytest.mark.parametrize(
    ("was", "now", "name"),
    [
        ("[12 earlier messages were dropped]", "[14 earlier messages were dropped]", WINDOW),
        ("(12 ältere Nachrichten ausgelassen)", "(14 ältere Nachrichten ausgelassen)", WINDOW),
        ("[省略了 12 条消息]", "[省略了 14 条消息]", WINDOW),
        ("[已省略 12 条消息]", "[已省略 14 条消息]", WINDOW),
        ("You have 12 messages.", "You have 14 messages.", "counter-in-prefix"),
    ],
)
def test_a_line_that_counts_what_was_dropped(was, now, name):
    assert named(was, now, kind="user", pointer="/messages/1/content") == name


def test_a_place_in_the_middle_that_slides_again():
    found = place("/messages/9/content", "messages dropped", kind="user", names=TWO)
    name, said = recognised(evidence(found, lineage=[found, found], pair={"shift": 2}))
    assert (name, said.confidence) == (WINDOW, "certain")
    assert said.summary.endswith(", as in 2 calls before.")


def test_what_it_says():
    found = divergence(
        "Message 1 of five",
        "Message 3 of five",
        kind="user",
        pointer="/messages/1/content",
        change="messages dropped",
        names=TWO,
    )
    _, said = recognised(evidence(found, pair={"shift": 2}))
    assert said.confidence == "certain"
    assert said.summary == (
        "The start of the history moved by 2 messages: the oldest ones were dropped in front of an earlier user "
        "message "
        "(/messages/1/content, character 8)."
    )
    assert "large steps" in said.advice
