from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

REASONING = "reasoning-not-replayed"


@pytest.mark.parametrize(
    ("pointer", "change", "was", "now", "names", "happened"),
    [
        (
            "/messages/2",
            "member removed",
            "member reasoning_content",
            "member content",
            ("reasoning_content",),
            "removed",
        ),
        ("/messages/2", "member added", "member content", "member reasoning", ("reasoning",), "added"),
        ("/messages/2", "member removed", "member reasoning_details", "", ("reasoning_details",), "removed"),
        ("/messages/1/content/0", "block type", "type thinking", "type text", (), "removed"),
        ("/messages/1/content/0", "block type", "type thinking", "type redacted_thinking", (), "changed"),
        ("/messages/1/content/0", "block type", "type text", "type thinking", (), "added"),
        ("/input/1", "block type", "type reasoning", "type function_call", (), "removed"),
        ("/input/1", "member removed", "member encrypted_content", "", ("encrypted_content",), "removed"),
        ("/contents/1/parts/0", "member removed", "member thoughtSignature", "", ("thoughtSignature",), "removed"),
        ("/messages/1/content/0", "block type", "type reasoningContent", "type text", (), "removed"),
    ],
)
def test_members_and_blocks(pointer, change, was, now, names, happened):
    name, said = recognised(evidence(place(pointer, change, kind="assistant", was=was, now=now, names=names)))
    assert name == REASONING
    assert said.summary.startswith(f"The reasoning of an earlier answer was {happened} in ")


@pytest.mark.parametrize(
    ("was", "now", "pointer", "name"),
    [
        ("I look it up. It is 4.", "It is 4.", "/messages/2/reasoning_content", REASONING),
        ("I look it up.", "", "/messages/2/reasoning_content", REASONING),
        ("c2lnbmF0dXJl", "b3RoZXI=", "/messages/1/content/0/signature", REASONING),
        ("I look it up.", "I looked it up.", "/input/1/summary/0/text", REASONING),
        ("<think>\nI look it up.\n</think>\n\nIt is 4.", "It is 4.", "/messages/2/content", REASONING),
        ("It is 4.", "<think>\n\n</think>\n\nIt is 4.", "/messages/2/content", REASONING),
        ("It is 4.", "It is 5.", "/messages/2/content", "counter-in-prefix"),
        ("I think so.", "I hope so.", "/messages/2/content", "history-edited"),
    ],
)
def test_texts(was, now, pointer, name):
    assert named(was, now, kind="assistant", pointer=pointer) == name


@pytest.mark.parametrize(
    ("kind", "pointer", "name"),
    [("tools", "/tools/0/function", "tool-text-changed"), ("system", "/system/0", "system-text-changed")],
)
def test_a_tool_that_is_called_so_is_no_reasoning(kind, pointer, name):
    assert recognised(evidence(place(pointer, "member removed", kind=kind, names=("thinking",))))[0] == name


def test_what_it_says():
    found = place(
        "/messages/2",
        "member removed",
        kind="assistant",
        was="member reasoning_content",
        now="member content",
        names=("reasoning_content",),
        words='message 3 (assistant) lost its member "reasoning_content"',
    )
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        "The reasoning of an earlier answer was removed in an earlier assistant message (/messages/2): message 3 "
        '(assistant) lost its member "reasoning_content".'
    )
    assert said.advice.startswith("Decide once for each answer")


def test_a_text_cut_in_front():
    was = "<think>a long thought</think>It is 4."
    assert (
        recognised(evidence(divergence(was, "It is 4.", kind="assistant", pointer="/messages/2/content")))[1].confidence
        == "certain"
    )
