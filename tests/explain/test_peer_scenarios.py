"""What other tools say wrong of logs whose truth is known, said right.

The scenarios S (OpenAI chat), A (Anthropic messages) and X (more than a thousand tokens lost) are those on which a
dozen tools for prompt caches were compared; the expectations were written from the truth of each scenario. What a
tool got wrong stands at its test.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from peer_bodies import (
    ANSWERS,
    CLAUDE_MODEL,
    MARK,
    NOTES,
    POLICY,
    QUESTIONS,
    Body,
    ask,
    ask_claude,
    changed,
    chat,
    chat_tool,
    claude,
    claude_tool,
    reversed_members,
)
from peer_log import PRICE, Exchanges, is_growing

from hitrate.core.findings import ExplainReport, Finding
from hitrate.explaining import explain_bodies

CLOCKS = tuple(f"Current time: 2026-11-03 09:14:{second}\n\n{POLICY}" for second in ("07", "21", "48"))
DATED = f"Today is 2026-11-03.\n\n{POLICY}"
MARINE = (
    f"You answer for Brask Marine. Below is the ledger of its moorings.\n\n{NOTES.replace('parcel', 'mooring') * 6}"
)
ARGUMENTS_POINTER = "/messages/2/tool_calls/0/function/arguments"
COMPACT = '{"case_number":"HR-20771","newest_first":"yes","limit":"28"}'
EDITED = "Where is parcel HR-20771 now, and was its seal whole all the way?"
MORE_TOOL = chat_tool("find_case") | {"function": {**chat_tool("find_case")["function"], "name": "book_crane"}}
CALL_ID_POINTER = "/messages/2/tool_calls/0/id"


class Expected(NamedTuple):
    verdict: str
    cause: str
    call: int
    against: int
    pointer: str | None = None
    offset: int | None = None
    was: str = ""
    now: str = ""
    """What stands at the offset, as far as it is given here."""


class Scenario(NamedTuple):
    bodies: list[Body]
    expected: Expected | None
    """None: nothing is wrong, and nothing may be said."""
    least_lost: int = 0
    after_s: float = 20.0
    needs_usage: bool = False
    """The text alone does not show it."""


def turns(make: Any, *systems: Any) -> list[Body]:
    return [make(turn, system) for turn, system in enumerate(systems)]


def swapped(body: Body) -> Body:
    tools = list(body["tools"])
    tools[0], tools[2] = tools[2], tools[0]
    return {**body, "tools": tools}


def long(body: Body) -> Body:
    return changed(body, "/messages/3/content", f"{NOTES}\n{NOTES.lower()}")


def reordered(body: Body, pointer: str) -> Body:
    place: Any = body
    for step in pointer.strip("/").split("/"):
        place = place[int(step) if isinstance(place, list) else step]
    return changed(body, pointer, reversed_members(place))


def asking_for(body: Body, about: str) -> Body:
    schema = {"type": "object", "properties": {"text": {"type": "string", "description": about}}, "required": ["text"]}
    return {**body, "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}}


def windows() -> list[Body]:
    """Five messages are kept; each turn the two oldest go."""
    said = [
        {"role": role, "content": f"{text} ({number})"}
        for number in range(5)
        for role, text in (("user", QUESTIONS[number % 4]), ("assistant", f"{ANSWERS[number % 3]} {NOTES[:900]}"))
    ]
    return [{**chat(), "messages": [chat()["messages"][0], *said[start : start + 5]]} for start in (0, 2, 4)]


def named_sessions(opening: str, *, second_turns: bool = False) -> list[Body]:
    names = ("Ana", "Ben", "Chiara", "Dov")
    return [
        chat(turn, opening.format(name) + POLICY, case=case)
        for turn in range(1 + second_turns)
        for case, name in enumerate(names)
    ]


SCENARIOS: dict[str, Scenario] = {
    "S00 growth": Scenario(turns(chat, POLICY, POLICY, POLICY, POLICY), None),
    "S01 clock on top": Scenario(
        turns(chat, *CLOCKS),
        Expected("prefix_break", "clock-in-prefix", 1, 0, "/messages/0/content", 31, "07\n\nYou are", "21\n\nYou are"),
        least_lost=8000,
    ),
    "S02 tools reordered": Scenario(
        [chat(0), chat(1), swapped(chat(2))],
        Expected("prefix_break", "tool-order", 2, 1, "/tools/0/function/name", 0, "find_case", "quote_route"),
        least_lost=4000,
    ),
    "S03 key order in a tool schema": Scenario(
        [chat(0), reordered(chat(1), "/tools/3/function/parameters/properties")],
        Expected("prefix_break", "schema-key-order", 1, 0, "/tools/3/function/parameters/properties"),
        least_lost=4000,
    ),
    "S04 arguments of a tool call written anew": Scenario(
        [chat(0), changed(chat(1), ARGUMENTS_POINTER, COMPACT)],
        Expected("prefix_break", "arguments-reserialised", 1, 0, ARGUMENTS_POINTER, 15, ' "HR', '"HR'),
    ),
    "S05 history edited": Scenario(
        [chat(0), chat(1), changed(chat(2), "/messages/1/content", EDITED)],
        Expected("prefix_break", "history-edited", 2, 1, "/messages/1/content", 24, ", and", " now, and"),
    ),
    "S06 sliding window": Scenario(
        windows(), Expected("prefix_break", "sliding-window", 1, 0, "/messages/1/content", 0, "Where is", "How often")
    ),
    "S07 a clock in each user turn, kept": Scenario(
        [
            {
                **chat(turn),
                "messages": [
                    {**message, "content": f"[2026-11-03 09:1{number}:0{number}] {message['content']}"}
                    if message["role"] == "user"
                    else message
                    for number, message in enumerate(chat(turn)["messages"])
                ],
            }
            for turn in range(3)
        ],
        None,
    ),
    "S08 a date that stays": Scenario(turns(chat, DATED, DATED, DATED), None),
    "S09 below the minimum": Scenario(
        [{name: value for name, value in body.items() if name != "tools"} for body in turns(chat, *[POLICY[:400]] * 3)],
        Expected("too_short", "too-short", 1, 0),
        needs_usage=True,
    ),
    "S10 a string, then one text block": Scenario(
        [chat(0), chat(1, [{"type": "text", "text": POLICY}]), chat(2)],
        None,
    ),
    "S11 one trailing space": Scenario(
        [chat(0), chat(1, POLICY + " ")],
        Expected("prefix_break", "text-form-changed", 1, 0, "/messages/0/content", len(POLICY), "", " "),
        least_lost=400,
    ),
    "S12 model switched": Scenario(
        [chat(0), {**chat(1), "model": "gpt-4.1-mini"}],
        Expected("key_change", "model-switched", 1, 0, "/model"),
        least_lost=4000,
    ),
    "S13 tool added in the midst": Scenario(
        [chat(0), {**chat(1), "tools": [chat(1)["tools"][0], MORE_TOOL, *chat(1)["tools"][1:]]}],
        Expected("prefix_break", "tool-set-changed", 1, 0, "/tools/1/function/name", 0, "list_notes", "book_crane"),
        least_lost=4000,
    ),
    "S13 tool added at the end": Scenario(
        [chat(0), {**chat(1), "tools": [*chat(1)["tools"], MORE_TOOL]}],
        Expected("prefix_break", "tool-set-changed", 1, 0, "/tools/5"),
        least_lost=3500,
    ),
    "S14 two hours later": Scenario(
        [chat(0), chat(1)],
        Expected("expiry", "expired", 1, 0),
        least_lost=4000,
        after_s=7200.0,
        needs_usage=True,
    ),
    "S15 developer role": Scenario([chat(turn, POLICY, "developer") for turn in range(3)], None),
    "S15 developer role with a clock": Scenario(
        [chat(turn, clock, "developer") for turn, clock in enumerate(CLOCKS)],
        Expected("prefix_break", "clock-in-prefix", 1, 0, "/messages/0/content", 31, "07", "21"),
        least_lost=8000,
    ),
    "S16 two tenants interleaved": Scenario(
        [chat(turn, system, case=case) for turn in range(3) for case, system in enumerate((POLICY, MARINE))],
        None,
    ),
    "S17 a user's name on top of each session": Scenario(
        named_sessions("You are helping {}.\n\n"),
        Expected("prefix_break", "name-on-top", 1, 0, "/messages/0/content", 16, "Ana.", "Ben."),
        least_lost=10_000,
    ),
    "S18 response schema changed": Scenario(
        [
            asking_for(chat(0), "The answer in German."),
            asking_for(chat(1), "The answer in German."),
            asking_for(chat(2), "The answer in English."),
        ],
        Expected(
            "prefix_break",
            "response-schema-changed",
            2,
            1,
            "/response_format/json_schema/schema/properties/text/description",
            14,
            "German",
            "English",
        ),
        least_lost=4000,
    ),
    "S19 another question behind one prefix": Scenario([ask(question) for question in QUESTIONS], None),
    "X1 history edited, much behind it": Scenario(
        [long(chat(0)), long(chat(1)), changed(long(chat(2)), "/messages/1/content", EDITED)],
        Expected("prefix_break", "history-edited", 2, 1, "/messages/1/content", 24, ", and", " now, and"),
        least_lost=1000,
    ),
    "X2 arguments written anew, much behind it": Scenario(
        [long(chat(0)), changed(long(chat(1)), ARGUMENTS_POINTER, COMPACT)],
        Expected("prefix_break", "arguments-reserialised", 1, 0, ARGUMENTS_POINTER, 15, ' "HR', '"HR'),
        least_lost=1000,
    ),
    "X3 id of a tool call made anew": Scenario(
        [
            long(chat(0)),
            changed(changed(long(chat(1)), CALL_ID_POINTER, "call_9f33d0"), "/messages/3/tool_call_id", "call_9f33d0"),
        ],
        Expected("prefix_break", "ids-regenerated", 1, 0, CALL_ID_POINTER, 5, "A71c09", "9f33d0"),
        least_lost=1000,
    ),
    "X5 a greeting by name, sessions of two turns": Scenario(
        named_sessions("Hi {}, welcome back.\n\n", second_turns=True),
        Expected("prefix_break", "name-on-top", 1, 0, "/messages/0/content", 3, "Ana,", "Ben,"),
        least_lost=10_000,
    ),
    "A00 a marker that moves": Scenario(turns(claude, POLICY, POLICY, POLICY, POLICY), None),
    "A01 clock in the system prompt": Scenario(
        turns(claude, *CLOCKS),
        Expected("prefix_break", "clock-in-prefix", 1, 0, "/system/0/text", 31, "07\n\nYou are", "21\n\nYou are"),
        least_lost=8000,
    ),
    "A02 tools reordered": Scenario(
        [claude(0), claude(1), swapped(claude(2))],
        Expected("prefix_break", "tool-order", 2, 1, "/tools/0/name", 0, "find_case", "quote_route"),
        least_lost=4500,
    ),
    "A03 key order in a tool schema": Scenario(
        [claude(0), reordered(claude(1), "/tools/3/input_schema/properties")],
        Expected("prefix_break", "schema-key-order", 1, 0, "/tools/3/input_schema/properties"),
        least_lost=4000,
    ),
    "A04 key order in the input of a tool call": Scenario(
        [claude(0), reordered(claude(1), "/messages/1/content/0/input")],
        Expected("prefix_break", "arguments-reserialised", 1, 0, "/messages/1/content/0/input"),
        least_lost=500,
    ),
    "A05 no marker": Scenario(
        [claude(turn, marked=False) for turn in range(3)],
        Expected("breakpoints", "no-markers", 1, 0),
        least_lost=9000,
        needs_usage=True,
    ),
    "A06 below the model's minimum": Scenario(
        [{**claude(turn, POLICY[:8000]), "model": "claude-opus-4-5"} for turn in range(3)],
        Expected("too_short", "too-short", 1, 0),
        needs_usage=True,
    ),
    "A07 more than twenty blocks between two markers": Scenario(
        [claude(0)],  # the second request is built by the test of its own
        None,
    ),
    "A08 thinking switched on": Scenario(
        [claude(0), {**claude(1), "thinking": {"type": "enabled", "budget_tokens": 2048}}],
        Expected("key_change", "effort-switched", 1, 0, "/thinking"),
        least_lost=500,
    ),
    "A09 a clock behind the last marker": Scenario(
        [
            ask_claude(f"It is 09:{minute} on 3 November 2026.\n{question}")
            for minute, question in zip(("14", "21", "48", "52"), QUESTIONS, strict=True)
        ],
        None,
    ),
    "A09 a clock in a system block behind the last marker": Scenario(
        [
            {**body, "system": [*body["system"], {"type": "text", "text": f"It is 09:{minute} on 3 November 2026."}]}
            for minute, body in zip(("14", "21", "48", "52"), map(ask_claude, QUESTIONS), strict=True)
        ],
        None,
    ),
    "A10 eleven minutes later": Scenario(
        [claude(0), claude(1)],
        Expected("expiry", "expired", 1, 0),
        least_lost=4500,
        after_s=660.0,
        needs_usage=True,
    ),
    "A11 tool choice changed": Scenario(
        [{**claude(0), "tool_choice": {"type": "auto"}}, {**claude(1), "tool_choice": {"type": "any"}}],
        Expected("key_change", "tool-choice-changed", 1, 0, "/tool_choice"),
        least_lost=500,
    ),
    "A12 another question behind one marked prefix": Scenario([ask_claude(question) for question in QUESTIONS], None),
}
"""X4, X6 and the unlisted numbers are not described well enough to be built again."""


def agrees(found: Finding, expected: Expected) -> None:
    assert (found.verdict, found.cause) == (expected.verdict, expected.cause), found.summary
    assert (found.call, found.against) == (expected.call, expected.against)
    if expected.verdict == "key_change":
        assert found.pointer is not None and expected.pointer is not None
        assert found.pointer.startswith(expected.pointer)
    else:
        assert (found.pointer, found.offset) == (expected.pointer, expected.offset)
        assert (found.was or "").startswith(expected.was) and (found.now or "").startswith(expected.now)
    assert found.advice


def explained(scenario: Scenario, folder: Path) -> ExplainReport:
    return Exchanges().ask(*scenario.bodies, after_s=scenario.after_s).explained(folder, PRICE)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_scenario_with_reported_tokens(name: str, tmp_path: Path):
    scenario = SCENARIOS[name]
    report = explained(scenario, tmp_path)
    if scenario.expected is None:
        assert report.findings == ()
        return
    (found,) = report.findings
    agrees(found, scenario.expected)
    assert (found.lost_tokens or 0) >= scenario.least_lost
    assert (found.lost_usd or 0) >= scenario.least_lost * 2.7e-6


@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if not one.needs_usage])
def test_the_scenario_as_bodies_alone(name: str):
    scenario = SCENARIOS[name]
    report = explain_bodies(scenario.bodies)
    if scenario.expected is None:
        assert report.findings == ()
    else:
        (found,) = report.findings
        agrees(found, scenario.expected)
        assert found.lost_usd is None


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name[:3] in ("S00", "S07", "S08", "A00")])
def test_scenarios_said_to_grow_do(name: str):
    assert is_growing(SCENARIOS[name].bodies)


def test_more_than_twenty_blocks_between_two_markers(tmp_path: Path):
    """A07."""
    body = claude(0)
    del body["messages"][-1]["content"][-1]["cache_control"]
    for number in range(12):
        used = {"type": "tool_use", "id": f"toolu_{number:02d}", "name": "quote_route", "input": {"origin": "D4"}}
        answered = {"type": "tool_result", "tool_use_id": used["id"], "content": f"Route {number}: 14 hours."}
        body["messages"] += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [answered]}]
    body["messages"][-1]["content"][-1]["cache_control"] = MARK
    (found,) = Exchanges().ask(claude(0), body).explained(tmp_path).findings
    agrees(found, Expected("breakpoints", "look-back-exceeded", 1, 0))
    assert (found.lost_tokens or 0) >= 600


def test_a_shuffled_list_of_tools_is_to_be_sorted_not_moved(tmp_path: Path):
    """cacheeconomics: "move that segment after the last breakpoint"."""
    (found,) = explained(SCENARIOS["A02 tools reordered"], tmp_path).findings
    assert "order" in found.advice and "marker" not in found.advice and "breakpoint" not in found.advice


def test_nothing_survives_a_change_of_the_first_tool(tmp_path: Path):
    """ctxdiff, prefixguard: 3,947 and 3,963 tokens survive, since they took the system prompt to come first."""
    (found,) = explained(SCENARIOS["A02 tools reordered"], tmp_path).findings
    assert found.cacheable_chars == 0


@pytest.mark.parametrize("name", ["S03 key order in a tool schema", "A03 key order in a tool schema"])
def test_the_order_of_keys_is_nobody_elses_doing(name: str, tmp_path: Path):
    """hearth-ai: "provider_miss"; promptcachelint: "suspects outside the payload"; the others saw no change."""
    (found,) = explained(SCENARIOS[name], tmp_path).findings
    assert (found.voice, found.confidence) == ("yours to change", "certain")


def test_ids_made_anew_do_not_split_a_session(tmp_path: Path):
    """promptcachelint: two sessions."""
    report = explained(SCENARIOS["X3 id of a tool call made anew"], tmp_path)
    assert [one.calls for one in report.by_session] == [(0, 1)]


def test_sessions_with_a_name_on_top_are_sessions_of_their_own(tmp_path: Path):
    report = explained(SCENARIOS["X5 a greeting by name, sessions of two turns"], tmp_path)
    assert [one.calls for one in report.by_session] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert report.findings[0].calls == (1, 2, 3)


def test_two_tenants_are_two_conversations_with_good_rates(tmp_path: Path):
    """kvlint: "no block is ever reusable", for want of a prefix common to all requests; cachelint: "diverged"."""
    report = explained(SCENARIOS["S16 two tenants interleaved"], tmp_path)
    assert [one.calls for one in report.by_session] == [(0, 2, 4), (1, 3, 5)]
    assert (report.waterfall.hit_rate or 0) > 0.6


def test_two_models_beside_each_other(tmp_path: Path):
    """cachelint: exit 2."""
    other = [{**chat(turn, case=1), "model": "gpt-4.1-mini"} for turn in range(3)]
    bodies = [body for turn in range(3) for body in (chat(turn), other[turn])]
    assert Exchanges().ask(*bodies).explained(tmp_path).findings == ()


@pytest.mark.parametrize("role", ["system", "developer"])
def test_lists_of_blocks_as_content(role: str, tmp_path: Path):
    """kvlint: the file is refused."""
    head = {"type": "text", "text": "You answer letters."}
    bodies = [chat(turn, [head, {"type": "text", "text": POLICY}], role) for turn in range(3)]
    assert Exchanges().ask(*bodies).explained(tmp_path).findings == ()
    broken = [*bodies[:2], chat(2, [head, {"type": "text", "text": POLICY.replace("Hollin", "Rollin", 1)}], role)]
    (found,) = Exchanges().ask(*broken).explained(tmp_path).findings
    assert (found.verdict, found.call, found.pointer) == ("prefix_break", 2, "/messages/0/content/1/text")
    assert found.offset == POLICY.index("Hollin")


def test_a_tool_call_is_part_of_the_prompt(tmp_path: Path):
    """kvlint drops tool calls, and counts what stands behind them as cached."""
    (found,) = explained(SCENARIOS["X2 arguments written anew, much behind it"], tmp_path).findings
    system, question = chat()["messages"][0]["content"], chat()["messages"][1]["content"]
    assert (found.cacheable_chars or 0) >= len(system) + len(question)
    assert (found.cacheable_share or 1) < 0.85


def test_rates_stay_below_one_where_a_token_is_more_than_four_characters(tmp_path: Path):
    """llmtrafficlens: 107.9 %, by dividing estimated tokens by reported ones."""
    exchanges = Exchanges().ask(*(chat(turn) for turn in range(3)))
    fewer = []
    for line in map(json.loads, exchanges.lines):
        usage = line["response"]["usage"]
        usage["prompt_tokens"] = usage["prompt_tokens"] * 4 // 6
        cached = usage["prompt_tokens_details"]["cached_tokens"] * 4 // 6 // 128 * 128
        usage["prompt_tokens_details"]["cached_tokens"] = cached
        fewer.append(json.dumps(line))
    exchanges.lines = fewer
    report = exchanges.explained(tmp_path)
    assert report.findings == ()
    assert 0.5 < (report.waterfall.hit_rate or 0) < 1
    assert sum(one.tokens for one in report.waterfall.labels) == report.waterfall.prompt_tokens
    assert all(0 <= (one.share or 0) <= 1 for one in report.waterfall.labels)


def usage_line(read: int, written: int, fresh: int) -> str:
    usage = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": 100,
    }
    response = {"id": f"msg_{read}_{written}", "type": "message", "model": CLAUDE_MODEL, "usage": usage}
    return json.dumps({"at": 1_793_000_000 + read, "response": response})


def test_input_tokens_stand_beside_what_was_read_and_written(tmp_path: Path):
    """prompt-cache-doctor: 89.7 % and $0.011, since it leaves out writes and folds reads into input at times."""
    exchanges = Exchanges()
    exchanges.lines = [usage_line(2048, 0, 3000), usage_line(0, 8000, 100), usage_line(8000, 0, 100)]
    waterfall = exchanges.explained(tmp_path, PRICE).waterfall
    assert waterfall.prompt_tokens == 21_248
    assert waterfall.hit_rate == pytest.approx(0.4729, abs=1e-4)
    output_usd = 300 * 15 / 1e6
    assert sum(one.usd or 0 for one in waterfall.labels) + output_usd == pytest.approx(0.0471, abs=1e-4)


def test_reads_above_the_input_tokens_are_a_high_rate(tmp_path: Path):
    """prefixcash: 0.0 %."""
    exchanges = Exchanges()
    exchanges.lines = [usage_line(4965, 0, 100)]
    assert exchanges.explained(tmp_path).waterfall.hit_rate == pytest.approx(4965 / 5065)


def test_refused_requests_are_no_misses(tmp_path: Path):
    """cache-pressure: every 503 is a lost context."""
    exchanges = Exchanges().ask(chat(0)).ask(chat(1), status=503).ask(chat(1)).ask(chat(2), status=503).ask(chat(2))
    report = exchanges.explained(tmp_path)
    assert report.findings == ()
    assert report.waterfall.calls == 3
    only_refused = Exchanges().ask(chat(0), chat(1), chat(2), status=503).explained(tmp_path)
    assert (only_refused.findings, only_refused.waterfall.hit_rate) == ((), None)


def test_text_and_place_of_a_change_are_told(tmp_path: Path):
    """kvprof: "cold, 2,788 prefilled" and "main_turn +116", without a word of what differs."""
    (clock,) = explained(SCENARIOS["S01 clock on top"], tmp_path).findings
    assert "09:14:07" in clock.summary and "09:14:21" in clock.summary
    (edit,) = explained(SCENARIOS["S05 history edited"], tmp_path).findings
    assert edit.pointer == "/messages/1/content" and edit.summary


@pytest.mark.parametrize("served", [True, False])
def test_another_response_format_without_a_schema(served: bool, tmp_path: Path):
    """S18 without prompt text: said where the cache was lost with it, and only there."""
    exchanges = Exchanges().ask(chat(0))
    exchanges.ask({**chat(1), "response_format": {"type": "json_object"}})
    line = json.loads(exchanges.lines[-1])
    line["response"]["usage"]["prompt_tokens_details"]["cached_tokens"] = 5120 if served else 0
    exchanges.lines[-1] = json.dumps(line)
    findings = exchanges.explained(tmp_path).findings
    assert [(one.call, one.against) for one in findings] == ([] if served else [(1, 0)])
    assert all("response_format" in f"{one.pointer} {one.summary} {one.ruled_out}" for one in findings)


def test_ids_that_the_engine_does_not_render_lose_nothing(tmp_path: Path):
    """A call id that changes and is served all the same is no finding."""
    exchanges = Exchanges().ask(*SCENARIOS["X3 id of a tool call made anew"].bodies)
    line = json.loads(exchanges.lines[-1])
    line["response"]["usage"]["prompt_tokens_details"]["cached_tokens"] = 5632
    exchanges.lines[-1] = json.dumps(line)
    assert exchanges.explained(tmp_path).findings == ()


def test_a_tool_that_is_claimed_to_follow_the_system_prompt_comes_first(tmp_path: Path):
    """A tool added on Anthropic's wire leaves nothing of the system prompt."""
    added = {**claude(1), "tools": [{**claude_tool("find_case"), "name": "book_crane"}, *claude(1)["tools"]]}
    (found,) = Exchanges().ask(claude(0), added).explained(tmp_path).findings
    assert (found.cause, found.pointer, found.cacheable_chars) == ("tool-set-changed", "/tools/0/name", 0)
