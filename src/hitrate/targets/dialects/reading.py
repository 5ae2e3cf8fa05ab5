"""What every reader of streams does alike: decode the events, note tokens and faults, and make the `Reading`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hitrate.core.model import Reading, Reply, StreamEvent, Usage
from hitrate.targets.dialects.wire_json import error_text, parse_object


class Progress:
    """Notes what the events of one reply brought. For a reply in one body the index is None and no token is noted."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.token_events: list[int] = []
        self.first_content: int | None = None
        self.failed = False

    def token(self, index: int | None, *, visible: bool) -> None:
        """Event number `index` carried generated tokens; `visible`: text for the user."""
        if index is None:
            return
        if not self.token_events or self.token_events[-1] != index:
            self.token_events.append(index)
        if visible and self.first_content is None:
            self.first_content = index

    def fail(self, text: str) -> None:
        """The server gave up: whatever else came, the reply is not whole."""
        self.failed = True
        self.faults.append(text)

    def reading(
        self, reply: Reply | None, usage: Usage, raw_usage: dict[str, Any] | None, *, complete: bool
    ) -> Reading:
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        return Reading(
            reply=reply,
            usage=usage,
            raw_usage=raw_usage,
            first_token=self.token_events[0] if self.token_events else None,
            first_content=self.first_content,
            token_events=tuple(self.token_events),
            complete=complete and not self.failed,
            fault=self.faults[0] + more if self.faults else None,
        )


def take_body(body: bytes, progress: Progress, take: Callable[[dict[str, Any]], None]) -> bool:
    """Hand the object in `body` to `take`. False, with the reason in `progress`, when it is none or an error."""
    answer, fault = parse_object(body)
    if answer is None:
        progress.fail(f"the reply is {fault}")
        return False
    error = error_text(answer)
    if error is not None:
        progress.fail(f"the server answered with an error: {error}")
        return False
    try:
        take(answer)
    except RecursionError:
        progress.fail("the reply is nested too deeply to be read")
        return False
    return True


def take_events(events: Sequence[StreamEvent], progress: Progress, take: Callable[[dict[str, Any], int], None]) -> bool:
    """Hand every object of a stream to `take` with its index. Whether the stream said [DONE]."""
    ended = False
    for index, event in enumerate(events):
        data = event.data.strip()
        if not data:
            continue
        if data == b"[DONE]":
            ended = True
            continue
        chunk, fault = parse_object(data)
        if chunk is None:
            progress.faults.append(f"event {index + 1} is {fault}")
            continue
        error = error_text(chunk)
        if error is not None:
            progress.fail(f"event {index + 1}: the server sent an error after status 200: {error}")
        try:
            take(chunk, index)
        except RecursionError:
            progress.faults.append(f"event {index + 1} is nested too deeply to be read")
    return ended
