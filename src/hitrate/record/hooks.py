"""Puts a recording transport into clients of httpx and httpx2, and into those of vendors that are built on them."""

from __future__ import annotations

import codecs
from functools import cache
from typing import Any, TypeVar

from hitrate.errors import HitrateError
from hitrate.record.in_process import Recording
from hitrate.record.transports import wrapped
from hitrate.targets.dialects import dialect
from hitrate.targets.dialects import names as dialect_names

Client = TypeVar("Client")

_ANOTHER_WAY = "give the client a transport of hitrate: httpx.Client(transport=hitrate.record.transport(...))"


def hook_vendor(vendor: str, client: Client, recording: Recording | None) -> Client:
    """`client` is one of that vendor's package, sync or async; it is changed, and returned."""
    if not any(one.__module__.partition(".")[0] == vendor for one in type(client).__mro__):
        raise HitrateError(
            f"hitrate.record.{vendor} takes a client of the package {vendor}, not {_named(client)}",
            hint=f"for example: client = hitrate.record.{vendor}({vendor}.{_CLASSES[vendor]}())",
        )
    inside = getattr(client, "_client", None)
    if not _is_http_client(inside):
        raise HitrateError(
            f"hitrate.record.{vendor} finds no HTTP client of httpx's kind in {_named(client)}", hint=_ANOTHER_WAY
        )
    _hook(inside, recording)
    return client


def hook_httpx(client: Client, recording: Recording | None) -> Client:
    if not _is_http_client(client):
        raise HitrateError(
            f"hitrate.record.httpx takes a Client or AsyncClient of httpx or httpx2, not {_named(client)}",
            hint=_ANOTHER_WAY,
        )
    _hook(client, recording)
    return client


def wrap_transport(transport: Client, recording: Recording | None) -> Client:
    if not (hasattr(transport, "handle_request") or hasattr(transport, "handle_async_request")):
        raise HitrateError(f"hitrate.record.transport takes a transport of httpx's kind, not {_named(transport)}")
    _prepare()
    made: Client = wrapped(transport, recording)
    return made


_CLASSES = {"openai": "OpenAI", "anthropic": "Anthropic"}


def _is_http_client(client: Any) -> bool:
    mounts, transport = getattr(client, "_mounts", None), getattr(client, "_transport", None)
    return isinstance(mounts, dict) and any(
        hasattr(transport, verb) for verb in ("handle_request", "handle_async_request")
    )


@cache
def _prepare() -> None:
    """Import now what the recording's thread needs later: a process that is forked off while a thread imports is left
    with half of a module."""
    import importlib.readers  # noqa: F401  reads the store's schema

    codecs.lookup("ascii")
    for name in dialect_names():
        dialect(name)


def _hook(client: Any, recording: Recording | None) -> None:
    _prepare()
    client._transport = wrapped(client._transport, recording)
    client._mounts = {
        pattern: None if transport is None else wrapped(transport, recording)
        for pattern, transport in client._mounts.items()
    }


def _named(thing: Any) -> str:
    kind = thing if isinstance(thing, type) else type(thing)
    return f"the class {kind.__name__}" if isinstance(thing, type) else f"{kind.__module__}.{kind.__name__}"
