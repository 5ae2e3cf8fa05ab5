"""The secrets of one exchange, and their removal from what is kept of it: see `logs.secret_values`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from hitrate.logs.secret_values import (
    SecretValues,
    cookie_values,
    is_secret_header,
    mask_members,
    secrets_of_header,
    secrets_of_query,
)
from hitrate.record.header_lines import LONGEST_NAMES, HeaderLines
from hitrate.targets.content_coding import unpacked_slices


@lru_cache(maxsize=256)
def _secret_places(names: tuple[bytes, ...]) -> list[int]:
    """Of headers that carry a secret."""
    return [place for place, name in enumerate(names) if is_secret_header(name)]


class Secrets:
    """The secret values of one exchange."""

    __slots__ = ("_values",)

    def __init__(self, head: HeaderLines, target: bytes, further: Iterable[bytes] = ()) -> None:
        self._values = SecretValues(further)
        names = tuple(head.names)
        find = _secret_places if sum(map(len, names)) <= LONGEST_NAMES else _secret_places.__wrapped__
        for place in find(names):
            name = names[place]
            self._values.add(*secrets_of_header(name, head.lines[place][len(name) + 1 :].strip(b" \t")))
        if b"?" in target:
            self._values.add(*secrets_of_query(target))

    def add_response_headers(self, head: HeaderLines) -> None:
        """Cookies that the upstream sets; it has no other secrets to tell."""
        for value in head.values(b"set-cookie"):
            self._values.add(*cookie_values(value))

    def mask(self, data: bytes) -> bytes:
        return self._values.mask(data)

    def mask_request(self, body: bytes, coding: str) -> tuple[bytes, bool] | None:
        """The body of the request, and whether its content coding was taken off, as it is where a secret was inside.
        What members of it held that are there for a key is a secret of the exchange from then on.

        None where the coding cannot be looked into: it might hold a key.
        """
        return self._masked(body, coding, self._without_members)

    def mask_response(self, body: bytes, coding: str) -> tuple[bytes, bool] | None:
        """As `mask_request`, of the answer; secrets that a stream has in pieces are found, too."""
        if not self._values:
            return body, False
        return self._masked(body, coding, self._values.mask_streamed)

    def _masked(self, body: bytes, coding: str, mask: Callable[[bytes], bytes]) -> tuple[bytes, bool] | None:
        if not coding or not body:
            return mask(body), False
        slices, fault = unpacked_slices([(0, 0, body)], coding)
        if fault is not None and not slices:
            return None if self._values else (body, False)
        plain = slices[0][2]
        masked = mask(plain)
        return (body, False) if masked is plain else (masked, True)

    def _without_members(self, body: bytes) -> bytes:
        body, found = mask_members(body)
        self._values.add(*found)
        return self._values.mask(body)
