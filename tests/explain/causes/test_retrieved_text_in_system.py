from __future__ import annotations

import pytest
from breaks import BODY, divergence, evidence, named, recognised

RETRIEVED = "retrieved-text-in-system"


@pytest.mark.parametrize(
    ("head", "was", "now"),
    [
        ("<context>\n", "[doc 14] Pond liners last.", "[doc 31] Battery packs fail."),
        ("<documents>\n", '<document index="1">Pond liners last.', '<document index="1">Battery packs fail.'),
        ("Use these passages:\n\n", "Pond liners last ten years.", "Battery packs fail in frost."),
        ("## Search results\n", "Pond liners last ten years.", "Battery packs fail in frost."),
        ("Knowledge base excerpts:\n1. ", "Pond liners last.", "Battery packs fail."),
        ("Sources:\n", "[1] liners.pdf, page 3", "[1] battery.pdf, page 9"),
        ("Fundstellen:\n", "Teichfolie hält zehn Jahre.", "Akkus leiden im Frost."),
        ("Extraits :\n", "Les bâches durent dix ans.", "Les batteries craignent le gel."),
        ("# 参考资料\n", "池塘衬垫可用十年。", "电池怕冻。"),
        ("## 検索結果\n", "池のシートは十年もつ。", "電池は寒さに弱い。"),
        ("Документы:\n", "Плёнка служит десять лет.", "Батареи боятся мороза."),
        ("المراجع:\n", "البطانة تدوم عشر سنوات", "البطاريات تتلف في الصقيع"),
        ("Be kind.", "\n\nKontext:\nDie Folie hält zehn Jahre.", ""),
        ("", "Source: liners.pdf\nPond liners last.", "Source: battery.pdf\nBatteries fail."),
    ],
)
def test_passages_of_the_question(head, was, now):
    assert named(f"Be brief.\n\n{head}{was}\n{BODY}", f"Be brief.\n\n{head}{now}\n{BODY}") == RETRIEVED


@pytest.mark.parametrize(
    ("head", "was", "now", "name"),
    [
        ("# Rules\n", "Never apologise.", "Never guess.", "system-text-changed"),
        ("<context>a</context>\n# Rules\n", "Never apologise.", "Never guess.", "system-text-changed"),
        ("Task list:\n- ", "find the helper", "fix the rounding", "state-in-system"),
        ("<context>\n", "Now: 09:13:53", "Now: 09:14:07", "clock-in-prefix"),
        ("<documents>\n", "A passage.", "A  passage.", "text-form-changed"),
        ("<documents>\n", "a\nb", "b\na", "order-not-kept"),
        ("# Session\nid: ", "a8f3c2d1e9", "b7e4d3c2f8", "nonce-in-prefix"),
        ("", "Answer in French.", "Answer in German.", "system-text-changed"),
    ],
)
def test_other_sections_are_not_retrieved(head, was, now, name):
    assert named(f"Be brief.\n\n{head}{was}\n{BODY}", f"Be brief.\n\n{head}{now}\n{BODY}") == name


def test_what_it_says():
    _, said = recognised(evidence(divergence("<context>\n[doc 1] Pond liners.", "<context>\n[doc 2] Batteries.")))
    assert said.confidence == "certain"
    assert said.summary == (
        'Retrieved text under "context" in the system prompt (/messages/0/content, character 15) is another one: '
        '"[doc 1] Pond liners." became "[doc 2] Batteries.".'
    )
    assert "newest user message" in said.advice
