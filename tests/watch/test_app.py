"""The live page over HTTP: who is let in, what is sent, and events that begin where a page left off."""

import json

import pytest
from msgspec.structs import replace
from recordings import Recorded, feed_of
from serving import BASE, Events, ask, serving
from traffic import Agent, clock

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\u2028"


def broken(how_many=3, text=""):
    agent = Agent("agent-1")
    return [
        agent.turn(10.0 * number, system=clock(10 * number).replace(".", text + ".", 1)) for number in range(how_many)
    ]


@pytest.fixture
def recorded():
    return Recorded(broken())


@pytest.fixture
def port(recorded):
    with serving(feed_of(recorded), lambda: "hitrate_journal_bytes 0\n") as port:
        yield port


@pytest.mark.parametrize("host", ["127.0.0.1:8095", "localhost", "LOCALHOST:1", "[::1]:8095"])
def test_names_of_this_machine_are_let_in(port, host):
    assert ask(port, f"{BASE}/", Host=host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.7:8095", "", "localhost.evil"])
@pytest.mark.parametrize("path", ["/", "/events", "/api/state", "/metrics", "/static/live.js", "/session/1"])
def test_a_name_that_was_only_made_to_resolve_to_this_machine_is_not(port, host, path):
    status, _, body = ask(port, BASE + path, Host=host)
    assert (status, body) == (400, b"Invalid host header")


def test_nothing_is_loaded_from_elsewhere_and_no_other_origin_is_let_in(port):
    for path in ("/", "/api/state", "/static/live.js", "/metrics", "/nothing"):
        _, headers, _ = ask(port, BASE + path, Origin="https://evil.example")
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["access-control-allow-origin"] is None


def test_the_page_has_no_script_or_style_of_its_own(port):
    for path in ("/", "/session/1"):
        events = Events(port)
        events.until(lambda update: update["sums"]["calls"] == 3)
        events.close()
        _, headers, body = ask(port, BASE + path)
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert b"<style" not in body and b" style=" not in body and b" onclick" not in body
        assert body.count(b"<script") == body.count(b"<script src=") + body.count(b'<script type="module" src=')


def test_a_path_without_its_slash_leads_to_the_page_wherever_the_proxy_shows_it(port):
    status, headers, _ = ask(port, BASE)
    assert (status, headers["location"]) == (307, "_hitrate/")


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nothing", 404, "Not Found"),
        ("/static/../app.py", 404, "Not Found"),
        ("/static/%2e%2e%2fapp.py", 404, "Not Found"),
        ("/static/nothing.js", 404, "no such file"),
        ("/session/99", 404, "session 99 is not shown: it is none, not read yet, or an old one"),
        ("/api/session/99", 404, "session 99 is not shown: it is none, not read yet, or an old one"),
        ("/session/x", 404, "Not Found"),
    ],
)
def test_what_is_not_there(port, path, status, said):
    found, headers, body = ask(port, BASE + path)
    assert (found, headers["content-type"], body.decode()) == (status, "text/plain; charset=utf-8", f"{said}\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(port, method):
    assert ask(port, f"{BASE}/api/state", method)[0] == 405


def test_metrics_are_those_of_the_recorder(port):
    status, headers, body = ask(port, f"{BASE}/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert body == b"hitrate_journal_bytes 0\n"


def test_a_stored_recording_has_no_metrics():
    with serving(feed_of([])) as port:
        status, _, body = ask(port, f"{BASE}/metrics")
    assert (status, body) == (404, b"metrics are those of a recorder; this page shows what is stored\n")


def test_events_begin_with_all_and_go_on_with_what_changes(port, recorded):
    events = Events(port)
    assert events.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    known, update = events.until(lambda update: not update["progress"]["behind"])
    assert (update["schema_version"], update["sums"]["calls"], update["recording"]) == (1, 3, "r1")
    recorded.calls = broken(4)
    _, news = events.until(lambda update: update["sums"]["calls"] == 4)
    assert news["whole"] is False
    assert [one["finding"]["cause"] for one in news["breaks"]] == ["clock-in-prefix"]
    events.close()

    again = Events(port, Last_Event_ID=known)
    _, missed = again.next()
    assert (missed["whole"], missed["sums"]["calls"]) == (False, 4)
    assert [turn["turn"] for turn in missed["sessions"][0]["turns"]] != []
    assert 1 not in [turn["turn"] for turn in missed["sessions"][0]["turns"]]
    again.close()


@pytest.mark.parametrize("known", ["", "deadbeef-3", "nonsense", "-", "deadbeef--1"])
def test_a_page_of_another_recorder_begins_anew(port, known):
    events = Events(port, Last_Event_ID=known)
    _, update = events.next()
    assert update["whole"] is True
    events.close()


def test_what_a_prompt_says_stays_text():
    with serving(feed_of(broken(text=HOSTILE))) as port:
        events = Events(port)
        events.until(lambda update: update["sums"]["calls"] == 3 and update["breaks"])
        events.close()
        _, _, page = ask(port, f"{BASE}/session/1")
        _, _, state = ask(port, f"{BASE}/api/state")
    text = page.decode()
    assert "<img" not in text and "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in text
    assert "\\u202e\\u2028" in text and "\u202e" not in text and "\u2028" not in text
    assert "\u202e" not in state.decode() and "\u2028" not in state.decode()
    assert "\u202e" in json.loads(state)["breaks"][0]["finding"]["was"]


def test_a_session_as_json_is_what_explain_prints(port):
    events = Events(port)
    events.until(lambda update: update["sums"]["calls"] == 3)
    events.close()
    status, headers, body = ask(port, f"{BASE}/api/session/1")
    report = json.loads(body)
    assert (status, headers["content-type"], report["kind"]) == (200, "application/json", "explain")
    assert [one["cause"] for one in report["findings"]] == ["clock-in-prefix"]


def test_the_json_of_a_session_follows_the_schema_of_explain(port):
    jsonschema = pytest.importorskip("jsonschema")
    from hitrate.report.json import schema

    events = Events(port)
    events.until(lambda update: update["sums"]["calls"] == 3)
    events.close()
    jsonschema.validate(json.loads(ask(port, f"{BASE}/api/session/1")[2]), schema("explain"))


def test_lone_surrogates_of_a_prompt_can_be_sent():
    agent = Agent("one")
    with serving(feed_of([replace(agent.turn(at), model="m\ud800") for at in (0.0, 10.0)])) as port:
        events = Events(port)
        _, update = events.until(lambda update: update["sums"]["calls"] == 2)
        events.close()
        assert update["sessions"][0]["head"]["model"] == "m\\ud800"
        assert ask(port, f"{BASE}/session/1")[0] == 200


def test_who_watches_is_let_go_when_the_page_ends(recorded):
    feed = feed_of(recorded)
    with serving(feed) as port:
        events = Events(port)
        events.until(lambda update: update["sums"]["calls"] == 3)
    assert feed.closed
    assert events.answer.read().strip() == b""
    events.close()
