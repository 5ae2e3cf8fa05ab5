"""The live page over HTTP: pages, events, JSON and metrics under `/_hitrate/`. A visitor can change nothing here.

Prompts are shown, so only a browser that was sent to this machine by its own user may read: the Host header has to be
one that names this machine (another name that resolves to it is how a foreign page would get in), no other origin is
let in, and the content security policy lets a page load nothing but what is served here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hitrate.report.escape import escape_json
from hitrate.watch.feed import Feed, SessionView
from hitrate.watch.paths import BASE_PATH

OWN_HOSTS = ("localhost", "127.0.0.1", "::1", "[::1]")

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}

_STILL_HERE_S = 15.0
"""Without an event for so long a comment is sent, by which a connection that broke is noticed."""

_LEAST_S = 0.1
"""Between two events of one page: what happens meanwhile goes into one."""

_STATIC = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

MetricsText = Callable[[], str]


def make_app(feed: Feed, *, metrics: MetricsText | None = None, hosts: Sequence[str] = ()) -> Starlette:
    """`metrics` gives the text of `/metrics`, None where there is none. `hosts` are further names of this machine."""
    pages = _Pages(feed, metrics)
    routes = [
        Route("/", pages.live),
        Route("/events", pages.events),
        Route("/session/{identity:int}", pages.session),
        Route("/metrics", pages.metrics),
        Route("/api/state", pages.state),
        Route("/api/session/{identity:int}", pages.session_report),
        Route("/static/{name}", pages.static),
    ]
    return Starlette(
        routes=[Route(BASE_PATH, _to_page), Mount(BASE_PATH, routes=routes)],
        middleware=[
            Middleware(_SafeHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=[*OWN_HOSTS, *hosts], www_redirect=False),
        ],
        exception_handlers={HTTPException: _refuse},
    )


class _SafeHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sending)


async def _to_page(request: Request) -> Response:
    return RedirectResponse(BASE_PATH.rpartition("/")[2] + "/")  # relative: there may be more in front of the path


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Response(f"{error.detail}\n", error.status_code, media_type="text/plain; charset=utf-8")


class _Pages:
    def __init__(self, feed: Feed, metrics: MetricsText | None) -> None:
        self._feed = feed
        self._metrics = metrics

    async def live(self, request: Request) -> Response:
        from hitrate.watch.rendering import live_page

        self._feed.look()
        return _html(live_page(self._feed.recording, metrics=self._metrics is not None))

    async def session(self, request: Request) -> Response:
        from hitrate.watch.rendering import session_page

        return _html(session_page(self._found(request), self._feed.recording, metrics=self._metrics is not None))

    async def state(self, request: Request) -> Response:
        self._feed.look()
        return _json(self._feed.update())

    async def session_report(self, request: Request) -> Response:
        return _json(self._found(request).report)

    def _found(self, request: Request) -> SessionView:
        self._feed.look()
        identity: int = request.path_params["identity"]
        found = self._feed.session(identity)
        if found is None:
            raise HTTPException(404, f"session {identity} is not shown: it is none, not read yet, or an old one")
        return found

    async def metrics(self, request: Request) -> Response:
        from hitrate.record.prometheus import CONTENT_TYPE

        if self._metrics is None:
            raise HTTPException(404, "metrics are those of a recorder; this page shows what is stored")
        return Response(self._metrics(), headers={"content-type": CONTENT_TYPE})

    async def static(self, request: Request) -> Response:
        name: str = request.path_params["name"]
        media_type = _STATIC.get(name.rpartition(".")[2])
        file = _static_files().get(name)
        if media_type is None or file is None:
            raise HTTPException(404, "no such file")
        content = file.read_bytes()
        return Response(content, headers={"content-type": f"{media_type}; charset=utf-8", "cache-control": "no-cache"})

    async def events(self, request: Request) -> Response:
        since = self._known(request.headers.get("last-event-id", ""))
        return StreamingResponse(self._events(since), media_type="text/event-stream")

    def _known(self, event_id: str) -> int | None:
        """The revision that a page which connects again knows of this feed; None where it is none of its own."""
        epoch, _, revision = event_id.partition("-")
        return int(revision) if epoch == self._feed.epoch and revision.isdecimal() else None

    async def _events(self, since: int | None) -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        with self._feed.watching() as changed:
            while not self._feed.closed:
                changed.clear()
                update = self._feed.update(since)
                if update.revision != since:
                    since = update.revision
                    yield f"id: {self._feed.epoch}-{since}\ndata: ".encode() + _encoded(update) + b"\n\n"
                    await asyncio.sleep(_LEAST_S)
                try:
                    await asyncio.wait_for(changed.wait(), _STILL_HERE_S)
                except TimeoutError:
                    yield b": still here\n\n"


@cache
def _static_files() -> dict[str, Traversable]:
    """By name; the look that the reports have is `house.css`."""
    own = {file.name: file for file in (resources.files("hitrate.watch") / "static").iterdir()}
    return own | {"house.css": resources.files("hitrate.report") / "templates" / "style.css"}


def _html(text: str) -> Response:
    return Response(text, media_type="text/html; charset=utf-8")


def _json(value: Any) -> Response:
    return Response(_encoded(value), media_type="application/json")


def _encoded(value: Any) -> bytes:
    """Characters that cannot be seen are escaped; a lone surrogate, which UTF-8 cannot hold, too."""
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value)).encode()
    return escape_json(text).encode()
