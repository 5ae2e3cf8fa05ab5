"""The live page in a real browser, on a real store."""

import itertools
import re
from pathlib import Path

import pytest
from recordings import PRICE
from serving import BASE, serving
from traffic import Agent, clock

from hitrate.core.cost import Quote
from hitrate.logs.store import RECORDING, Store
from hitrate.watch import board
from hitrate.watch.recorded import feed_of_run

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra `browser`)").expect

expect.set_options(timeout=20_000)

CHECKS = (Path(__file__).parent / "page_checks.js").read_text(encoding="utf-8").strip().removesuffix(";")
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\u200b"


class Recording:
    """A store that is written to while the page is open."""

    def __init__(self, store):
        self.store = store
        self.run = store.begin_run(RECORDING, "anthropic", None, "hitrate proxy anthropic", "2026-11-29T20:00:00+00:00")
        self.clock = itertools.count(1_790_000_000, 10)
        self.url = ""

    def add(self, agent, text=None, **options):
        at = float(next(self.clock))
        self.store.add_call(self.run, agent.turn(at, text, **options))

    def add_broken(self, agent, text=None):
        at = float(next(self.clock))
        self.store.add_call(self.run, agent.turn(at, text, system=clock(int(at))))


@pytest.fixture
def recording(tmp_path):
    with Store.open(tmp_path / "runs.sqlite3") as store:
        made = Recording(store)
        feed = feed_of_run(store, made.run, lambda call: Quote(price=PRICE))
        with serving(feed) as port:
            made.url = f"http://127.0.0.1:{port}{BASE}/"
            yield made


@pytest.fixture
def agent(recording):
    """Three turns, the third of them broken by a clock."""
    agent = Agent("agent-1")
    recording.add(agent)
    recording.add_broken(agent)
    recording.add_broken(agent)
    return agent


def wrong(page, check):
    """What one of `page_checks.js` finds."""
    return page.evaluate(f"{CHECKS}.{check}()")


def text_of(page, selector):
    return page.inner_text(selector)


def test_a_break_shows_as_it_happens(recording, agent, visit):
    page = visit(recording.url)
    expect(page.locator(".break")).to_have_count(1)
    assert "turn 3 of agent-1" in text_of(page, "#breaks")
    agent.messages[0] = {"role": "user", "content": agent.messages[0]["content"].replace("file 1", "the first file", 1)}
    recording.add(agent, system=clock(1_790_000_020))
    expect(page.locator(".break.fresh")).to_contain_text("turn 4 of agent-1")
    assert "history-edited" in text_of(page, ".break.fresh") and "billed again, $0.0" in text_of(page, ".break.fresh")
    expect(page.locator(".cell")).to_have_count(4)
    expect(page.locator("#announce")).to_contain_text("Break in turn 4 of agent-1: history-edited, about")


def test_the_line_on_top_says_rate_money_and_sessions(recording, agent, visit):
    page = visit(recording.url)
    expect(page.locator("#rate")).to_have_text("0.0 %")
    for _ in range(6):
        recording.add(agent, system=clock(1_790_000_020))
    expect(page.locator("#rate")).to_have_text(re.compile(r"[4-9]\d\.\d %"))
    expect(page.locator("#rate-text")).to_have_text("of the prompt tokens came from cache")
    expect(page.locator("#lost")).to_have_text(re.compile(r"\$0\.00\d+"))
    expect(page.locator("#lost-text")).to_have_text(re.compile(r"lost to breaks: about [\d,]+ tokens"))
    expect(page.locator("#saved-text")).to_have_text(re.compile(r"saved by the cache; \$0\.\d+ spent"))
    expect(page.locator("#live")).to_have_text("0")  # these calls are of another day
    expect(page.locator("#live-text")).to_have_text("sessions live, 1 in all")


def test_before_the_first_call_it_says_what_to_do(recording, visit):
    page = visit(recording.url, wait_for="#empty:not([hidden])")
    assert recording.url.removesuffix(f"{BASE}/") in text_of(page, "#empty")
    recording.add(Agent("first"))
    page.wait_for_selector(".cell")
    assert page.is_hidden("#empty")


def test_not_reported_and_failed_are_told_apart_from_nothing_cached(recording, visit):
    agent = Agent("agent-1")
    recording.add(agent)
    recording.add(agent, reported=False)
    recording.add(agent, status=529)
    page = visit(recording.url)
    expect(page.locator(".cell")).to_have_count(3)
    signs = page.eval_on_selector_all(".cell", "cells => cells.map((cell) => cell.dataset.sign ?? '')")
    assert signs == ["", "○", "×"]
    labels = page.eval_on_selector_all(".cell", "cells => cells.map((cell) => cell.getAttribute('aria-label'))")
    assert "0 from cache" in labels[0] and "cached not reported" in labels[1] and "failed, status 529" in labels[2]


