"""The practice server as an ASGI application: model calls on the bare hot path, everything else as Starlette routes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from hitrate.caches.interface import PrefixCache
from hitrate.serve.practice.http import Message, ModelCalls, Receive, Send
from hitrate.serve.practice.metrics import CONTENT_TYPE, prometheus_text
from hitrate.serve.practice.model_lists import OWN_SPELLING, listed, model_list
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.service import Service
from hitrate.serve.practice.wire import Refused
from hitrate.serve.practice.wires import OWN_BASE_PATH, WireTable
from hitrate.tokens.interface import Tokenizer


class PracticeApp:
    """ASGI. `POST /reset` forgets caches and counts, `GET /state` and `GET /metrics` say what was done."""

    def __init__(self, options: PracticeOptions, tokenizer: Tokenizer, make_cache: Callable[[], PrefixCache]) -> None:
        self.service = Service(options, tokenizer, make_cache)
        self.model_calls = ModelCalls(self.service)
        vendor = self.service.vendor
        self._wires = WireTable(vendor)
        self._spelling = OWN_SPELLING if vendor is None else vendor.model_list
        routes = [
            Route("/v1/models", self._models),
            Route("/v1/models/{name:path}", self._model),
            Route("/health", self._health),
            Route("/metrics", self._metrics),
            Route("/state", self._state),
            Route("/reset", self._reset, methods=["POST"]),
        ]
        if vendor is not None:
            routes += self._vendor_routes(vendor.base_path)
        self._pages = Starlette(
            routes=routes, exception_handlers={HTTPException: self._http_error, Exception: self._own_error}
        )

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        found = self._wires.find(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is not None:
            await self.model_calls(found, scope, receive, send)
        else:
            await self._pages(scope, receive, send)

    def _vendor_routes(self, base: str) -> list[Route]:
        routes = []
        if base != OWN_BASE_PATH:
            routes += [Route(f"{base}/models", self._models), Route(f"{base}/models/{{name:path}}", self._model)]
        if self._spelling == "xai":
            # Prices are in a list of their own.
            routes.append(Route(f"{base}/language-models", self._language_models))
        if self._spelling == "gemini":
            from hitrate.serve.practice.gemini_objects import object_routes

            # The API's versions.
            routes += object_routes((base, OWN_BASE_PATH), self.service, self._wires.main)
        return routes

    async def _models(self, request: Request) -> Response:
        try:
            self._check_key(request)
        except Refused as refused:
            return self._error(refused)
        spelling = "plain" if self._spelling == "xai" else self._spelling
        return JSONResponse(model_list(spelling, self._options.models, self._context))

    async def _language_models(self, request: Request) -> Response:
        return JSONResponse({"models": [listed("xai", model, self._context) for model in self._options.models]})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        model = self._options.model(name)
        if model is None:
            return self._error(Refused(404, f"The model '{name}' does not exist", "model_not_found"))
        return JSONResponse(listed(self._spelling, model, self._context))

    @property
    def _options(self) -> PracticeOptions:
        return self.service.options

    @property
    def _context(self) -> int | None:
        limit = self.service.prompt_limit
        return None if limit is None else limit.tokens

    def _check_key(self, request: Request) -> None:
        if self.service.vendor is not None:
            self.service.check_key(self._wires.main, request.headers, request.query_params)

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _metrics(self, request: Request) -> Response:
        return PlainTextResponse(prometheus_text(self.service.engine.counts), media_type=CONTENT_TYPE)

    async def _state(self, request: Request) -> Response:
        options = msgspec.to_builtins(msgspec.structs.replace(self._options, api_key=None))
        state = {"calls": self.service.calls, "options": options, "replicas": self.service.engine.state()}
        return JSONResponse(state)

    async def _reset(self, request: Request) -> Response:
        self.service.reset()
        return JSONResponse({"status": "ok"})

    def _error(self, refused: Refused) -> Response:
        wire = self._wires.main
        headers = {name.decode(): value.decode() for name, value in wire.error_headers(refused)}
        return Response(wire.error(refused), refused.status, headers, media_type="application/json")

    async def _http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self._error(Refused(error.status_code, f"{request.method} {request.url.path}: {error.detail}"))

    async def _own_error(self, request: Request, error: Exception) -> Response:
        traceback.print_exception(error, file=sys.stderr)
        return self._error(Refused(500, "the practice server failed; its log says why", kind="server_error"))
