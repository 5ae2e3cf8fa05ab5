"""Keys, cookies and tokens: where a request carries them, and their removal from what is kept of it and its answer.

Headers are kept by an allow list (`core.headers`), so a key gets into a record only where it stands in a body: in a
member that is there to hold one (`authorization_token` of an MCP server, `api_key` for a gateway), or where somebody
repeats it, such as an upstream's error text or a model that is asked for it. All works on bytes, without parsing what
holds no key.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from hitrate.core.headers import REQUEST_HEADERS
from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.secret_headers import SECRET_HEADERS

MASK = b"***"

SHORTEST_BYTES = 8
"""A shorter value is no key but a placeholder ("EMPTY", "ollama"), and to replace it would damage a prompt."""

SHORTEST_MEMBER_BYTES = 16
"""Of a member of a body, to be looked for elsewhere too: `"password": "customer"` must not take a word from prompts."""

_PLACEHOLDERS = frozenset(
    {b"lm-studio", b"not-needed", b"no-key-required", b"sk-no-key-required", b"not-required", b"placeholder"}
)
_SECRET_NAME = lazy_pattern(rb"auth|key|token|secret|passw|cookie|credential|signature", re.I)
_SECRET_PARAMETER = lazy_pattern(
    rb"(?i)([?&;](?:[^=&#;]*(?:key|token|secret|passw|signature|credential)[^=&#;]*|sig|auth|code)=)([^&#;]*)"
)
_SCHEME = lazy_pattern(rb"[A-Za-z][A-Za-z0-9-]* +")
_KEPT_NAMES = frozenset(name.encode() for name in REQUEST_HEADERS - SECRET_HEADERS)
_SECRET_NAMES = frozenset(name.encode() for name in SECRET_HEADERS)
_LONGEST_NAME = 64
_COOKIE_ATTRIBUTES = frozenset({b"path", b"domain", b"expires", b"max-age", b"samesite", b"secure", b"httponly"})


def is_secret_header(name: bytes) -> bool:
    """Of a request, by a list and by its name: gateways have key headers of their own. `name` is in lower case."""
    return _is_secret(name) if len(name) <= _LONGEST_NAME else _SECRET_NAME.search(name) is not None


@lru_cache(maxsize=1024)
def _is_secret(name: bytes) -> bool:
    return name in _SECRET_NAMES or (name not in _KEPT_NAMES and _SECRET_NAME.search(name) is not None)


def secrets_of_header(name: bytes, value: bytes) -> list[bytes]:
    """What is secret in a header; `name` is in lower case."""
    if not is_secret_header(name):
        return []
    return cookie_values(value) if name == b"cookie" else _credential(value)


def mask_query(target: bytes) -> bytes:
    """A request target in which the value of every parameter that carries a key is masked."""
    return _SECRET_PARAMETER.sub(rb"\1" + MASK, target) if b"?" in target else target


def secrets_of_query(target: bytes) -> Iterator[bytes]:
    """As they stand there, and without their percent signs."""
    if b"?" in target:
        for match in _SECRET_PARAMETER.finditer(target):
            yield match[2]
            yield unquote_to_bytes(match[2])


def cookie_values(value: bytes) -> list[bytes]:
    """Of `Cookie: a=1; b=2` as of `Set-Cookie: a=1; Path=/`: what stands behind each name, attributes of no secret
    kind left alone."""
    pairs = [pair.strip().partition(b"=") for pair in value.split(b";")]
    return [content.strip(b'"') for name, _, content in pairs if name.lower() not in _COOKIE_ATTRIBUTES]


def _credential(value: bytes) -> list[bytes]:
    """`Bearer KEY`, `KEY`, or `Basic` with a user name and password inside."""
    scheme = _SCHEME.match(value)
    key = value[scheme.end() :] if scheme else value
    found = [key]
    if scheme and scheme[0].strip().lower() == b"basic":
        with contextlib.suppress(binascii.Error):
            found.append(base64.b64decode(key, validate=True).partition(b":")[2])
    return found


_MEMBERS = tuple(
    name + b'"'
    for name in (
        b"api_key",
        b"api-key",
        b"apikey",
        b"access_key",
        b"secret_key",
        b"private_key",
        b"subscription_key",
        b"subscription-key",
        b"secret",
        b"password",
        b"passphrase",
        b"access_token",
        b"auth_token",
        b"authorization_token",
        b"bearer_token",
        b"refresh_token",
        b"authorization",
        b"credential",
        b"credentials",
    )
)
"""What the names of members that are there to hold a secret end in, in lower case."""

_WHOLE_NAMES = (b'token"', b'cookie"')
"""As these, but nothing may stand in front: an `eos_token` is no secret."""

_HEADERS = b'headers"'
_ADDRESSES = (b'server_url"', b'api_base"', b'base_url"')

_ENDINGS = tuple(ending[:-1] for ending in (*_MEMBERS, *_WHOLE_NAMES, _HEADERS, *_ADDRESSES))
_LONGEST_ENDING = max(map(len, _ENDINGS))
_END_OF_NAME = lazy_pattern(rb'"\s*:\s*["{]')
"""Of a member that is a string or an object."""

_NAME_PARTS = b"_.-"
_STRING = lazy_pattern(rb'\s*:\s*"((?:[^"\\]|\\.)*)(?:"|\Z)', re.DOTALL)
"""A string of JSON behind its name; it may be cut off."""
_INSIDE = lazy_pattern(rb'(?:[^"\\]|\\.)*', re.DOTALL)
_OBJECT = lazy_pattern(rb"\s*:\s*\{([^{}]*)")
_HEADER = lazy_pattern(rb'"([^"\\]*)"\s*:\s*"((?:[^"\\]|\\.)*)(?:"|\Z)', re.DOTALL)
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
"""RFC 3986, 2.3: spelled in one way."""
_IN_ADDRESS = lazy_pattern(
    rb"(?i)//([^/@?#]+)@|[?&;](?:[^=&#;]*(?:key|token|secret|passw|signature|credential)[^=&#;]*|sig|auth|code)=([^&#;]*)"
)

_CONTENT = frozenset(
    {
        "contents",
        "input",
        "instructions",
        "messages",
        "prompt",
        "suffix",
        "system",
        "systemInstruction",
        "system_instruction",
        "template",
    }
)
"""Members of a request with what is said. A password in a tool call is said: were it masked in the history, it would
differ from the reply that it came in."""

_MCP = b"mcp"
"""Of tools only servers of the Model Context Protocol bring keys along."""


def mask_members(body: bytes) -> tuple[bytes, list[bytes]]:
    """A request without the values of members that are there to hold a key, and those that are to be looked for
    elsewhere. What was said stays; a body that cannot be read as JSON is searched as a whole."""
    if not _may_hold_secrets(body):
        return body, []
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _masked_members(body, [])
    passed = {name for name, raw in members.items() if name in _CONTENT or (name == "tools" and _MCP not in bytes(raw))}
    settings = b",".join([b'"%b":%b' % (name.encode(), bytes(members[name])) for name in members if name not in passed])
    if not any(True for _ in _secret_spans(settings)):
        return body, []
    return _masked_members(body, _spans_of(passed, members, body))


def _masked_members(body: bytes, passed: list[tuple[int, int]]) -> tuple[bytes, list[bytes]]:
    pieces: list[bytes] = []
    found: list[bytes] = []
    done = 0
    for start, end in sorted(set(_secret_spans(body))):
        if start < done or any(first <= start < last for first, last in passed):
            continue
        pieces += (body[done:start], MASK)
        done = end
        found += [
            text for text in _credential(body[start:end]) if len(text) >= SHORTEST_MEMBER_BYTES and b" " not in text
        ]
    return (b"".join(pieces) + body[done:], found) if done else (body, [])


def _may_hold_secrets(body: bytes) -> bool:
    """False where `_secret_spans` finds nothing, which takes no more than a look at every name, once."""
    names = {text[-_LONGEST_ENDING:] for text in _END_OF_NAME.split(body)[:-1]}
    return any(name.lower().endswith(_ENDINGS) for name in names)


def _secret_spans(body: bytes) -> Iterator[tuple[int, int]]:
    """Where a value of a member is secret, in any part of the body."""
    lowered = body.lower()
    for ending in _MEMBERS + _WHOLE_NAMES:
        for behind in _behind_names(lowered, ending, whole=ending in _WHOLE_NAMES):
            if (text := _STRING.match(body, behind)) is not None:
                yield text.span(1)
    for ending in _ADDRESSES:
        for behind in _behind_names(lowered, ending):
            if (text := _STRING.match(body, behind)) is not None:
                for match in _IN_ADDRESS.finditer(text[1]):
                    start, end = match.span(match.lastindex or 0)
                    yield text.start(1) + start, text.start(1) + end
    for behind in _behind_names(lowered, _HEADERS):
        if (headers := _OBJECT.match(body, behind)) is not None:
            for match in _HEADER.finditer(headers[1]):
                if is_secret_header(match[1].lower()):
                    yield headers.start(1) + match.start(2), headers.start(1) + match.end(2)


def _behind_names(lowered: bytes, ending: bytes, *, whole: bool = False) -> Iterator[int]:
    """Where a name of JSON ends that is `ending` or, unless `whole`, ends in it behind a separator; no text within a
    text."""
    at = lowered.find(ending)
    while at >= 0:
        start = lowered.rfind(b'"', max(at - _LONGEST_NAME, 0), at)
        alone = start >= 0 and start + 1 == at
        part = start >= 0 and not whole and lowered[at - 1] in _NAME_PARTS
        if (alone or part) and lowered[start - 1 : start] != b"\\":
            yield at + len(ending)
        at = lowered.find(ending, at + len(ending))


def _spans_of(names: set[str], members: dict[str, msgspec.Raw], body: bytes) -> list[tuple[int, int]]:
    """Where the values of these members stand; none where `body` has a name twice, so that they cannot be told."""
    spans: list[tuple[int, int]] = []
    position = 0
    for name, raw in members.items():
        value = bytes(raw)
        position = body.find(value, position)
        if position < 0:
            return []
        if name in names:
            spans.append((position, position + len(value)))
        position += len(value)
    return spans


class SecretValues:
    """Values that are looked for, and removed, wherever they are repeated."""

    __slots__ = ("_values", "_whole")

    def __init__(self, values: Iterable[bytes] = ()) -> None:
        self._values: list[bytes] = []
        self._whole: list[bytes] = []
        """The values as they were given, without their other spellings."""
        self.add(*values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def add(self, *values: bytes) -> None:
        """Too short ones and placeholders are left out."""
        for value in values:
            if len(value) >= SHORTEST_BYTES and value not in _PLACEHOLDERS and value not in self._values:
                self._values += [value, *_other_spellings(value)]
                self._whole.append(value)
                # The longest first: a value may hold another one.
                self._values.sort(key=len, reverse=True)

    def mask(self, data: bytes) -> bytes:
        for value in self._values:
            if value in data:
                data = data.replace(value, MASK)
        return data

    def mask_streamed(self, data: bytes) -> bytes:
        """`mask`, also of values that come in pieces, event by event, as a model says them."""
        data = self.mask(data)
        # Half a microsecond for most streams, which lack one or another of the letters.
        if any(all(map(data.__contains__, value)) for value in self._whole):
            for word in _STREAMED:
                if word in data:
                    for colon in (b'":"', b'": "'):
                        data = self._without_pieces(data, b'"' + word + colon)
        return data

    def _without_pieces(self, data: bytes, name: bytes) -> bytes:
        """The first piece of a value becomes the mask, the others nothing."""
        pieces = data.split(name)
        said = b"".join([_text_in_front(piece) for piece in pieces[1:]])
        if len(pieces) < 3 or not any(value in said for value in self._values):
            return data
        spans = [match.span(1) for match in re.finditer(name + b"(" + _INSIDE.pattern + b")", data, re.DOTALL)]
        said = b"".join([data[start:end] for start, end in spans])
        covered = bytearray(len(said))
        for value in self._values:
            at = said.find(value)
            while at >= 0:
                covered[at : at + len(value)] = b"\2" + b"\1" * (len(value) - 1)
                at = said.find(value, at + len(value))
        pieces = []
        done = told = 0
        for start, end in spans:
            marks = covered[told : told + end - start]
            if any(marks):
                kept = [
                    MASK if mark == 2 else data[start + i : start + i + 1] for i, mark in enumerate(marks) if mark != 1
                ]
                pieces += (data[done:start], *kept)
                done = end
            told += end - start
        return b"".join(pieces) + data[done:]


def _text_in_front(data: bytes) -> bytes:
    """Up to the quote that ends a string of JSON."""
    text = data[: data.find(b'"')]
    if not text.endswith(b"\\"):
        return text
    match = _INSIDE.match(data)
    return b"" if match is None else match[0]


def _other_spellings(value: bytes) -> list[bytes]:
    """As JSON and as addresses may have it."""
    if not value.translate(None, _UNRESERVED):
        return []
    spellings = {value.replace(b"/", b"\\/"), quote_from_bytes(value, safe="").encode()}
    return [spelling for spelling in spellings if spelling != value]


_STREAMED = (
    b"content",
    b"text",
    b"delta",
    b"thinking",
    b"reasoning",
    b"reasoning_content",
    b"arguments",
    b"partial_json",
    b"refusal",
    b"response",
)
"""Members of stream events that hold a piece of what is said."""
