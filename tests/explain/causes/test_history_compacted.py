from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, recognised

from hitrate.core.model import Happening

COMPACTED = "history-compacted"
SMALLER = {"before": {"parts": 40, "characters": 90_000}, "call": {"parts": 5, "characters": 12_000}}


@pytest.mark.parametrize(
    "now",
    [
        "Summary of the conversation so far: the tide test fails.",
        "This session is being continued from a previous conversation.",
        "<summary>The tide test fails.</summary>",
        "Zusammenfassung: Der Test schlägt fehl.",
        "Résumé de la conversation : le test échoue.",
        "Resumen de la conversación: la prueba falla.",
        "以下是之前对话的摘要：测试失败。",
        "これまでの会話の要約：テストが失敗。",
        "Краткое содержание: тест не проходит.",
        "ملخص المحادثة: فشل الاختبار.",
    ],
)
def test_a_summary_in_place_of_the_history(now):
    found = divergence("The tide test fails. Find out why.", now, kind="user", pointer="/messages/1/content")
    name, said = recognised(evidence(found, **SMALLER))
    assert (name, said.confidence) == (COMPACTED, "likely")
    assert "(90,000 characters became 12,000)" in said.summary


def test_the_log_says_so():
    found = divergence("The tide test fails.", "Where were we?", kind="user", pointer="/messages/1/content")
    name, said = recognised(evidence(found, call={"happenings": (Happening(kind="compaction"),)}))
    assert (name, said.confidence) == (COMPACTED, "certain")


@pytest.mark.parametrize(
    ("was", "now", "kind", "pointer", "sizes", "name"),
    [
        ("Find it.", "A summary of it, please.", "user", "/messages/1/content", {}, "history-edited"),
        ("Find it.", "Look for it.", "user", "/messages/1/content", SMALLER, "history-edited"),
        ("Summary:\n- tea", "Summary:\n- milk", "system", "/messages/0/content", SMALLER, "state-in-system"),
        ("a", "A summary tool", "tools", "/tools/0/description", SMALLER, "tool-text-changed"),
    ],
)
def test_no_compaction(was, now, kind, pointer, sizes, name):
    assert named(was, now, kind=kind, pointer=pointer, **sizes) == name


def test_several_messages_became_one():
    assert (
        named("Find it.", "You looked for it.", kind="user", pointer="/messages/1/content", change="messages condensed")
        == COMPACTED
    )


def test_a_long_opening_does_not_hide_how_short_the_history_became():
    found = divergence("The tide test fails.", "A recap of our work.", kind="user", pointer="/messages/1/content")
    sizes = {"before": {"parts": 40, "characters": 21_000}, "call": {"parts": 5, "characters": 20_100}}
    assert recognised(evidence(found, pair={"shared_characters": 20_000}, **sizes))[0] == COMPACTED
    assert recognised(evidence(found, **sizes))[0] == "history-edited"
