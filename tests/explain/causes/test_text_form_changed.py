from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, recognised

FORM = "text-form-changed"


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        ("Let me run it:\n\n", "Let me run it:", "white space"),
        ("Let me run it:", "Let me run it: ", "white space"),
        ("a\r\nb", "a\nb", "white space"),
        ("a\u00a0b", "a b", "white space"),
        ("a\u200bb", "ab", "characters without width"),
        ("\ufeffHello", "Hello", "characters without width"),
        ("a\u200b b", "a  b", "white space"),
        ("caf\u00e9", "cafe\u0301", "Unicode form"),
        ("\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af", "Unicode form"),
        ("\uff21\uff22", "AB", "Unicode form"),
        ("Be Brief", "be brief", "letter case"),
        ("ПРИВЕТ", "привет", "letter case"),
    ],
)
@pytest.mark.parametrize(("kind", "pointer"), [("assistant", "/messages/2/content"), ("system", "/system/0/text")])
def test_the_same_text_in_another_form(was, now, what, kind, pointer):
    name, said = recognised(evidence(divergence(was, now, kind=kind, pointer=pointer)))
    assert (name, said.confidence) == (FORM, "certain")
    assert said.summary.startswith(f"Only the {what} changed in ")


@pytest.mark.parametrize(
    ("was", "now", "kind", "name"),
    [
        ("Be brief.", "Be  short.", "system", "system-text-changed"),
        ("resume", "r\u00e9sum\u00e9", "assistant", "history-edited"),
        ("Stra\u00dfe", "Strasse", "assistant", "history-edited"),
        ('{"a":1}', '{"a": 1}', "assistant", "arguments-reserialised"),
        ("a\nb", "b\na", "assistant", "order-not-kept"),
    ],
)
def test_other_texts(was, now, kind, name):
    pointer = "/system/0/text" if kind == "system" else "/messages/2/content"
    assert named(was, now, kind=kind, pointer=pointer) == name


@pytest.mark.parametrize(
    ("was", "now", "shown"),
    [
        ("Run:\n\n", "Run:", '"\\n\\n" became nothing'),
        ("a\u00a0b", "a b", '"\\xa0b" became " b"'),
        ("caf\u00e9", "cafe\u0301", '"\\xe9" became "e\\u0301"'),
    ],
)
def test_what_cannot_be_seen_is_shown(was, now, shown):
    assert (
        shown in recognised(evidence(divergence(was, now, kind="assistant", pointer="/messages/2/content")))[1].summary
    )


def test_the_advice_depends_on_the_place():
    advices = [
        recognised(evidence(divergence("a b", "a  b", kind=kind, pointer=pointer)))[1].advice
        for kind, pointer in (("assistant", "/messages/2/content"), ("system", "/messages/0/content"))
    ]
    assert advices[0].startswith("Send earlier texts again byte for byte")
