"""`--no-content`: an exchange of which only structure, words of the protocol, figures, hashes and lengths are left.

It is applied in the process that carries the traffic, before anything is written. What `explain` reads later are
stand-ins of the same length and kind (`hitrate.logs.hashed.stand_ins`).
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import accumulate

import msgspec
from msgspec.structs import replace

from hitrate.logs.hashed.chunks import MARK
from hitrate.record.content_key import ContentKey
from hitrate.record.exchange import Exchange, Sink
from hitrate.record.hashed_json import JsonHasher
from hitrate.record.hashed_stream import StreamHasher
from hitrate.record.hashed_text import TextHasher
from hitrate.record.protocol_words import NAME, below
from hitrate.record.sessions import session_of
from hitrate.targets.content_coding import Unreadable, unpacked, unpacked_slices

_KEPT_HEADERS = frozenset({"anthropic-beta", "anthropic-version", "openai-beta", "user-agent", "x-hitrate-run"})
"""Of requests. The others name sessions, users and adapters."""

_HASHED_RESPONSE_HEADERS = frozenset({"x-session-id", "x-session-token"})

_KEPT_QUERY = frozenset({"alt", "api-version", "beta"})

_REMEMBERED_BYTES = 6 << 20
_SHORTEST_REMEMBERED = 32

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


class ContentHasher:
    """Makes exchanges without content, with one key. Remembers the messages it has hashed, since they come again with
    every request of a conversation; memory is bounded."""

    def __init__(self, key: ContentKey) -> None:
        self._texts = TextHasher(key.secret, key.made_at)
        self._json = JsonHasher(self._texts)
        self._streams = StreamHasher(self._json)
        self._secret = key.secret
        self._known = _Known()

    def hash_exchange(self, exchange: Exchange) -> Exchange:
        """The exchange without content. Content codings are taken off; a body that cannot be read becomes one hash."""
        response, reads = _plain(exchange)
        if response is None:
            body = self._opaque(exchange.response_body)
            reads = tuple((len(body), at) for _, at in reads[-1:])
        else:
            body, place = self._streams.hashed(response, exchange.response_headers.get("content-type", ""))
            reads = tuple((place(end), at) for end, at in reads)
        return replace(
            exchange,
            path=self._path(exchange.path),
            request_headers={
                name: self.hash_header(name, value)
                for name, value in exchange.request_headers.items()
                if name != "content-encoding"
            },
            request_body=self._request(exchange),
            response_headers={
                name: self._texts.hashed(value) if name in _HASHED_RESPONSE_HEADERS else value
                for name, value in exchange.response_headers.items()
                if name != "content-encoding"
            },
            response_body=body,
            reads=reads,
        )

    def bare(self, exchange: Exchange) -> Exchange:
        """What is left where content cannot be told from the rest: when, how long, with which status."""
        return replace(
            exchange,
            path=exchange.path.partition("?")[0],
            request_headers={},
            request_body=self._opaque(exchange.request_body),
            response_headers={},
            response_body=self._opaque(exchange.response_body),
            reads=(),
        )

    def _request(self, exchange: Exchange) -> bytes:
        coding = exchange.request_headers.get("content-encoding", "")
        try:
            return self.hash_request(unpacked(exchange.request_body, coding) if coding else exchange.request_body)
        except Unreadable:
            return self._opaque(exchange.request_body)

    def hash_request(self, body: bytes) -> bytes:
        """A request body without content: of JSON all but words of the wire and figures, of anything else one hash."""
        if not body:
            return b""
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            return self._opaque(body)
        if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
            return self._opaque(body)
        found = self._by_members(body)
        return self._json.hashed(text).encode("utf-8", "surrogatepass") if found is None else found

    def _by_members(self, body: bytes) -> bytes | None:
        """The same, with what was hashed before taken from memory; None for a body that is not cut that way."""
        try:
            members = _members(body)
        except (msgspec.DecodeError, RecursionError):
            return None
        written: list[bytes] = []
        position = 0
        for name, value in members.items():
            raw = bytes(value)
            start = body.find(raw, position)
            between = body[position:start]
            if start < 0 or _is_not_only_name(between, name):
                return None
            written += [between, self._member(name, raw)]
            position = start + len(raw)
        written.append(body[position:])
        return None if written[-1].strip() != b"}" else b"".join(written)

    def _member(self, name: str, raw: bytes) -> bytes:
        if len(raw) < _SHORTEST_REMEMBERED:
            return self._value(name, raw)
        if not raw.startswith(b"[{"):
            return self._remembered(name, raw)
        written: list[bytes] = []
        position = 0
        for element in _elements(raw):
            one = bytes(element)
            start = raw.find(one, position)
            written += [raw[position:start], self._remembered(name, one)]
            position = start + len(one)
        return b"".join([*written, raw[position:]])

    def _remembered(self, name: str, raw: bytes) -> bytes:
        key = blake2b(raw, digest_size=16, key=self._secret, person=name.encode()[:16]).digest()
        found = self._known.get(key)
        if found is None:
            found = self._value(name, raw)
            self._known.put(key, found)
        return found

    def _value(self, name: str, raw: bytes) -> bytes:
        """Of a member of the body, or of one element of it."""
        if name == "metadata" and (found := self._metadata(raw)) is not None:
            return found
        region = below("wire", name, 1)
        text = self._json.hashed(raw.decode("utf-8"), region=region, name=name, depth=1)
        return text.encode("utf-8", "surrogatepass")

    def _metadata(self, raw: bytes) -> bytes | None:
        """Metadata whose `user_id` holds the name of a session among others: that name by itself, so that it is still
        found. None where it holds none."""
        try:
            members = _members(raw)
            user = msgspec.json.decode(members["user_id"], type=str)
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, RecursionError):
            return None
        session = session_of({}, {"metadata": {"user_id": user}})
        if not session or session == user:
            return None
        named = f'"_session_{self._texts.hashed(session)}"'.encode()
        others = (
            b",%s:%s" % (msgspec.json.encode(name), self._value(name, bytes(value)))
            for name, value in members.items()
            if name != "user_id"
        )
        return b'{"user_id":' + named + b"".join(others) + b"}"

    def hash_header(self, name: str, value: str) -> str:
        return value if name in _KEPT_HEADERS or name.startswith("x-hitrate-") else self._texts.hashed(value)

    def _path(self, path: str) -> str:
        """With the values of a query hashed, but for those that choose a version or a form."""
        place, mark, query = path.partition("?")
        if not mark:
            return path
        pairs = [pair.partition("=") for pair in query.split("&")]
        return place + mark + "&".join(
            name + sign + (value if name in _KEPT_QUERY or value in ("", "***") else self._texts.hashed(value))
            for name, sign, value in pairs
        )  # fmt: skip

    def _opaque(self, data: bytes) -> bytes:
        return f"{MARK}b{len(data)}.{self._texts.digest(data)};".encode() if data else b""


class WithoutContent:
    """A sink in front of another one, which gets exchanges without content."""

    def __init__(self, sink: Sink, hasher: ContentHasher) -> None:
        self._sink = sink
        self._hasher = hasher

    def record(self, exchange: Exchange) -> bool:
        try:
            hashed = self._hasher.hash_exchange(exchange)
        except Exception:  # nothing a client or server sends may end the traffic, or get into the record as it is
            hashed = self._hasher.bare(exchange)
        return self._sink.record(hashed)


class _Known:
    """What messages were hashed to, the newest ones: at most twice `_REMEMBERED_BYTES`, as in `core.recent`."""

    def __init__(self) -> None:
        self._younger: dict[bytes, bytes] = {}
        self._older: dict[bytes, bytes] = {}
        self._bytes = 0

    def get(self, key: bytes) -> bytes | None:
        found = self._younger.get(key)
        if found is None and (found := self._older.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: bytes, value: bytes) -> None:
        self._bytes += len(value) + _ENTRY_BYTES
        if self._bytes > _REMEMBERED_BYTES:
            self._older, self._younger = self._younger, {}
            self._bytes = len(value) + _ENTRY_BYTES
        self._younger[key] = value


_ENTRY_BYTES = 200
"""Of an entry beside its value."""


def _is_not_only_name(between: bytes, name: str) -> bool:
    """Whether more stands in front of a value than its name as it is: an escape, a value given twice."""
    return NAME.fullmatch(name) is None or between.strip(b" \t\r\n,{:") != b'"' + name.encode() + b'"'


def _plain(exchange: Exchange) -> tuple[bytes | None, tuple[tuple[int, int], ...]]:
    """The response without its content coding, and its reads as if it had none; None where it cannot be read."""
    coding = exchange.response_headers.get("content-encoding", "")
    if not coding.strip():
        return exchange.response_body, exchange.reads
    slices, start = [], 0
    reads = exchange.reads
    if not reads or reads[-1][0] < len(exchange.response_body):
        reads = (*reads, (len(exchange.response_body), exchange.total_ns or 0))
    for number, (end, at) in enumerate(reads):
        slices.append((at, number, exchange.response_body[start:end]))
        start = end
    parts, fault = unpacked_slices(slices, coding)
    if fault is not None and not any(data for *_, data in parts):
        return None, exchange.reads
    ends = accumulate(len(data) for *_, data in parts)
    return b"".join(data for *_, data in parts), tuple((end, at) for end, (at, *_) in zip(ends, parts, strict=True))
