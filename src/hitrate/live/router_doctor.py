"""Looks at what a router or gateway does to requests on their way to an engine, and the latency it adds.

Stand-in engines behind the router tell what arrived. Everything that a prefix cache or a routing policy goes by is
sent: session keys in headers and body, cache markers, tools in a given key order, text of every kind.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol
from uuid import uuid4

from hitrate.core.listings import Check, Diagnosis
from hitrate.core.model import Call
from hitrate.core.statistics import median, quantile
from hitrate.errors import TargetError, Unreachable
from hitrate.explain.passage import Passage, passage
from hitrate.live.client import Client
from hitrate.live.router_requests import (
    OTHER_HEADERS,
    SESSION_HEADERS,
    SESSION_MEMBERS,
    full_body,
    header_value,
    identity_in,
    small_body,
)

PAIRS = 30
"""Calls through the router and straight to the engine, in turn."""
SESSIONS = 8
CALLS_PER_SESSION = 3
GAP_MS = 150
MOST_CALLS = 2 * PAIRS + SESSIONS * CALLS_PER_SESSION + 4

_NAMES = (
    "reached",
    "prompt text",
    "tools",
    "cache markers",
    "session keys",
    "body",
    "headers",
    "same twice",
    "stream",
    "sessions",
    "latency",
)
_SLOW_MS = 20.0
_NAGLE_MS = range(38, 48)
"""Delayed acknowledgement, 40 ms on Linux, and a sender that waits for it."""

Outcome = Literal["ok", "warning", "failed", "skipped"]


class Arrival(Protocol):
    """A request as it reached a stand-in."""

    @property
    def worker(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def headers(self) -> Sequence[tuple[str, str]]: ...
    @property
    def body(self) -> bytes: ...


class RouterDoctor:
    """`through` leads to the router, `direct` to the first stand-in; `arrival` gives a request by its id once it came
    to one. `workers` is how many stand-ins there are."""

    def __init__(
        self,
        base_url: str,
        through: Client,
        direct: Client,
        arrival: Callable[[str], Arrival | None],
        *,
        workers: int,
        model: str,
    ) -> None:
        self._base_url = base_url
        self._through = through
        self._direct = direct
        self._arrival = arrival
        self._workers = workers
        self._model = model
        self._calls = 0
        self._checks: dict[str, Check] = {}

    async def examine(self) -> Diagnosis:
        """Never raises for what is wrong with the router."""
        reachable: bool | None = True
        try:
            await self._examine()
        except Unreachable as error:
            reachable = False
            self._note("reached", "failed", error.message)
        except TargetError as error:
            self._note("reached", "failed", error.message)
        for check in _NAMES:
            if check not in self._checks:
                self._note(check, "skipped", "not tried")
        return Diagnosis(
            target="router",
            base_url=self._base_url,
            model=self._model,
            reachable=reachable,
            calls=self._calls,
            checks=tuple(self._checks[check] for check in _NAMES),
        )

    def _note(self, name: str, outcome: Outcome, found: str, advice: str | None = None) -> None:
        self._checks[name] = Check(name=name, outcome=outcome, found=found, advice=advice)

    async def _examine(self) -> None:
        first, sent = await self._ask(self._through, "first", full=True)
        if first is None:
            return
        second, sent_again = await self._ask(self._through, "second", full=True)
        self._look_at_body(sent, first)
        self._look_at_headers(first)
        if second is not None:
            self._look_at_repetition(sent, first, sent_again, second)
        await self._look_at_stream()
        await self._look_at_sessions()
        await self._look_at_latency()

    async def _ask(self, client: Client, session: str, *, full: bool) -> tuple[Arrival | None, bytes]:
        identity = uuid4().hex[:12]
        body = full_body(self._model, identity) if full else small_body(self._model, identity, session, 0)
        call = await self._call(client, body, session)
        arrived = self._arrival(identity)
        if arrived is None and call.status is None:
            raise Unreachable(f"{client.address}: {call.error}")
        if arrived is None:
            answered = f"HTTP {call.status}: {call.error or 'answered'}"
            self._note(
                "reached",
                "failed",
                f"the router answered ({answered}) and no request came to the engine behind it",
                "see that its worker URL is the address given with --behind, and that it has found the worker healthy",
            )
        else:
            through = f"as POST {arrived.path}"
            answered = "" if call.error is None else f"; its answer did not come back whole: {call.error}"
            self._note(
                "reached", "ok" if call.error is None else "failed", f"requests reach the engine {through}{answered}"
            )
        return arrived, body

    async def _call(self, client: Client, body: bytes, session: str) -> Call:
        self._calls += 1
        headers = dict.fromkeys(SESSION_HEADERS, session) | dict.fromkeys(OTHER_HEADERS, header_value(session))
        return await client.call(body, headers=headers, label="router")

    def _look_at_body(self, sent: bytes, arrived: Arrival) -> None:
        try:
            value = json.loads(arrived.body)
        except ValueError as error:
            self._note("body", "failed", f"what arrives is not JSON: {error}")
            return
        found = passage(json.loads(sent), value, same_bytes=sent == arrived.body)
        self._look_at_text(found)
        self._look_at_tools(found)
        markers = [pointer for pointer in found.dropped if pointer.endswith("/cache_control")]
        if markers:
            self._note(
                "cache markers",
                "failed",
                f"cache_control is dropped at {', '.join(markers)}",
                "engines and vendors that cache by marker store nothing behind this router",
            )
        else:
            self._note("cache markers", "ok", "cache_control arrives")
        self._look_at_session_keys(found, arrived)
        self._look_at_the_rest(found)

    def _look_at_text(self, found: Passage) -> None:
        touched = [
            pointer
            for pointer in (*found.changed, *found.dropped)
            if pointer.startswith("/messages") and not pointer.endswith("/cache_control")
        ]
        nulls = [pointer for pointer in touched if pointer.endswith("/content") and pointer in found.dropped]
        others = [pointer for pointer in touched if pointer not in nulls]
        if others:
            told = f"the conversation is not what was sent at {_few(others)}"
            self._note("prompt text", "failed", told, "the engine caches another prompt than the one you see")
        elif nulls:
            told = f"text arrives as sent; content: null is left out at {_few(nulls)}, which templates render alike"
            self._note("prompt text", "ok", told)
        else:
            self._note("prompt text", "ok", "every message arrives as sent: spaces, line ends, emoji, combining marks")

    def _look_at_tools(self, found: Passage) -> None:
        if not found.touches("/tools"):
            self._note("tools", "ok", "definitions arrive in the order of tools and keys they were sent in")
            return
        gone = [p for p in (*found.dropped, *found.changed) if p.startswith("/tools")]
        if gone:
            self._note(
                "tools", "failed", f"definitions are changed at {_few(gone)}", "the prompt begins with other text"
            )
            return
        places = [p for p in (*found.reordered, *found.added) if p.startswith("/tools")]
        told = f"definitions mean the same, written otherwise at {_few(places)}"
        self._note("tools", "warning", told, "harmless as long as every request takes the same way through")

    def _look_at_session_keys(self, found: Passage, arrived: Arrival) -> None:
        names = {name.lower() for name, _ in arrived.headers}
        kept = [name for name in SESSION_HEADERS if name in names]
        kept += [f"body {name}" for name in SESSION_MEMBERS if f"/{name}" not in (*found.dropped, *found.changed)]
        gone = [name for name in SESSION_HEADERS if name not in names]
        gone += [f"body {name}" for name in SESSION_MEMBERS if f"/{name}" in (*found.dropped, *found.changed)]
        told = f"arrive: {', '.join(kept) or 'none'}" + (f"; dropped: {', '.join(gone)}" if gone else "")
        if not kept:
            advice = "nothing behind this router can tell sessions apart: affinity has to be the router's own"
            self._note("session keys", "failed", told, advice)
        else:
            self._note("session keys", "warning" if gone else "ok", told, f"use {kept[0]}" if gone else None)

    def _look_at_the_rest(self, found: Passage) -> None:
        if found.same_bytes:
            self._note("body", "ok", "arrives byte for byte")
            return
        looked_at = tuple(f"/{name}" for name in SESSION_MEMBERS)
        dropped = [p for p in found.dropped if not p.startswith(("/messages", "/tools")) and p not in looked_at]
        changed = [p for p in found.changed if not p.startswith(("/messages", "/tools")) and p not in looked_at]
        parts = [
            "written anew"
            if found.reordered == ()
            else f"written anew, keys in another order at {_few(found.reordered)}",
            f"dropped {_few(dropped)}" if dropped else "",
            f"changed {_few(changed)}" if changed else "",
            f"renamed {', '.join(f'{old} to {new}' for old, new in found.renamed)}" if found.renamed else "",
            f"added {_few(found.added)}" if found.added else "",
        ]
        told = "; ".join(part for part in parts if part)
        self._note("body", "warning" if dropped or changed else "ok", told)

    def _look_at_headers(self, arrived: Arrival) -> None:
        there = {name.lower(): value for name, value in arrived.headers}
        gone = [name for name in OTHER_HEADERS if name not in there]
        changed = [name for name in OTHER_HEADERS if name in there and there[name] != header_value("first")]
        if not gone and not changed:
            self._note("headers", "ok", f"{', '.join(OTHER_HEADERS)} arrive")
            return
        told = "; ".join(
            part
            for part in (
                f"dropped: {', '.join(gone)}" if gone else "",
                f"given another value: {', '.join(changed)}" if changed else "",
            )
            if part
        )
        self._note("headers", "warning", told)

    def _look_at_repetition(self, sent: bytes, first: Arrival, sent_again: bytes, second: Arrival) -> None:
        """The two requests differ in their ids alone, all of one length."""
        one = first.body.replace(identity_in(sent), b"")
        other = second.body.replace(identity_in(sent_again), b"")
        if one == other:
            self._note("same twice", "ok", "the same request arrives the same, byte for byte, the second time")
            return
        try:
            apart = passage(json.loads(one), json.loads(other))
        except ValueError:
            apart = Passage(False)
        places = (*apart.changed, *apart.dropped, *apart.added, *apart.reordered)
        in_prompt = [place for place in places if place.startswith(("/messages", "/tools"))]
        told = f"the same request arrives otherwise the second time, at {_few(places) or 'white space'}"
        if in_prompt:
            self._note("same twice", "failed", told, "no prefix stays the same behind this router")
        else:
            self._note("same twice", "warning", told)

    async def _look_at_stream(self) -> None:
        identity = uuid4().hex[:12]
        call = await self._call(self._through, small_body(self._model, identity, "stream", GAP_MS), "stream")
        timing = call.timing
        if timing is None or timing.ttft_s is None or timing.total_s is None:
            self._note("stream", "failed", f"no stream came back: {call.error or 'no token in it'}")
            return
        rest_ms = 1000 * (timing.total_s - timing.ttft_s)
        if rest_ms < GAP_MS / 2:
            told = f"the first token came {rest_ms:.0f} ms before the end, the engine sent it {GAP_MS} ms before"
            self._note("stream", "failed", told, "the router holds replies back: switch its response buffering off")
        else:
            self._note(
                "stream", "ok", f"tokens pass as they come ({rest_ms:.0f} ms of {GAP_MS} between first and last)"
            )

    async def _look_at_sessions(self) -> None:
        if self._workers < 2:
            self._note("sessions", "skipped", "needs two workers: give --behind twice")
            return
        at: dict[str, list[int]] = {}
        for _ in range(CALLS_PER_SESSION):
            for number in range(SESSIONS):
                session = f"hitrate-session-{number}"
                identity = uuid4().hex[:12]
                await self._call(self._through, small_body(self._model, identity, session, 0), session)
                arrived = self._arrival(identity)
                if arrived is not None:
                    at.setdefault(session, []).append(arrived.worker)
        self._note("sessions", *_spread(at, self._workers))

    async def _look_at_latency(self) -> None:
        through: list[float] = []
        direct: list[float] = []
        for number in range(PAIRS):
            for client, times in ((self._through, through), (self._direct, direct)):
                identity = uuid4().hex[:12]
                call = await self._call(client, small_body(self._model, identity, f"pair {number}", 0), "latency")
                if call.timing is not None and call.timing.ttft_s is not None:
                    times.append(1000 * call.timing.ttft_s)
            await asyncio.sleep(0)
        if not through or not direct:
            self._note("latency", "failed", "not measured: no reply had a first token")
            return
        added = median(through) - median(direct)
        told = (
            f"adds {added:.1f} ms to the first token (median of {len(through)}: {median(through):.1f} ms through it, "
            f"{median(direct):.1f} ms without; p95 {quantile(through, 0.95):.1f} and {quantile(direct, 0.95):.1f})"
        )
        if round(added) in _NAGLE_MS:
            advice = "40 ms is a delayed acknowledgement: the router does not set TCP_NODELAY towards its clients"
            self._note("latency", "failed", told, advice)
        elif added > _SLOW_MS:
            self._note(
                "latency", "warning", told, "a warm prefix answers in some tens of milliseconds: this is as much again"
            )
        else:
            self._note("latency", "ok", told)


def _spread(at: Mapping[str, Sequence[int]], workers: int) -> tuple[Outcome, str, str | None]:
    """Whether sessions stay where they were, and whether they are spread at all."""
    moved = [session for session, places in at.items() if len(set(places)) > 1]
    if not at:
        return "failed", "no request reached a worker", None
    if moved:
        told = f"{len(moved)} of {len(at)} sessions changed worker within {CALLS_PER_SESSION} calls"
        return "failed", told, "a session's history lies at another worker: choose a policy with affinity"
    counts = [sum(places[0] == worker for places in at.values()) for worker in range(workers)]
    told = f"each of {len(at)} sessions stays at its worker; {' : '.join(map(str, counts))} sessions a worker"
    if max(counts) == len(at):
        return (
            "warning",
            f"{told}: all at one, one after another",
            "below a load it has to reach, a router may do so by design",
        )
    return "ok", told, None


def _few(pointers: Sequence[str], most: int = 6) -> str:
    more = len(pointers) - most
    return ", ".join(pointer or "/" for pointer in pointers[:most]) + (f" and {more} more" if more > 0 else "")
