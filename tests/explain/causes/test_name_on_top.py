from __future__ import annotations

import pytest
from breaks import BODY, divergence, evidence, named, recognised

NAME = "name-on-top"


@pytest.mark.parametrize(
    ("was", "now", "confidence"),
    [
        ("User: Anna Berg", "User: Jon Dahl", "likely"),
        ("You are talking to Anna.", "You are talking to Jon.", "likely"),
        ("Tenant: larkfield", "Tenant: hollowlane", "likely"),
        ("Signed in as anna@example.com", "Signed in as jon@example.com", "likely"),
        ("cwd: /home/anna/tide", "cwd: /home/jon/tide", "likely"),
        ("Kunde: Müller GmbH", "Kunde: Schmidt KG", "likely"),
        ("Client : Société Dupont", "Client : Société Martin", "likely"),
        ("用户：王芳", "用户：李雷", "likely"),
        ("ユーザー名：佐藤", "ユーザー名：鈴木", "likely"),
        ("Пользователь: Анна", "Пользователь: Иван", "likely"),
        ("العميل: شركة النور", "العميل: شركة الأمل", "likely"),
        ("Fennel works for Larkfield.", "Fennel works for Hollowlane.", "possible"),
    ],
)
def test_a_name_differs_between_sessions(was, now, confidence):
    name, said = recognised(evidence(divergence(was + BODY, now + BODY), across=True, relation="opening"))
    assert (name, said.confidence) == (NAME, confidence)
    assert "from session to session" in said.summary


@pytest.mark.parametrize(
    ("was", "now", "name"),
    [
        ("Session id: a8f3c2d1e9", "Session id: b7e4d3c2f8", "nonce-in-prefix"),
        ("Started: 2026-03-11 09:13:53", "Started: 2026-03-11 09:14:07", "clock-in-prefix"),
        ("You write code.", "You answer questions about the weather of the day.", "system-text-changed"),
        ("be brief and kind", "be long and rude", "system-text-changed"),
        ("User visits: 7", "User visits: 8", "counter-in-prefix"),
        ("Client discount: 12.5%", "Client discount: 10.0%", "counter-in-prefix"),
        ("Customer 4711", "Customer 4712", NAME),
        ("Account balance: $1200.50", "Account balance: $1163.50", "state-in-system"),
        ("<documents>\nPond liners last.", "<documents>\nBatteries fail.", "retrieved-text-in-system"),
        ("# Memory\nlikes tea", "# Memory\nlikes coffee", "state-in-system"),
        ("User: anna", "User: Anna", "text-form-changed"),
    ],
)
def test_other_differences_between_sessions(was, now, name):
    assert named(was + BODY, now + BODY, across=True, relation="opening") == name


def test_inside_a_session_it_needs_a_label():
    assert named("User: Anna." + BODY, "User: Jon." + BODY) == NAME
    assert named("Fennel works for Larkfield." + BODY, "Fennel works for Hollowlane." + BODY) == "system-text-changed"


def test_what_it_says():
    _, said = recognised(evidence(divergence("Hello Anna Berg!" + BODY, "Hello Jon Dahl!" + BODY), across=True))
    assert said.summary == (
        'A name in the system prompt (/messages/0/content, character 6) differs from session to session: "Anna Berg" '
        'became "Jon Dahl".'
    )
