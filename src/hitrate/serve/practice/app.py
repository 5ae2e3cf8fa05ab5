"""The practice server as an ASGI application: model calls on the bare hot path, everything else as Starlette routes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from hitrate.caches.interface import PrefixCache
from hitrate.serve.practice.http import Message, ModelCalls, Receive, Send
from hitrate.serve.practice.metrics import CONTENT_TYPE, prometheus_text
from hitrate.serve.practice.options import PracticeModel, PracticeOptions
from hitrate.serve.practice.service import Service
from hitrate.serve.practice.wire import Refused, Wire
from hitrate.serve.practice.wire_openai_chat import WIRE
from hitrate.tokens.interface import Tokenizer

WIRES: tuple[Wire, ...] = (WIRE,)


class PracticeApp:
    """ASGI. `POST /reset` forgets caches and counts, `GET /state` and `GET /metrics` say what was done."""

    def __init__(self, options: PracticeOptions, tokenizer: Tokenizer, make_cache: Callable[[], PrefixCache]) -> None:
        self.service = Service(options, tokenizer, make_cache)
        self.model_calls = ModelCalls(self.service)
        self._wires = {wire.path: wire for wire in WIRES}
        self._pages = Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/v1/models/{name:path}", self._model),
                Route("/health", self._health),
                Route("/metrics", self._metrics),
                Route("/state", self._state),
                Route("/reset", self._reset, methods=["POST"]),
            ],
            exception_handlers={HTTPException: _http_error, Exception: _own_error},
        )

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        wire = self._wires.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if wire is not None:
            await self.model_calls(wire, scope, receive, send)
        else:
            await self._pages(scope, receive, send)

    async def _models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._listed(model) for model in self.service.options.models]})

    async def _model(self, request: Request) -> Response:
        model = self.service.options.model(request.path_params["name"])
        if model is None:
            return _error(Refused(404, f"The model '{request.path_params['name']}' does not exist", "model_not_found"))
        return JSONResponse(self._listed(model))

    def _listed(self, model: PracticeModel) -> dict[str, Any]:
        """A model as Crusoe lists it: prices in USD per token, as decimal text, cache reads in the plural."""
        prices = {
            "prompt": model.input_usd_per_mtok,
            "completion": model.output_usd_per_mtok,
            "input_cache_reads": model.cached_usd_per_mtok,
            "input_cache_writes": model.write_usd_per_mtok,
        }
        listed: dict[str, Any] = {"id": model.name, "object": "model", "created": 0, "owned_by": "hitrate"}
        if self.service.prompt_limit is not None:
            listed["context_length"] = self.service.prompt_limit.tokens
        listed["pricing"] = {name: _per_token(price) for name, price in prices.items() if price is not None}
        return listed

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _metrics(self, request: Request) -> Response:
        return PlainTextResponse(prometheus_text(self.service.engine.counts), media_type=CONTENT_TYPE)

    async def _state(self, request: Request) -> Response:
        options = msgspec.to_builtins(msgspec.structs.replace(self.service.options, api_key=None))
        state = {"calls": self.service.calls, "options": options, "replicas": self.service.engine.state()}
        return JSONResponse(state)

    async def _reset(self, request: Request) -> Response:
        self.service.reset()
        return JSONResponse({"status": "ok"})


def _per_token(usd_per_mtok: float) -> str:
    return f"{(Decimal(str(usd_per_mtok)) / 1_000_000).normalize():f}"


def _error(refused: Refused) -> Response:
    return Response(WIRE.error(refused), status_code=refused.status, media_type="application/json")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(Refused(error.status_code, f"{request.method} {request.url.path}: {error.detail}"))


async def _own_error(request: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    return _error(Refused(500, "the practice server failed; its log says why", kind="server_error"))
