"""The requests that the scenarios of other tools start from: a long policy, five tools, and a history with a tool call.

In the shapes of OpenAI's chat completions and of Anthropic's messages. Builders return fresh values, so that a test may
change them in place.
"""

from __future__ import annotations

import copy
from typing import Any

Body = dict[str, Any]

CHAT_MODEL = "gpt-4.1"
CLAUDE_MODEL = "claude-sonnet-4-5"
MARK = {"type": "ephemeral"}

_AREAS = (
    "parcel claims", "cold storage", "night deliveries", "returns of furniture", "customs papers", "driver rosters",
    "pallet deposits", "fragile freight", "route changes", "locker pick-ups", "invoices in dispute", "recalled goods",
)  # fmt: skip
_RULES = (
    "Before you answer a question about {area}, look the case up and read its notes to the end.",
    "For {area} a promise of money needs the consent of a person of the claims desk; say so, and hand the case over.",
    "Never guess a deadline for {area}: name the one that stands in the case, or say that none is set.",
    "When two notes about {area} contradict each other, the newer one holds unless the older one is signed.",
    "Write about {area} in short sentences, in the customer's language, without abbreviations of the house.",
    "Figures about {area} are given with their unit and the day they were taken from the ledger.",
    "If a customer asks for {area} to be cancelled, read the terms back first and wait for a clear yes.",
    "Photographs sent for {area} are described in one line each and are never passed on to other customers.",
    "A complaint about {area} that mentions an injury goes to the duty officer at once, whatever else is open.",
    "Addresses seen in {area} are repeated with the street alone; house numbers are left out.",
    "Where {area} touches another department, name that department, its hours, and the case it will see.",
)


def _policy() -> str:
    sections = []
    for number, area in enumerate(_AREAS, start=1):
        rules = "\n".join(f"{number}.{place} {rule.format(area=area)}" for place, rule in enumerate(_RULES, start=1))
        sections.append(f"## {number}. Rules for {area}\n{rules}")
    return "You are the assistant of Hollin & Reef, a forwarding house.\n\n" + "\n\n".join(sections)


POLICY = _policy()
"""About 15,800 characters."""

_NUMBER = "Number printed on the waybill."
_FIELDS = {
    "find_case": {"case_number": _NUMBER, "postcode": "Of the recipient.", "year": "Four digits."},
    "list_notes": {"case_number": _NUMBER, "newest_first": "yes or no.", "limit": "At most 50."},
    "quote_route": {"origin": "Depot code.", "destination": "Depot code.", "weight_kg": "Full kilograms."},
    "hand_over": {"case_number": _NUMBER, "desk": "Name of the desk.", "reason": "One sentence."},
    "send_letter": {"case_number": _NUMBER, "language": "Two letters.", "text": "The letter itself."},
}


def schema(name: str) -> Body:
    properties = {field: {"type": "string", "description": about} for field, about in _FIELDS[name].items()}
    return {"type": "object", "properties": properties, "required": [next(iter(properties))]}


def _about(name: str) -> str:
    return f"{name.replace('_', ' ').capitalize()}, as the desk would do it by hand; fails when a field is unknown."


def chat_tool(name: str) -> Body:
    return {"type": "function", "function": {"name": name, "description": _about(name), "parameters": schema(name)}}


def claude_tool(name: str) -> Body:
    return {"name": name, "description": _about(name), "input_schema": schema(name)}


TOOLS = tuple(_FIELDS)


def notes(case: int = 0) -> str:
    """What the tool answers of a case: about 2,500 characters."""
    return "\n".join(
        f"{day:02d} May, {8 + (day + case) % 9}:{day * 7 % 60:02d}: parcel {4100 + day * 13} was seen at depot "
        f"{chr(65 + (day + case) % 20)}{day}, signed by the {('early', 'late', 'night')[day % 3]} shift, "
        f"seal {'whole' if day % 4 else 'replaced'}."
        for day in range(1, 29)
    )


NOTES = notes()
ARGUMENTS = '{"case_number": "HR-20771", "newest_first": "yes", "limit": "28"}'

ANSWERS = (
    "The parcel was last seen at depot I28 on 28 May; every depot before that confirmed a whole seal or replaced it.",
    "Its seal was replaced seven times, each time by the shift on duty. No depot noted damage to the goods themselves.",
    "I have asked the claims desk to look at the weights of the last three depots. They answer in two working days.",
)
QUESTIONS = (
    "Where is parcel HR-20771, and was its seal whole all the way?",
    "How often was the seal replaced, and by whom?",
    "Can you have somebody check the weights?",
    "Thank you. Please put that into a letter in German.",
)


def chat(turn: int = 0, system: Any = POLICY, role: str = "system", case: int = 0) -> Body:
    """The request of this turn, from 0: question, tool call and its result, then an answer and a question a turn."""
    number, called = f"HR-2077{1 + case}", f"call_A71c0{9 - case}"
    asked = {"name": "list_notes", "arguments": ARGUMENTS.replace("HR-20771", number)}
    messages: list[Body] = [
        {"role": role, "content": system},
        {"role": "user", "content": QUESTIONS[0].replace("HR-20771", number)},
        {"role": "assistant", "content": None, "tool_calls": [{"id": called, "type": "function", "function": asked}]},
        {"role": "tool", "tool_call_id": called, "content": notes(case)},
    ]
    for later in range(turn):
        messages.append({"role": "assistant", "content": ANSWERS[later]})
        messages.append({"role": "user", "content": QUESTIONS[later + 1]})
    return {"model": CHAT_MODEL, "messages": messages, "tools": [chat_tool(name) for name in TOOLS]}


def claude(turn: int = 0, system: str = POLICY, *, marked: bool = True, used: Any = None) -> Body:
    """The same conversation; with markers on the system prompt and on the newest message's last block."""
    given = {"case_number": "HR-20771", "newest_first": "yes", "limit": "28"} if used is None else used
    messages: list[Body] = [
        {"role": "user", "content": [_text(QUESTIONS[0])]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_01Kq7", "name": "list_notes", "input": given}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01Kq7", "content": NOTES}]},
    ]
    for number in range(turn):
        messages.append({"role": "assistant", "content": [_text(ANSWERS[number])]})
        messages.append({"role": "user", "content": [_text(QUESTIONS[number + 1])]})
    blocks = [_text(system)]
    if marked:
        blocks[-1]["cache_control"] = messages[-1]["content"][-1]["cache_control"] = MARK
    return {
        "model": CLAUDE_MODEL,
        "max_tokens": 1024,
        "tools": [claude_tool(name) for name in TOOLS],
        "system": blocks,
        "messages": messages,
    }


def _text(text: str) -> Body:
    return {"type": "text", "text": text}


def ask(question: str, system: Any = POLICY) -> Body:
    """A chat of one question."""
    return {**chat(), "messages": [{"role": "system", "content": system}, {"role": "user", "content": question}]}


def ask_claude(question: str, system: str = POLICY) -> Body:
    """One question, with a marker behind the system prompt alone."""
    body = claude()
    return {
        **body,
        "system": [{**_text(system), "cache_control": MARK}],
        "messages": [{"role": "user", "content": question}],
    }


def changed(body: Body, pointer: str, value: Any) -> Body:
    """A copy of the body with another value at a JSON pointer."""
    body = copy.deepcopy(body)
    *steps, last = pointer.strip("/").split("/")
    place: Any = body
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    place[int(last) if isinstance(place, list) else last] = value
    return body


def reversed_members(value: Body) -> Body:
    return dict(reversed(value.items()))
