"""A base URL taken apart once, so that no request pays for it."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from hitrate.errors import UsageError

DEFAULT_PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """`path` has no slash at its end; `query` (Azure's `api-version=...`) goes with every request."""

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host_header}"

    def target_of(self, path: str, *, from_root: bool = False) -> str:
        """The request target for `path`, which is put behind the base path or, `from_root`, behind the host."""
        target = path if from_root else self.path + path
        if not self.query:
            return target
        return f"{target}{'&' if '?' in target else '?'}{self.query}"


def parse_base_url(base_url: str) -> Address:
    """Raises UsageError, which repeats the URL only where it cannot hold a password."""
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError as error:
        raise UsageError(f"the base URL cannot be read: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError("the base URL holds a user name or password; put the key into its variable instead")
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise UsageError(
            f"base URL {base_url!r} has no http:// or https:// in front", hint="example: http://127.0.0.1:8080/v1"
        )
    try:
        host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode("ascii")
    except UnicodeError:
        raise UsageError(f"base URL {base_url!r} has a host name that is not valid") from None
    if not (parts.path + parts.query).isascii() or any(character.isspace() for character in parts.path + parts.query):
        raise UsageError(f"base URL {base_url!r} holds characters that have to be percent-encoded")
    return Address(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], parts.path.rstrip("/"), parts.query)
