"""Keys, cookies and tokens of one exchange, and their removal from what is kept of it.

Headers are kept by an allow list (`core.headers`), so a key gets into a record only where somebody repeats it: an
upstream's error text, a page that shows the request. Every secret value is therefore looked for in all that is kept.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from hitrate.core.headers import REQUEST_HEADERS
from hitrate.core.secret_headers import SECRET_HEADERS
from hitrate.record.header_lines import HeaderLines
from hitrate.targets.content_coding import unpacked_slices

MASK = b"***"

SHORTEST_SECRET_BYTES = 8
"""A shorter value is no key but a placeholder ("EMPTY", "ollama"), and to replace it would damage a prompt."""

_PLACEHOLDERS = frozenset(
    {b"lm-studio", b"not-needed", b"no-key-required", b"sk-no-key-required", b"not-required", b"placeholder"}
)
_SECRET_NAME = re.compile(rb"auth|key|token|secret|passw|cookie|credential|signature", re.I)
_SECRET_PARAMETER = re.compile(
    rb"(?i)([?&;](?:[^=&#;]*(?:key|token|secret|passw|signature|credential)[^=&#;]*|sig|auth|code)=)([^&#;]*)"
)
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9-]* +")
_KEPT_NAMES = frozenset(name.encode() for name in REQUEST_HEADERS - SECRET_HEADERS)
_SECRET_NAMES = frozenset(name.encode() for name in SECRET_HEADERS)


def is_secret_header(name: bytes) -> bool:
    """Of a request, by a list and by its name: gateways have key headers of their own. `name` is in lower case."""
    return name in _SECRET_NAMES or (name not in _KEPT_NAMES and _SECRET_NAME.search(name) is not None)


def mask_query(target: bytes) -> bytes:
    """A request target in which the value of every parameter that carries a key is masked."""
    return _SECRET_PARAMETER.sub(rb"\1" + MASK, target) if b"?" in target else target


class Secrets:
    """The secret values of one exchange."""

    __slots__ = ("_values",)

    def __init__(self, head: HeaderLines, target: bytes, further: Iterable[bytes] = ()) -> None:
        self._values: list[bytes] = []
        for name, line in zip(head.names, head.lines, strict=True):
            if is_secret_header(name):
                value = line[len(name) + 1 :].strip(b" \t")
                self._add(*_cookie_values(value) if name == b"cookie" else _credential(value))
        if b"?" in target:
            for match in _SECRET_PARAMETER.finditer(target):
                self._add(match[2], unquote_to_bytes(match[2]))
        self._add(*further)

    def add_response_headers(self, head: HeaderLines) -> None:
        """Cookies that the upstream sets; it has no other secrets to tell."""
        for value in head.values(b"set-cookie"):
            self._add(*_cookie_values(value))

    def mask(self, data: bytes) -> bytes:
        for value in self._values:
            if value in data:
                data = data.replace(value, MASK)
        return data

    def mask_body(self, body: bytes, coding: str) -> tuple[bytes, bool] | None:
        """`mask` for a body with a content coding, and whether that was taken off, as it is where a secret was inside.

        None where the coding cannot be looked into: it might hold a key.
        """
        if not coding or not body or not self._values:
            return self.mask(body), False
        slices, fault = unpacked_slices([(0, 0, body)], coding)
        if fault is not None and not slices:
            return None
        plain = slices[0][2]
        masked = self.mask(plain)
        return (body, False) if masked is plain else (masked, True)

    def _add(self, *values: bytes) -> None:
        for value in values:
            if len(value) >= SHORTEST_SECRET_BYTES and value not in _PLACEHOLDERS and value not in self._values:
                self._values.append(value)
                # The longest first: a value may hold another one.
                self._values.sort(key=len, reverse=True)


def _credential(value: bytes) -> list[bytes]:
    """`Bearer KEY`, `KEY`, or `Basic` with a user name and password inside."""
    scheme = _SCHEME.match(value)
    key = value[scheme.end() :] if scheme else value
    found = [key]
    if scheme and scheme[0].strip().lower() == b"basic":
        with contextlib.suppress(binascii.Error):
            found.append(base64.b64decode(key, validate=True).partition(b":")[2])
    return found


def _cookie_values(value: bytes) -> list[bytes]:
    """Of `Cookie: a=1; b=2` as of `Set-Cookie: a=1; Path=/`: what stands behind each name, attributes of no secret
    kind left alone."""
    pairs = [pair.strip().partition(b"=") for pair in value.split(b";")]
    return [content.strip(b'"') for name, _, content in pairs if name.lower() not in _COOKIE_ATTRIBUTES]


_COOKIE_ATTRIBUTES = frozenset({b"path", b"domain", b"expires", b"max-age", b"samesite", b"secure", b"httponly"})
