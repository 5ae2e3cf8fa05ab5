"""Where requests go: upstreams as the command line names them, and the place of a client's path at each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from hitrate.errors import UsageError
from hitrate.targets.address import Address, parse_base_url
from hitrate.targets.presets import load, require_base_url

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\[\]-]*")
_RESERVED_NAMES = frozenset({"_hitrate", "t"})
_VERSION = re.compile(r"/v[0-9]+[a-z0-9]*(?=/|$)")
_ENDPOINTS = ("/chat/completions", "/responses", "/messages")
"""What clients add to a base URL: a path that begins with one had none."""


class Upstream(NamedTuple):
    """`given` is the target's name as the user gave it: a preset's name or a base URL. `dialect` is the wire that
    the preset names; OpenAI's for a base URL."""

    name: str
    given: str
    preset: str | None
    dialect: str
    address: Address

    def __str__(self) -> str:
        return self.name if self.name == str(self.address) else f"{self.name} ({self.address})"

    def path_for(self, path: bytes) -> bytes:
        """The upstream's path for a client's.

        Clients put `/v1` or nothing in front, whatever the vendor has (`/openai/v1`, `/api/paas/v4`, `/v1/openai`):
        both lead to the base URL, and a path that begins with the base URL's own stays. Without an API's version in
        the base URL it is a prefix and nothing else. What is left belongs to the server beside its API (`/health`).
        """
        base = self.address.path.encode()
        if not base or _begins(path, base) or path == b"*":
            return path
        version = _VERSION.search(self.address.path)
        if version is None:
            return base + path
        if _begins(path, b"/v1"):
            return base + path[3:]
        if any(_begins(path, endpoint.encode()) for endpoint in _ENDPOINTS):
            return base + path
        root = base[: version.start()]
        return path if root and _begins(path, root) else root + path


def parse_upstreams(texts: Iterable[str]) -> tuple[Upstream, ...]:
    """From `NAME=PRESET|URL`, a preset's name or a base URL each. Raises UsageError."""
    upstreams = tuple(_parse(text) for text in texts)
    names = [upstream.name for upstream in upstreams]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two upstreams are called {name!r}; name them apart: NAME={name}")
    return upstreams


def _parse(text: str) -> Upstream:
    name, sign, given = text.partition("=")
    if not sign or "://" in name:
        name, given = "", text
    elif not _NAME.fullmatch(name) or name in _RESERVED_NAMES or _VERSION.fullmatch(f"/{name}"):
        raise UsageError(f"{name!r} is no name for an upstream: it becomes the first part of a path")
    if "://" in given:
        address = parse_base_url(given)
        if address.query:
            raise UsageError(f"the upstream {address} has a query in its base URL; leave that to the client")
        return Upstream(name or address.host_header, given.rstrip("/"), None, "openai-chat", address)
    target = load(given)
    address = parse_base_url(require_base_url(target))
    return Upstream(name or given, given, given, target.dialect, address)


def _begins(path: bytes, with_: bytes) -> bool:
    """By whole segments."""
    return path.startswith(with_) and path[len(with_) : len(with_) + 1] in (b"", b"/", b"?")
