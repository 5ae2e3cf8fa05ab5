"""Headers as the bytes they were sent as, for whoever keeps some of them and looks for secrets in all."""

from __future__ import annotations

TOKEN_HEADER = b"x-hitrate-token"
"""The proxy's own key. It is never passed on and never kept."""


LONGEST_NAMES = 4096
"""Bytes of all names of a head, up to which what follows from them is kept in mind: most requests of a client have the
same."""


class HeaderLines:
    """`lines` are the headers as sent, without their ends; `names` their names in lower case, one for one."""

    __slots__ = ("lines", "names")

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines
        self.names = [line.partition(b":")[0].lower() for line in lines]

    def values(self, name: bytes) -> list[bytes]:
        """In the order sent; `name` is in lower case."""
        if name not in self.names:
            return []
        return [
            line.partition(b":")[2].strip(b" \t")
            for line, own in zip(self.lines, self.names, strict=True)
            if own == name
        ]

    def value(self, name: bytes) -> bytes | None:
        """The last one sent."""
        return found[-1] if (found := self.values(name)) else None

    def tokens(self, name: bytes) -> list[bytes]:
        """Members of a list-valued header, in lower case."""
        return [part.strip(b" \t").lower() for value in self.values(name) for part in value.split(b",")]

    def pairs(self) -> list[tuple[str, str]]:
        """Name in lower case and value, header by header."""
        return [
            (name.decode("latin-1"), line[len(name) + 1 :].strip(b" \t").decode("latin-1"))
            for name, line in zip(self.names, self.lines, strict=True)
        ]
