"""The request as bytes, made before the clock starts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hitrate import __version__
from hitrate.errors import UsageError

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset({"content-length", "transfer-encoding", "connection"})


def header_lines(headers: Mapping[str, str]) -> dict[str, str]:
    """Header lines by lower-case name. Raises UsageError, which never repeats a value: it may be a key."""
    lines = {}
    for name, value in headers.items():
        stripped = value.strip()
        if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
            raise UsageError(f"header {name!r} cannot be set")
        if not stripped.isascii() or not (stripped.isprintable() or stripped.replace("\t", "").isprintable()):
            raise UsageError(f"the value of header {name!r} holds characters that cannot be sent; was it copied whole?")
        lines[name.lower()] = f"{name}: {stripped}"
    return lines


def default_lines(host: str) -> dict[str, str]:
    """`identity` is asked for because a compressor holds tokens back until its block is full."""
    return header_lines(
        {
            "Host": host,
            "User-Agent": f"hitrate/{__version__}",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
    )


def request_head(method: str, target: str, lines: Mapping[str, str], *, length: int | None) -> bytes:
    head = open_head(method, target, lines)
    return head + b"\r\n" if length is None else head + length_line(length)


def open_head(method: str, target: str, lines: Mapping[str, str]) -> bytes:
    """The head up to the line that only the body decides on: `length_line` ends it."""
    return "\r\n".join((f"{method} {target} HTTP/1.1", *lines.values(), "")).encode("ascii")


def length_line(length: int) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % length
