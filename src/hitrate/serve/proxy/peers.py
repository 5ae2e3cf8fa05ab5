"""Whether a client that sends no more has closed its connection or only its sending side.

TCP tells the two apart no sooner than something is written. An agent that gives up a request closes; the upstream
should then stop at once. A client that shuts down its sending side (`nc -N`) waits for the whole answer.
"""

from __future__ import annotations

import asyncio
import sys
from ipaddress import ip_address
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def has_closed(transport: asyncio.BaseTransport) -> bool:
    """True also where it cannot be known: for a client on another machine, and on systems other than Linux."""
    peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    if not sys.platform.startswith("linux") or peer is None or own is None:
        return True
    try:
        tables = [table.read_text(encoding="ascii") for table in _TABLES if table.exists()]
    except OSError:
        return True
    return not any(is_held(table, peer, own) for table in tables)


def is_held(table: str, peer: tuple[str, int], own: tuple[str, int]) -> bool:
    """Whether `table` (of /proc/net/tcp) has the peer's end of the connection, and in the hands of a process."""
    ports = f":{peer[1]:04X}", f":{own[1]:04X}"
    for line in table.splitlines()[1:]:
        fields = line.split()
        local, remote, inode = fields[1], fields[2], fields[9]
        if (
            local.endswith(ports[0])
            and remote.endswith(ports[1])
            and inode != "0"
            and _address(local) == _plain(peer[0])
            and _address(remote) == _plain(own[0])
        ):
            return True
    return False


def _address(entry: str) -> bytes:
    """The kernel prints an address as words of the machine's byte order."""
    text = entry.partition(":")[0]
    words = [int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8)]
    return _unmapped(b"".join(words))


def _plain(address: str) -> bytes:
    return _unmapped(ip_address(address.partition("%")[0]).packed)


def _unmapped(address: bytes) -> bytes:
    """IPv4 addresses stand in IPv6 tables, too."""
    return address[12:] if address.startswith(b"\x00" * 10 + b"\xff\xff") else address
