"""Files of batch APIs, JSONL: requests (`custom_id`, `method`, `url`, `body`), results (`custom_id`, `response.body`)
(https://platform.openai.com/docs/guides/batch), also of the vendors and engines that took the format over; and
Anthropic's (`custom_id`, `params`; `custom_id`, `result.message`:
https://docs.anthropic.com/en/docs/build-with-claude/batch-processing).

Results hold usage and no request. Both together tell everything: `cat input.jsonl output.jsonl | hitrate explain -`
joins them by `custom_id`, in whichever order, and a file alone is read for what it has. A batch is worked off in no
certain order; calls come in the order of the requests. They are billed at the batch price.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from msgspec import Struct

from hitrate.core.records import Skipped
from hitrate.logs.archive import BodyArchive
from hitrate.logs.interface import Item, Repeated, ReplyReader
from hitrate.logs.json_values import body_of
from hitrate.logs.lines import Line, first_objects, json_lines
from hitrate.logs.own_counts import count
from hitrate.logs.providers import wire_of_url
from hitrate.logs.shapes import kind
from hitrate.logs.told import LeftOut, Told, calls_told, text


class _Place(Struct):
    """Where the two halves of a call stand in the archive, each with its line."""

    request: tuple[int, int] | None = None
    result: tuple[int, int] | None = None


class OpenAiBatch:
    name = "openai-batch"
    about = "requests, results or both of a batch API (JSONL)"

    def matches(self, head: bytes, path: str) -> bool:
        return any(
            "custom_id" in value and any(name in value for name in ("body", "params", "response", "result"))
            for value in first_objects(head)
        )

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        """Memory grows by an id a call; the bodies wait in a temporary file for their other half."""
        with BodyArchive() as halves:
            places: dict[str, _Place] = {}
            left_out = LeftOut()
            for line in json_lines(stream):
                if isinstance(line, Skipped):
                    yield line
                else:
                    yield from line.remarks
                    yield from _keep(line, halves, places, left_out)
            asked = any(place.request is not None for place in places.values())
            answered = any(place.result is not None for place in places.values())
            for place in sorted(places.values(), key=_in_order):
                if asked and answered and place.result is None and place.request is not None:
                    left_out.add(place.request[1], "requests without a result in the file are read without usage")
                yield from _calls(place, halves, read_reply)
            yield from left_out.remarks()


def _in_order(place: _Place) -> tuple[bool, int]:
    """By request; results without one stand behind, since nothing says where they belong."""
    return place.request is None, place.request[1] if place.request is not None else 0


def _keep(line: Line, halves: BodyArchive, places: dict[str, _Place], left_out: LeftOut) -> Iterator[Item]:
    value = line.value
    if not isinstance(value, dict) or not (custom_id := text(value.get("custom_id"))):
        yield Skipped(line=line.number, reason=f"{kind(value)} without custom_id, expected a line of a batch")
        return
    is_request = isinstance(value.get("body"), dict) or isinstance(value.get("params"), dict)
    if is_request and (url := text(value.get("url"))) and wire_of_url(url) is None:
        left_out.add(line.number, f"requests to {url[:60]}, which generate nothing")
        return
    place = places.setdefault(custom_id, _Place())
    if (place.request if is_request else place.result) is not None:
        yield Repeated()
        return
    kept = halves.append(line.data), line.number
    if is_request:
        place.request = kept
    else:
        place.result = kept


def _calls(place: _Place, halves: BodyArchive, read_reply: ReplyReader) -> Iterator[Item]:
    request = {} if place.request is None else _read(halves, place.request)
    result = {} if place.result is None else _read(halves, place.result)
    body, data = body_of(request.get("body", request.get("params")))
    outcome = _object(result.get("result"))
    answer = _object(result.get("response"))
    response = _object(answer.get("body")) or _object(outcome.get("message"))
    status = count(answer.get("status_code")) or None
    wire = wire_of_url(text(request.get("url")))
    if wire is None and ("params" in request or "result" in result):
        wire = "anthropic-messages"
    told = Told(
        request=body,
        body=data,
        response={**response, "service_tier": "batch"} if response else None,
        wire=wire,
        status=status,
        error=_error(result, outcome, response, status),
    )
    lines = [half[1] for half in (place.request, place.result) if half is not None]
    yield from calls_told(told, read_reply, lines[0])


def _error(result: dict[str, Any], outcome: dict[str, Any], response: dict[str, Any], status: int | None) -> str | None:
    if isinstance(error := result.get("error"), dict):
        return text(error.get("message")) or text(error.get("code")) or "the request failed"
    if outcome and outcome.get("type") != "succeeded":
        return f"the request {text(outcome.get('type')) or 'failed'}"
    return f"status {status}" if status is not None and status >= 400 and "error" not in response else None


def _read(halves: BodyArchive, place: tuple[int, int]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(halves[place[0]])
    return found


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
