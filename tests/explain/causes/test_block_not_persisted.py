from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

BLOCK = "block-not-persisted"
ASK = "The neap test fails on main. Find out why."
ENVIRONMENT = "<environment_details>\nopen files: tide.py\n</environment_details>"


@pytest.mark.parametrize(
    ("was", "now", "gone"),
    [
        (f"{ASK}\n\n{ENVIRONMENT}", ASK, True),
        (ASK, f"{ASK}\n\n{ENVIRONMENT}", False),
        (f"{ENVIRONMENT}\n{ASK}", ASK, True),
        (ASK, f"{ENVIRONMENT}\n{ASK}", False),
        (f"{ASK}\n\n[System reminder: tests are slow]", ASK, True),
        (f"{ASK}\n\nUmgebung:\n- tide.py offen", ASK, True),
        (f"{ASK}\n\n# コンテキスト\ntide.py", ASK, True),
        (f"{ASK}\n\n【环境】\ntide.py", ASK, True),
        (f"{ASK}\n\n<rappel>Sois bref.</rappel>", ASK, True),
        (f"{ASK} Answer in one line.", ASK, True),
    ],
)
def test_text_around_the_question(was, now, gone):
    name, said = recognised(evidence(divergence(was, now, kind="user", pointer="/messages/1/content")))
    assert name == BLOCK
    assert said.summary.startswith(f"A block of text {'is missing' if gone else 'is new'} in an earlier user message")


@pytest.mark.parametrize(
    ("was", "now", "kind", "name"),
    [
        (f"{ASK}\n", ASK, "user", "text-form-changed"),
        (ASK, "The spring test fails. Find out why.", "user", "history-edited"),
        (ASK, f"{ASK} (edited)", "user", "history-edited"),
        (f"{ASK} [edited]", ASK, "user", "history-edited"),
        (ASK.rstrip("."), ASK, "user", "history-edited"),
        (ASK.rstrip("."), ASK.rstrip(".") + "!", "assistant", "history-edited"),
        (ASK, f"{ASK} <env>a</env>", "user", BLOCK),
        (f"{ENVIRONMENT.replace('tide', 'ebb')}\n{ASK}", f"{ENVIRONMENT}\n{ASK}", "user", BLOCK),
        (f"{ENVIRONMENT}\n{ASK}", f"{ENVIRONMENT}\nThe ebb test fails.", "user", "history-edited"),
        ("A long result. " * 20 + "End.", "A long result. " * 20, "tool", "tool-output-pruned"),
        ("<think>hm</think>Yes.", "Yes.", "assistant", "reasoning-not-replayed"),
        ("<hint>look at the tides</hint>", "Look at the moon.", "user", BLOCK),
        ("<hint>look at the tides</hint>", "<hint>look at the moon</hint>", "user", BLOCK),
        ("<t>09:13:53</t> Go.", "<t>09:14:07</t> Go.", "user", "clock-in-prefix"),
    ],
)
def test_other_changes(was, now, kind, name):
    assert named(was, now, kind=kind, pointer="/messages/3/content") == name


@pytest.mark.parametrize(
    ("pointer", "was", "now", "name"),
    [
        ("/messages/1/content/1", '{"type":"text"', "", BLOCK),
        ("/contents/0/parts/1", "", '{"text"', BLOCK),
        ("/input/0/content/1", '{"type":"input_text"', "", BLOCK),
        ("/messages/1/content/1", "a", "b", "history-edited"),
    ],
)
def test_whole_blocks_of_a_message(pointer, was, now, name):
    assert recognised(evidence(place(pointer, "list members", kind="user", was=was, now=now)))[0] == name


def test_a_last_message_of_its_own_that_is_not_kept():
    found = divergence("[Reminder: be brief]", "It is the rounding.", kind="assistant", pointer="/messages/2/content")
    assert recognised(evidence(found, before={"parts": 3}, pair={"shared_parts": 2}))[0] == BLOCK
    assert recognised(evidence(found, before={"parts": 5}, pair={"shared_parts": 2}))[0] == "history-edited"


def test_what_it_says():
    found = divergence(f"{ASK}\n\n<env>a</env>", ASK, kind="user", pointer="/messages/1/content")
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        "A block of text is missing in an earlier user message (/messages/1/content, character 42): "
        '"\\n\\n<env>a</env>".'
    )
    assert "cache point in front of it" in said.advice
