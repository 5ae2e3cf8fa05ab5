"""Real traffic recorded: HTTP exchanges in, `Call`s in the store out. Nothing here opens a network connection.

For programs that call models, without a proxy:

    client = hitrate.record.openai(OpenAI())

The client is changed in place and returned; `hitrate explain RUN` shows what it did. Nothing is imported before it is
asked for, and a client's own package never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import os

    from hitrate.record.in_process import Recording

__all__ = ["anthropic", "httpx", "metrics", "openai", "recording", "transport"]

_Client = TypeVar("_Client")


def openai(client: _Client, *, recording: Recording | None = None) -> _Client:
    """Record what an `OpenAI`, `AsyncOpenAI` or `AzureOpenAI` does. HitrateError for anything else.

    Into `recording`; without one, into the one that is open at the time of a call, or else into one of the process,
    which begins with the first call, in the usual store, and ends with the process.
    """
    from hitrate.record.hooks import hook_vendor

    return hook_vendor("openai", client, recording)


def anthropic(client: _Client, *, recording: Recording | None = None) -> _Client:
    """As `openai`, for an `Anthropic` or `AsyncAnthropic`."""
    from hitrate.record.hooks import hook_vendor

    return hook_vendor("anthropic", client, recording)


def httpx(client: _Client, *, recording: Recording | None = None) -> _Client:
    """As `openai`, for a `Client` or `AsyncClient` of httpx or httpx2. Calls of models are recorded, nothing else."""
    from hitrate.record.hooks import hook_httpx

    return hook_httpx(client, recording)


def transport(inner: _Client, *, recording: Recording | None = None) -> _Client:
    """A transport for a client of httpx or httpx2 that records what goes through `inner`."""
    from hitrate.record.hooks import wrap_transport

    return wrap_transport(inner, recording)


def recording(
    store: str | os.PathLike[str] | None = None,
    *,
    content: bool = True,
    name: str | None = None,
    otlp: str | None = None,
    otlp_content: bool = False,
) -> Recording:
    """Open a recording, for use in a `with` statement or until its `close()`. StoreUnavailable where it cannot begin.

    `store` is a file, the usual one where there is none. `content` False keeps keyed hashes and lengths in place of
    what was said. `name` stands in the list of runs in place of who was called. `otlp` is the address of a collector
    that gets OpenTelemetry's spans and metrics as well, with prompts and replies if `otlp_content` says so; it needs
    the extra `otel`.
    """
    from hitrate.record.in_process import Recording, opened

    if otlp is None:
        return opened(Recording(store, content=content, name=name))
    from hitrate.record.otlp import OtlpExport, check_otlp, load

    check_otlp(otlp)
    load()
    wanted = content and otlp_content
    listeners = lambda: (OtlpExport(otlp, content=wanted),)  # noqa: E731
    return opened(Recording(store, content=content, name=name, listeners=listeners))


def metrics() -> str:
    """What the open recording has taken in since it began, as Prometheus text; of several, the one opened last."""
    from hitrate.record.in_process import current
    from hitrate.record.prometheus import Counters

    found = current(make=False)
    return Counters().text() if found is None else found.metrics()