def test_what_a_prompt_says_stays_text(recording, visit):
    agent = Agent(f"s{HOSTILE}", model=f"m{HOSTILE}")
    for at in (0, 10, 20):
        recording.add(agent, system=clock(at).replace(".", HOSTILE, 1))
    page = visit(recording.url)
    page.wait_for_selector(".break")
    assert page.locator("img").count() == 0
    assert "<img src=x onerror=alert(1)>\\u202e\\u200b" in text_of(page, "#sessions")
    for address in (recording.url, f"{recording.url}session/1"):
        page.goto(address)
        page.wait_for_selector(".break")
        shown = page.inner_text("body")
        assert "\u202e" not in shown and "\u200b" not in shown
        assert page.locator("img").count() == 0


def test_a_phone_is_wide_enough(recording, visit):
    agent = Agent("9f1c2a7e-5d1b-4c1e-9a53-0d6f2b7c8e91", model="anthropic.claude-sonnet-4-5-20250929-v1:0")
    for _ in range(40):
        recording.add_broken(agent)
    page = visit(recording.url, viewport={"width": 360, "height": 740})
    for path in BOTH:
        page.goto(recording.url + path)
        page.wait_for_selector(".break")
        assert (path, wrong(page, "tooWide")) == (path, [])
    page.goto(recording.url)
    page.wait_for_selector(".break")
    assert page.eval_on_selector(
        ".strip", "strip => [strip.scrollWidth > strip.clientWidth, strip.scrollLeft > 0]"
    ) == [
        True,
        True,
    ]  # the newest turn is in sight


BOTH = ("", "session/1")
NAMES = ("withoutName", "brokenLabels", "repeatedIds", "oddHeadings", "missingLandmarks", "headlessTables")

COLOURS = """() => {
  const of = (selector) => getComputedStyle(document.querySelector(selector));
  return [of("body").backgroundColor, of("body").color];
}"""


def test_light_and_dark_by_the_system_and_by_the_switch(recording, agent, visit):
    page = visit(recording.url, color_scheme="light")
    light = page.evaluate(COLOURS)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(COLOURS)
    assert light != dark
    page.keyboard.press("t")
    assert page.evaluate(COLOURS) == light
    assert page.get_attribute("#theme", "aria-label") == "Theme: light"
    page.reload()
    page.wait_for_selector(".cell")
    assert page.evaluate(COLOURS) == light
    page.click("#theme")
    assert page.evaluate(COLOURS) == dark
    assert page.get_attribute("#theme", "aria-label") == "Theme: dark"


def test_text_stands_out_from_what_is_behind_it(recording, agent, visit):
    page = visit(recording.url)
    for path in BOTH:
        page.goto(recording.url + path)
        page.wait_for_selector(".break")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert (path, scheme, wrong(page, "poorContrast")) == (path, scheme, [])


def test_everything_has_a_name_and_a_place(recording, agent, visit):
    page = visit(recording.url)
    for path in BOTH:
        page.goto(recording.url + path)
        page.wait_for_selector(".break")
        assert {name: found for name in NAMES if (found := wrong(page, name))} == {}
        assert page.get_attribute("html", "lang") == "en"


FOCUSED = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()"
OUTLINE = "getComputedStyle(document.activeElement).outlineStyle !== 'none'"


def test_the_keyboard_reaches_everything(recording, agent, visit):
    page = visit(recording.url)
    page.wait_for_selector(".break")
    reached, visible = [], []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED).split(" · ")[0])
        visible.append(page.evaluate(OUTLINE))
    assert reached == [
        "Skip to the content",
        "hitrate",
        "Theme: as the system",
        "Keyboard help",
        "session agent-1",
        "turn 3",
        "turn 3 of agent-1",
        "JSON",
    ]
    assert all(visible)


