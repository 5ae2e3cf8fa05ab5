"""Gemini's cachedContents: https://ai.google.dev/api/caching. Made, read, listed, extended and deleted by name."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hitrate.serve.practice.cached_objects import CachedObject
from hitrate.serve.practice.reading import decode_object, prompt_of, text
from hitrate.serve.practice.service import Service
from hitrate.serve.practice.wire import Refused, Wire
from hitrate.serve.practice.wire_gemini import member
from hitrate.targets.dialects.gemini_prompt import canonical

Handler = Callable[[Request], Awaitable[Response]]


def object_routes(bases: Iterable[str], service: Service, wire: Wire) -> list[Route]:
    handlers = _Handlers(service, wire)
    routes = []
    for base in bases:
        every, one = f"{base}/cachedContents", f"{base}/cachedContents/{{id}}"
        routes += [
            Route(every, handlers.refusing(handlers.create), methods=["POST"]),
            Route(every, handlers.refusing(handlers.list)),
            Route(one, handlers.refusing(handlers.get)),
            Route(one, handlers.refusing(handlers.update), methods=["PATCH"]),
            Route(one, handlers.refusing(handlers.delete), methods=["DELETE"]),
        ]
    return routes


class _Handlers:
    def __init__(self, service: Service, wire: Wire) -> None:
        self._service = service
        self._wire = wire

    def refusing(self, handle: Handler) -> Handler:
        """`handle` with the key checked first, and refusals answered in the wire's shape."""

        async def answer(request: Request) -> Response:
            try:
                self._service.check_key(self._wire, request.headers, request.query_params)
                return await handle(request)
            except Refused as refused:
                return Response(self._wire.error(refused), refused.status, media_type="application/json")

        return answer

    async def create(self, request: Request) -> Response:
        sent = decode_object(await request.body())
        model = text(sent, "model").removeprefix("models/")
        self._service.check_model(model)
        # An object may hold a system instruction or tools alone.
        prompt = prompt_of(canonical, msgspec.json.encode({"contents": [], **sent}))
        made = self._service.objects.create(
            model,
            self._service.object_tokens(prompt),
            ttl_s=_lifetime(sent),
            display_name=member(sent, "displayName"),
            now=time.monotonic(),
        )
        return JSONResponse(_shown(made))

    async def list(self, request: Request) -> Response:
        return JSONResponse({"cachedContents": [_shown(one) for one in self._service.objects.living(time.monotonic())]})

    async def get(self, request: Request) -> Response:
        return JSONResponse(_shown(self._service.objects.get(_name(request), time.monotonic())))

    async def update(self, request: Request) -> Response:
        sent = decode_object(await request.body())
        found = self._service.objects.extend(_name(request), ttl_s=_lifetime(sent), now=time.monotonic())
        return JSONResponse(_shown(found))

    async def delete(self, request: Request) -> Response:
        self._service.objects.delete(_name(request), time.monotonic())
        return JSONResponse({})


def _name(request: Request) -> str:
    return f"cachedContents/{request.path_params['id']}"


def _lifetime(sent: dict[str, Any]) -> float | None:
    """Seconds from `ttl` ("300s") or `expireTime`, None for the default."""
    ttl, expires = sent.get("ttl"), member(sent, "expireTime")
    try:
        if isinstance(ttl, str):
            return float(ttl.removesuffix("s"))
        if isinstance(expires, str):
            return datetime.fromisoformat(expires).timestamp() - time.time()
    except ValueError:
        raise Refused(400, f"a lifetime of {ttl or expires!r}; expected ttl as in '300s', or expireTime") from None
    return None


def _shown(one: CachedObject) -> dict[str, Any]:
    shown = {
        "name": one.name,
        "model": f"models/{one.model}",
        "createTime": _timestamp(one.created_at),
        "updateTime": _timestamp(one.updated_at),
        "expireTime": _timestamp(one.expires_at),
        "usageMetadata": {"totalTokenCount": len(one.tokens)},
    }
    return shown | ({"displayName": one.display_name} if one.display_name else {})


def _timestamp(monotonic_s: float) -> str:
    at = time.time() + monotonic_s - time.monotonic()
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
