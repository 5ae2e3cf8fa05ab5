"""`Told`: what an export or a capture says of one call, in this program's words; and the `Call` made of it.

Other than an exchange that was logged as it went (`pairs`), such a record holds figures that a gateway worked out, and
often not the text: never stored, cut to fit a column, or masked. Then the call counts with its figures alone, and a
remark says so: a text that is not the whole prompt would be taken for a change of the prompt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from hitrate.core.model import Call, Reading, Timing, Usage
from hitrate.core.records import Remark, Skipped
from hitrate.core.wires import RENDERED, wire_named
from hitrate.logs.answered import answer_headers, diagnosis_of
from hitrate.logs.interface import ReplyReader
from hitrate.logs.shapes import body_problems, guess_dialect, named


class Told(Struct, kw_only=True):
    request: Any = None
    """The request body, decoded; None where the record has none."""
    body: bytes = b""
    """The same in bytes."""
    withheld: str | None = None
    """Why `request` is not the whole text that was sent."""
    response: dict[str, Any] | None = None
    """A reply body in a vendor's own shape, or `{"events": [...]}`."""
    usage: Usage | None = None
    """The gateway's own figures, for where the response has none."""
    raw_usage: dict[str, Any] | None = None
    doubts: tuple[str, ...] = ()
    """What is odd about the record."""
    cost: float | None = None
    """US dollars that the gateway says the call cost."""
    wire: str | None = None
    target: str = ""
    model: str | None = None
    """As billed; a body's model may be an alias."""
    session: str = ""
    label: str = ""
    at: float | None = None
    ttft_s: float | None = None
    headers_s: float | None = None
    total_s: float | None = None
    status: int | None = None
    error: str | None = None
    headers: dict[str, str] = {}
    response_headers: dict[str, str] = {}
    rebuilt: bool = False
    """The record has parts of the request, from which `body` was put together."""


def calls_told(told: Told, read_reply: ReplyReader, line: int | None) -> Iterator[Call | Skipped | Remark]:
    """The remarks on a record and then its call, or why there is none."""
    body, guessed, reason = _body(told)
    wire = RENDERED if guessed == RENDERED else told.wire or guessed
    found, reading = None, _NOTHING
    if told.response is not None:
        found, reading = read_reply(told.response, wire)
    usage = reading.usage
    if usage.prompt_tokens is None and told.usage is not None:
        usage = told.usage
    error = told.error or (reading.fault if told.response is not None and "error" in told.response else None)
    if not body and usage.prompt_tokens is None and usage.output_tokens is None and error is None:
        yield Skipped(line=line, reason=reason or "the record has neither a request nor token counts")
        return
    if reason is not None:
        yield Remark(line=line, what=f"{reason}; the call counts with its token counts alone")
    for doubt in told.doubts:
        yield Remark(line=line, what=doubt)
    if reading.fault is not None and error is None:
        yield Remark(line=line, what=reading.fault)
    response = told.response or {}
    yield Call(
        target=told.target,
        dialect=wire or found or "",
        body=body,
        rebuilt=told.rebuilt and bool(body),
        model=told.model or _text(told.request, "model") or _text(response, "model"),
        session=told.session,
        label=told.label,
        headers=told.headers,
        status=told.status,
        usage=usage,
        timing=_timing(told),
        reply=reading.reply,
        response_headers=answer_headers(response, {}) | told.response_headers,
        error=error,
        raw_usage=_raw_usage(told, reading, response),
        line=line,
        diagnosis=diagnosis_of(response),
    )


_NOTHING = Reading(reply=None, usage=Usage())


def _body(told: Told) -> tuple[bytes, str | None, str | None]:
    """The body, the wire it looks like, and why there is none where the record has one."""
    if told.request is None or told.withheld is not None:
        return b"", None, told.withheld
    if problems := body_problems(told.request, "the request"):
        return b"", None, named(problems)
    guessed = guess_dialect(told.request)
    return told.body, None if guessed is None else wire_named(guessed), None


def _timing(told: Told) -> Timing | None:
    if told.at is None:
        return None
    return Timing(
        at=told.at,
        sent_at_s=told.at,
        headers_s=_duration(told.headers_s),
        ttft_s=_duration(told.ttft_s),
        total_s=_duration(told.total_s),
    )


def _duration(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds < math.inf else None


def _raw_usage(told: Told, reading: Reading, response: dict[str, Any]) -> dict[str, Any] | None:
    raw = reading.raw_usage or told.raw_usage
    if (tier := _text(response, "service_tier")) is not None:
        raw = {"service_tier": tier, **(raw or {})}
    return raw if told.cost is None else {**(raw or {}), "cost": told.cost}


def _text(holder: Any, name: str) -> str | None:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, str) and value else None


def text(value: Any) -> str:
    """A name or an id of a record; "" for anything else."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if type(value) is int else ""


def number(value: Any) -> float | None:
    """A number, or the text of one, as in a table's cell."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def dollars(value: Any) -> float | None:
    """What a call cost. Gateways write 0 for what they have no price of, so that is not known."""
    found = number(value)
    return found if found is not None and found > 0 else None


def whole_prompt(
    prompt: int | None, cached: int | None, written: int | None, output: int | None, total: int | None
) -> tuple[int | None, str | None]:
    """All prompt tokens of a call whose `prompt` count may or may not contain the cached and written ones, told by the
    total; and why they cannot be told."""
    beside = (cached or 0) + (written or 0)
    if prompt is None or beside == 0:
        return prompt, None
    if total is not None and output is not None:
        if total == prompt + output + beside:
            return prompt + beside, None
        if total == prompt + output and beside <= prompt:
            return prompt, None
    elif beside > prompt:
        return prompt + beside, None
    return None, (
        f"{prompt:,} prompt tokens with {cached or 0:,} cached and {written or 0:,} written ones, {_or_none(output)} "
        f"output tokens and {_or_none(total)} in all: whether the prompt tokens contain the cached ones cannot be told"
    )


def _or_none(value: int | None) -> str:
    return "no" if value is None else f"{value:,}"


class LeftOut:
    """Records that are no model calls, counted by what they are; `remarks` says so at the end."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, int]] = {}

    def add(self, line: int, what: str) -> None:
        first, number = self._found.get(what, (line, 0))
        self._found[what] = first, number + 1

    def remarks(self) -> Iterator[Remark]:
        for what, (line, number) in self._found.items():
            yield Remark(line=line, what=f"{number:,} record{'' if number == 1 else 's'} left out: {what}")
