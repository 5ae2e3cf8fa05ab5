from __future__ import annotations

import pytest
from breaks import BODY, divergence, evidence, named, recognised

NONCE = "nonce-in-prefix"


@pytest.mark.parametrize(
    ("was", "now", "confidence"),
    [
        (
            "x-client-attribution: v=7.4.2; entry=cli; h=9b1d4;",
            "x-client-attribution: v=7.4.2; entry=cli; h=e07c2;",
            "certain",
        ),
        ("x-billing: n=a1b2c; h=9b1d4;", "x-billing: n=d4e5f; h=e07c2;", "certain"),
        ("session: 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "session: 9b2d1c77-0a4e-4f0c-8d55-6f1f0f3c2a10", "certain"),
        (
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-5c1a2f3577b34da6a3ce929d0e0e4736-11f067aa0ba902b8-01",
            "certain",
        ),
        ("trace 01J8ZQ4X7N9V2B3C4D5E6F7G8H", "trace 01J8ZQ5A1B2C3D4E5F6G7H8J9K", "certain"),
        ("prompt hash: 7f3a9c1e", "prompt hash: 0b44d2aa", "certain"),
        ("request_id=req_7f3a9c1e22", "request_id=req_0b44d2aa90", "certain"),
        ("Anfrage-ID: K7x92QpL4v", "Anfrage-ID: M3z81RtW9c", "certain"),
        ("请求编号：a8f3c2d1e9", "请求编号：b7e4d3c2f8", "certain"),
        ("セッションID：a8f3c2d1e9", "セッションID：77e4d3c2f8", "certain"),
        ("work in /tmp/agent-x7f3k2/", "work in /tmp/agent-q9d1m8/", "likely"),
        ("[run 8Jk2Lm9Qx4Tz]", "[run 5Hq7Wn3Vb8Yc]", "certain"),
        ("nonce: 4711", "nonce: 9035", "possible"),
        ("seed = 829104772", "seed = 113377201", "certain"),
    ],
)
def test_a_random_value_is_another_one(was, now, confidence):
    name, said = recognised(evidence(divergence(was + BODY, now + BODY)))
    assert (name, said.confidence) == (NONCE, confidence)


@pytest.mark.parametrize(
    ("was", "now", "name"),
    [
        ("Model: gpt-4o-mini", "Model: gpt-5.4-mini", "system-text-changed"),
        ("Answer in French.", "Answer in German.", "system-text-changed"),
        ("Turn: 7", "Turn: 8", "counter-in-prefix"),
        ("generated at 1773220433", "generated at 1773220447", "clock-in-prefix"),
        ("Contact: anna.berg@example.com", "Contact: jon.dahl@example.com", "name-on-top"),
        ("Sizes S, M and L2X.", "Sizes S, M and L3X.", "system-text-changed"),
        ("Never say 'defenestrate'.", "Never say 'decapitate'.", "system-text-changed"),
        ("key: value", "key: other", "system-text-changed"),
    ],
)
def test_other_values_are_no_nonce(was, now, name):
    assert named(was + BODY, now + BODY, across=name == "name-on-top") == name


def test_the_line_of_a_client_is_named():
    _, said = recognised(
        evidence(divergence("x-meter-header: id=a; cch=9b1d4;" + BODY, "x-meter-header: id=a; cch=e07c2;" + BODY))
    )
    assert said.summary == (
        'A value of the line "x-meter-header" that a client wrote into the prompt changed in the system prompt '
        '(/messages/0/content, character 26) from "9b1d4" to "e07c2".'
    )
    assert "strip lines that begin with it at the gateway" in said.advice


def test_a_place_that_changed_before_makes_it_certain():
    past = [divergence("work in /tmp/a-x7f3k2/" + BODY, "work in /tmp/a-q9d1m8/" + BODY)]
    found = evidence(divergence("work in /tmp/a-q9d1m8/" + BODY, "work in /tmp/a-w2h6t3/" + BODY), lineage=past)
    assert recognised(found)[1].confidence == "certain"
