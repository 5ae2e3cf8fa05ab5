from __future__ import annotations

import pytest
from breaks import BODY, divergence, evidence, named, place, recognised

SYSTEM = "system-text-changed"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("You are in plan mode.", "You are in act mode."),
        ("Never apologise twice.", "Never guess a price."),
        ("Antworte kurz.", "Antworte ausführlich."),
        ("Réponds en français.", "Réponds en allemand."),
        ("必ず日本語で答えること。", "必ず英語で答えること。"),
        ("请用中文回答。", "请用英文回答。"),
        ("Отвечай кратко.", "Отвечай подробно."),
        ("أجب باختصار.", "أجب بالتفصيل."),
        ("Use tool v2.", "Use tool beta."),
    ],
)
def test_an_edited_instruction(was, now):
    assert named(was + BODY, now + BODY) == SYSTEM


@pytest.mark.parametrize(
    ("was", "now", "name"),
    [
        ("Be brief.", "Be brief. ", "text-form-changed"),
        ("Be brief.", "BE BRIEF.", "text-form-changed"),
        ("Caf\u00e9 rules.", "Cafe\u0301 rules.", "text-form-changed"),
        ("- oaks\n- elms", "- elms\n- oaks", "order-not-kept"),
        ("Turn 3.", "Turn 4.", "counter-in-prefix"),
        ("At 09:13:53.", "At 09:14:07.", "clock-in-prefix"),
        ("id: a8f3c2d1e9", "id: b7e4d3c2f8", "nonce-in-prefix"),
        ("Tasks:\n- a walk", "Tasks:\n- b walk", "state-in-system"),
    ],
)
def test_what_has_a_name_of_its_own(was, now, name):
    assert named(was + BODY, now + BODY) == name


@pytest.mark.parametrize(
    ("pointer", "change", "words"),
    [
        ("/system", "list members", "the system prompt is gone"),
        ("/system/1", "list members", "the system prompt has one more item"),
        ("/messages/0/role", "role", 'the system prompt was sent as "system" and is now sent as "developer"'),
    ],
)
def test_whole_blocks(pointer, change, words):
    name, said = recognised(evidence(place(pointer, change, kind="system", words=words)))
    assert name == SYSTEM
    assert words in said.summary


def test_what_it_says():
    _, said = recognised(evidence(divergence("You are in plan mode." + BODY, "You are in act mode." + BODY)))
    assert said.confidence == "certain"
    assert said.summary == (
        'The text of the system prompt (/messages/0/content, character 11) changed: "You are in plan mode." became '
        '"You are in act mode.".'
    )
