"""A transport of httpx's kind around another one: what passes is recorded, and is what would pass without it.

It works by shape, so httpx, httpx2 and what is built on either are served alike, and none of them is imported here.
httpx wants streams to be of its own classes: those around them are made from the classes that they have.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import lru_cache
from typing import Any

from hitrate.record.in_process import Recording, current
from hitrate.record.under_way import UnderWay, begin

_SYNC, _ASYNC = "SyncByteStream", "AsyncByteStream"


class _RecordingTransport:
    """`recording` None: whichever is open when a call is made."""

    def __init__(self, inner: Any, recording: Recording | None) -> None:
        self.inner = inner
        self.recording = recording

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def __repr__(self) -> str:
        return f"<recorded {self.inner!r}>"

    def handle_request(self, request: Any) -> Any:
        under_way = self._begin(request)
        if under_way is None:
            return self.inner.handle_request(request)
        with _copied(request, under_way, _traced(request, under_way), _SentStream):
            try:
                response = self.inner.handle_request(request)
            except BaseException as error:
                under_way.failed(error)
                raise
        _copy_response(response, under_way, _ReadStream, _SYNC)
        return response

    async def handle_async_request(self, request: Any) -> Any:
        under_way = self._begin(request)
        if under_way is None:
            return await self.inner.handle_async_request(request)
        with _copied(request, under_way, _traced_async(request, under_way), _SentAsyncStream):
            try:
                response = await self.inner.handle_async_request(request)
            except BaseException as error:
                under_way.failed(error)
                raise
        _copy_response(response, under_way, _ReadAsyncStream, _ASYNC)
        return response

    def close(self) -> None:
        self.inner.close()

    async def aclose(self) -> None:
        await self.inner.aclose()

    def __enter__(self) -> Any:
        self.inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.inner.__exit__(*error)

    async def __aenter__(self) -> Any:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.inner.__aexit__(*error)

    def _begin(self, request: Any) -> UnderWay | None:
        recording = self.recording or current()
        return None if recording is None or recording.closed else begin(recording, request)


def wrapped(inner: Any, recording: Recording | None) -> Any:
    """A recording transport around `inner`; one that is such already gets another recording."""
    if isinstance(inner, _RecordingTransport):
        inner.recording = recording
        return inner
    bases = [base for base in type(inner).__mro__ if base.__name__ in ("BaseTransport", "AsyncBaseTransport")]
    return _class_over(_RecordingTransport, *bases)(inner, recording)


@lru_cache(maxsize=64)
def _class_over(own: type, *bases: type) -> type:
    return type(own.__name__.lstrip("_"), (own, *bases), {"__module__": __name__})


@contextlib.contextmanager
def _copied(request: Any, under_way: UnderWay, trace: Callable[..., Any], copying: type) -> Iterator[None]:
    """The request gives a copy of its body while it is sent, and then is as it was."""
    extensions, stream = request.extensions, request.stream
    request.extensions = {**extensions, "trace": trace}
    try:
        under_way.request_bytes(request.content)
    except Exception:  # not read: it goes out as it is made
        base = _stream_base(stream, _ASYNC if copying is _SentAsyncStream else _SYNC)
        if base is not None:
            request.stream = _class_over(copying, base)(stream, under_way)
    try:
        yield
    finally:
        request.extensions, request.stream = extensions, stream


def _copy_response(response: Any, under_way: UnderWay, copying: type, name: str) -> None:
    under_way.answered(response.status_code, response.headers.raw)
    stream = response.stream
    base = _stream_base(stream, name)
    if hasattr(response, "_content") or base is None:  # made whole, by a transport that has no connection
        with contextlib.suppress(Exception):
            under_way.response_bytes(response.content)
        under_way.ended()
    else:
        response.stream = _class_over(copying, base)(stream, under_way)


def _stream_base(stream: Any, name: str) -> type | None:
    return next((base for base in type(stream).__mro__ if base.__name__ == name), None)


def _traced(request: Any, under_way: UnderWay) -> Callable[[str, Any], Any]:
    own = request.extensions.get("trace")

    def trace(event: str, info: Any) -> Any:
        under_way.traced(event)
        return None if own is None else own(event, info)

    return trace


def _traced_async(request: Any, under_way: UnderWay) -> Callable[[str, Any], Any]:
    own = request.extensions.get("trace")

    async def trace(event: str, info: Any) -> None:
        under_way.traced(event)
        if own is not None:
            told = own(event, info)
            if inspect.isawaitable(told):
                await told

    return trace


class _Copied:
    """A stream with a copy on its way. It may be gone through in several goes, as clients do that drain the rest."""

    def __init__(self, inner: Any, under_way: UnderWay) -> None:
        self._inner = inner
        self._under_way = under_way

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_inner"], name)


class _SentStream(_Copied):
    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            self._under_way.request_bytes(chunk)
            yield chunk

    def close(self) -> None:
        self._inner.close()


class _SentAsyncStream(_Copied):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._under_way.request_bytes(chunk)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _ReadStream(_Copied):
    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                self._under_way.response_bytes(chunk)
                yield chunk
        except GeneratorExit:  # the rest may be read by another go; `close` comes in any case
            raise
        except BaseException as error:
            self._under_way.failed(error)
            raise
        self._under_way.ended()

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            self._under_way.closed()


class _ReadAsyncStream(_Copied):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._under_way.response_bytes(chunk)
                yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._under_way.failed(error)
            raise
        self._under_way.ended()

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._under_way.closed()
