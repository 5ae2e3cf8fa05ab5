"""Which upstream a request goes to, and under which path: the token first, then the path, then the key."""

from __future__ import annotations

import hmac
import tomllib
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from hitrate.errors import UsageError
from hitrate.serve.proxy.heads import TOKEN_HEADER, RequestHead
from hitrate.serve.proxy.refusals import Refused
from hitrate.serve.proxy.upstreams import Upstream

OWN_PATH = b"/_hitrate"
"""Everything under it is the proxy's own; it goes to the process that keeps the record."""

METRICS_PATH = b"/_hitrate/proxy"
"""This one is answered here: what the proxy itself counts."""

_TOKEN_PATH = b"/t/"
_KEY_HEADERS = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key")


class Route(NamedTuple):
    """`upstream` is None for the proxy's own pages. `target` is the request target to send, `secrets` what of the
    client's address is no one else's business."""

    upstream: Upstream | None
    target: bytes
    secrets: tuple[bytes, ...]


class Routes:
    """`token` is demanded from every client if there is one. `key_upstreams` says by the beginning of a key which
    upstream (by name) it belongs to, and wins over the beginnings that are known."""

    def __init__(
        self, upstreams: Sequence[Upstream], *, token: str | None = None, key_upstreams: Mapping[str, str] | None = None
    ) -> None:
        """Raises UsageError."""
        self._upstreams = {upstream.name: upstream for upstream in upstreams}
        self._by_segment = {upstream.name.encode(): upstream for upstream in upstreams}
        self._only = upstreams[0] if len(upstreams) == 1 else None
        self._token = None if token is None else token.encode()
        self._by_key: list[tuple[bytes, Upstream]] = []
        if self._only is None:
            self._by_key = [*self._told(key_upstreams or {}), *self._known()]
        elif key_upstreams:
            raise UsageError("--key-upstream chooses between upstreams, and there is only one")

    def find(self, head: RequestHead) -> Route:
        """Raises Refused."""
        if head.method == b"CONNECT":
            raise Refused(405, "this is no forward proxy: put its address into the client's base URL")
        path = _origin_form(head.target)
        secrets: tuple[bytes, ...] = ()
        if self._token is not None:
            path = self._admitted(path, head)
            secrets = (self._token,)
        if path.startswith(OWN_PATH) and path[len(OWN_PATH) : len(OWN_PATH) + 1] in (b"", b"/", b"?"):
            if self._token is None:
                _check_own_host(head)
            return Route(None, path, secrets)
        if self._only is not None:
            return Route(self._only, self._only.path_for(path), secrets)
        name, slash, rest = path[1:].partition(b"/")
        upstream = self._by_segment.get(name)
        if upstream is not None:
            return Route(upstream, upstream.path_for(slash + rest if slash else b"/"), secrets)
        upstream = self._of_key(head)
        return Route(upstream, upstream.path_for(path), secrets)

    def _admitted(self, path: bytes, head: RequestHead) -> bytes:
        """The path without the token. Raises Refused."""
        assert self._token is not None
        if path.startswith(_TOKEN_PATH):
            given, slash, rest = path[len(_TOKEN_PATH) :].partition(b"/")
            path = slash + rest if slash else b"/"
        else:
            given = head.value(TOKEN_HEADER) or b""
        if not hmac.compare_digest(given, self._token):
            raise Refused(
                401, "this proxy needs its token: in the header x-hitrate-token, or as /t/TOKEN in front of the path"
            )
        return path

    def _of_key(self, head: RequestHead) -> Upstream:
        """Raises Refused."""
        for name in _KEY_HEADERS:
            for value in head.values(name):
                key = value.partition(b" ")[2].lstrip() if name == b"authorization" else value
                for beginning, upstream in self._by_key:
                    if key.startswith(beginning):
                        return upstream
        choices = ", ".join(f"/{name}/..." for name in self._upstreams)
        raise Refused(502, f"neither path nor key says which upstream is meant; the paths are {choices}")

    def _told(self, key_upstreams: Mapping[str, str]) -> list[tuple[bytes, Upstream]]:
        for name in key_upstreams.values():
            if name not in self._upstreams:
                raise UsageError(
                    f"--key-upstream: no upstream is called {name!r}; there are {', '.join(self._upstreams)}"
                )
        told = {beginning.encode(): self._upstreams[name] for beginning, name in key_upstreams.items()}
        return sorted(told.items(), key=lambda pair: -len(pair[0]))

    def _known(self) -> list[tuple[bytes, Upstream]]:
        """Where two upstreams have the same preset, the first one gets its keys."""
        by_preset = {upstream.preset: upstream for upstream in reversed(self._upstreams.values())}
        known = [
            (beginning.encode(), by_preset[preset])
            for beginning, preset in key_prefixes().items()
            if preset in by_preset
        ]
        return sorted(known, key=lambda pair: -len(pair[0]))


def key_prefixes() -> dict[str, str]:
    """By the beginning of a key, the preset whose vendor gives out keys of that kind."""
    text = Path(__file__).with_name("key_prefixes.toml").read_text(encoding="utf-8")
    return {beginning: entry["preset"] for beginning, entry in tomllib.loads(text).items()}


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _origin_form(target: bytes) -> bytes:
    """The path and query of a request target in absolute form (RFC 9112, 3.2.2)."""
    if target[:1] == b"/":
        return target
    scheme, sign, rest = target.partition(b"://")
    if sign and scheme.lower() in (b"http", b"https"):
        slash, question = rest.find(b"/"), rest.find(b"?")
        if slash >= 0 and (question < 0 or slash < question):
            return rest[slash:]
        return b"/" if question < 0 else b"/" + rest[question:]
    return target  # `OPTIONS *`


def _check_own_host(head: RequestHead) -> None:
    """What was recorded is shown on this machine alone: not to a page elsewhere that gave its name our address."""
    host = urlsplit(b"//" + (head.value(b"host") or b"")).hostname
    if host is None or not is_loopback(host.decode("latin-1")):
        raise Refused(403, "the pages under /_hitrate are shown to this machine alone; start the proxy with --token")
