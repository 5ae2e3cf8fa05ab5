"""Calls of records with no more to them than a time, a request and the counts of a reply: by far the most usual."""

from __future__ import annotations

from typing import Any

import msgspec

from hitrate.core.model import Call, Reading, Timing
from hitrate.core.recent import Recent
from hitrate.core.wires import RENDERED, wire_named
from hitrate.logs.answered import DIAGNOSIS_MEMBERS
from hitrate.logs.forms import Fitting
from hitrate.logs.interface import ReplyReader
from hitrate.logs.pairs import (
    EARLIEST,
    LATEST_IN_SECONDS,
    MORE_IN_RECORD,
    MORE_IN_RESPONSE,
    TIME_MEMBERS,
    Body,
    unix_time,
)
from hitrate.logs.split import KnownBody

_SHAPES = 256
"""Sets of members, of a record and its response, that are kept in mind."""

_decode = msgspec.json.Decoder().decode


class PlainCalls:
    """Gives what `Exchange` would, or None where there is anything else to be read, or something to be said."""

    def __init__(self, read_reply: ReplyReader) -> None:
        self._read_reply = read_reply
        self._times: Recent[tuple[str | None, ...], str] = Recent(_SHAPES)
        """By the names of members in a record and its response: "" where there is more to be read, else the one member
        that can hold a time, or one that is not there."""

    def of_record(self, record: dict[str, Any], body: Body, line: int | None) -> Call | None:
        response = record.get("response")
        if type(response) is not dict:
            return None
        names = (*record, None, *response)
        time_member = self._times.get(names)
        if time_member is None:
            self._times.put(names, time_member := _time_member_alone(record, response))
        if not time_member or isinstance(record.get("body"), dict) or isinstance(record.get("request"), dict):
            return None
        usage = response.get("usage")
        if type(usage) is not dict or not DIAGNOSIS_MEMBERS.isdisjoint(usage):
            return None
        at = None
        if (told := record.get(time_member)) is not None and (at := unix_time(told)) is None:
            return None
        found, reading = self._read_reply(response, RENDERED if _is_rendered(body) else None)
        if reading.fault is not None:
            return None
        return _call(response, record.get("model"), body, found, reading, at, line)

    def in_form(self, fitting: Fitting, known: KnownBody, line: int | None) -> Call | None:
        """For a line that fits the form of such a record. Its body has messages, so it is none that was rendered."""
        form, at = fitting.form, None
        if fitting.time is not None:
            at = _decode(fitting.time)
            if (type(at) is not float or not EARLIEST <= at < LATEST_IN_SECONDS) and (at := unix_time(at)) is None:
                return None
        plan, usage = form.plan, None
        if plan is not None and known.dialect == form.dialect:
            usage = plan.usage(fitting.counts())
        if usage is None:
            return self._of_response(fitting, known, at, line)
        return Call(
            target="",
            dialect=form.wire,
            body=fitting.body,
            model=known.model or form.model,
            usage=usage,
            timing=None if at is None else Timing(at=at, sent_at_s=at),
            raw_usage=_decode(fitting.values["usage"]),
            line=line,
        )

    def _of_response(self, fitting: Fitting, known: KnownBody, at: float | None, line: int | None) -> Call | None:
        response = _decode(fitting.values["response"])
        found, reading = self._read_reply(response, None)
        if reading.fault is not None:
            return None
        body = Body((), fitting.body, known.model, known.dialect)
        call = _call(response, fitting.form.model, body, found, reading, at, line)
        if found is not None and call.dialect == found:
            fitting.form.learn(fitting, response, reading, found, known.dialect)
        return call


def model_of(record: dict[str, Any]) -> str | None:
    """The model that a plain record names beside its body."""
    return _text(record["response"].get("model")) or _text(record.get("model"))


def time_member_of(record: dict[str, Any]) -> str:
    """The member that the time of a plain record stands in; "" for none."""
    return next((name for name in TIME_MEMBERS if record.get(name) is not None), "")


def _time_member_alone(record: dict[str, Any], response: dict[str, Any]) -> str:
    """What `PlainCalls._times` says of a record."""
    times = [name for name in TIME_MEMBERS if name in record]
    if len(times) > 1 or not MORE_IN_RECORD.isdisjoint(record) or not MORE_IN_RESPONSE.isdisjoint(response):
        return ""
    return (*times, TIME_MEMBERS[0])[0]


def _call(
    response: dict[str, Any],
    model: Any,
    body: Body,
    wire: str | None,
    reading: Reading,
    at: float | None,
    line: int | None,
) -> Call:
    """`model` is the one that the record names beside body and response."""
    guessed = None if body.dialect is None else wire_named(body.dialect)
    return Call(
        target="",
        dialect=RENDERED if guessed == RENDERED else wire or guessed or "",
        body=body.data,
        model=_text(body.model) or _text(response.get("model")) or _text(model),
        usage=reading.usage,
        timing=None if at is None else Timing(at=at, sent_at_s=at),
        reply=reading.reply,
        raw_usage=reading.raw_usage,
        line=line,
    )


def _is_rendered(body: Body) -> bool:
    return body.dialect is not None and wire_named(body.dialect) == RENDERED


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