def test_arrow_keys_go_from_turn_to_turn_and_from_session_to_session(recording, agent, visit):
    other = Agent("agent-2")
    recording.add(other, "another task " * 50)
    page = visit(recording.url)
    expect(page.locator(".cell")).to_have_count(4)
    page.keyboard.press("s")
    assert page.evaluate(FOCUSED).startswith("turn 1 ·")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED).startswith("turn 3 ·")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(FOCUSED).startswith("turn 1 ·")
    page.keyboard.press("End")
    assert page.evaluate(FOCUSED).startswith("turn 3 ·")
    assert text_of(page, "#session-1 .readout").startswith("turn 3 ·")
    page.keyboard.press("ArrowLeft")
    assert page.eval_on_selector_all("#session-1 .cell", "cells => cells.map((cell) => cell.tabIndex)") == [-1, 0, -1]
    page.keyboard.press("Enter")
    page.wait_for_url("**/session/1#turn-2")
    page.wait_for_selector("#turn-2")
    page.keyboard.press("u")
    page.wait_for_url(recording.url)


def test_the_help_opens_and_closes_by_key_and_gives_the_focus_back(recording, agent, visit):
    page = visit(recording.url)
    page.focus("#theme")
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert page.is_hidden("#help")
    assert page.evaluate("document.activeElement.id") == "theme"


def test_an_update_leaves_what_stands_there_in_place(recording, agent, visit):
    page = visit(recording.url)
    page.wait_for_selector(".break")
    page.keyboard.press("s")
    page.keyboard.press("ArrowLeft")
    page.evaluate("""() => {
      window.kept = [...document.querySelectorAll(".cell, .break, .session")];
      window.focused = document.activeElement;
    }""")
    recording.add(agent, system=clock(1_790_000_020))
    expect(page.locator(".cell")).to_have_count(4)
    assert page.evaluate("window.kept.every((element) => element.isConnected)")
    assert page.evaluate("document.activeElement === window.focused")


def test_a_session_page_goes_on_without_being_loaded_again(recording, agent, visit):
    page = visit(recording.url)
    page.goto(f"{recording.url}session/1")
    page.wait_for_selector("#turn-3")
    page.evaluate("window.stays = document.querySelector('h1')")
    recording.add(agent, system=clock(1_790_000_020))
    page.wait_for_selector("#turn-4")
    assert page.locator("tbody tr").count() == 4
    assert "4 turns" in text_of(page, "[data-part=head]")


def test_both_sides_of_a_break_are_shown(recording, agent, visit):
    page = visit(recording.url)
    page.wait_for_selector(".break")
    page.goto(f"{recording.url}session/1")
    page.wait_for_selector(".sides")
    was, now = page.locator(".sides dd").all_inner_texts()
    assert was.startswith("…The time is 09:") and now.startswith("…The time is 09:")
    assert was != now
    assert page.locator("svg[role=img]").count() > 0


def test_what_is_drawn_is_bounded(recording, visit):
    for number in range(board.MOST_SESSIONS + 8):
        recording.add(Agent(f"session-{number}"), f"task {number}")
    long = Agent("long")
    for number in range(204):
        recording.add(long, f"step {number}")
    page = visit(recording.url)
    expect(page.locator(".session")).to_have_count(50)
    expect(page.locator("#session-59 .cell")).to_have_count(200)
    expect(page.locator("#sessions-more")).to_have_text("9 older sessions not shown; the sums count them.")
    recording.add(Agent("one more"), "task x")
    page.wait_for_selector("#session-60")
    expect(page.locator(".session")).to_have_count(50)
    recording.add(long, "the last step")
    expect(page.locator("#session-59 .cell").last).to_have_attribute("aria-label", re.compile("^turn 205 "))
    expect(page.locator("#session-59 .cell")).to_have_count(200)


def test_a_recorder_that_is_started_again_is_found_again(recording, agent, browser):
    page = browser.new_page()
    refusals = iter([True, True])
    page.route(
        "**/events",
        lambda route: route.fulfill(status=503, body="") if next(refusals, False) else route.continue_(),
    )
    page.goto(recording.url)
    expect(page.locator("#connection-text")).to_have_text("connecting again")
    expect(page.locator("#connection-text")).to_have_text("live")
    expect(page.locator(".cell")).to_have_count(3)
    page.close()


def test_motion_is_left_out_where_it_is_not_wanted(recording, visit):
    agent = Agent("agent-1")
    recording.add(agent)
    page = visit(recording.url, reduced_motion="reduce")
    recording.add_broken(agent)
    page.wait_for_selector(".break.fresh")
    assert page.eval_on_selector(".break.fresh", "element => getComputedStyle(element).animationName") == "none"


def test_without_scripts_it_says_where_to_look(recording, agent, visit):
    page = visit(recording.url, wait_for=None, java_script_enabled=False)
    assert f"hitrate explain {recording.run}" in text_of(page, ".noscript")
