"""A router examined from both ends: stand-in engines behind it, a client in front."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator, Sequence

import click

from hitrate.core.listings import Diagnosis
from hitrate.errors import KeyMissing, UsageError
from hitrate.live import loop
from hitrate.live.client import Client
from hitrate.live.router_doctor import MOST_CALLS, RouterDoctor
from hitrate.serve.listening import listen
from hitrate.serve.worker import MODEL, StandIns
from hitrate.targets.dialects import dialect
from hitrate.targets.presets import check_base_url

_LOOK_EVERY_S = 0.25
_DIALECT = "openai-chat"


def examine_router(
    through: str,
    behind: Sequence[str],
    *,
    key_variable: str | None,
    wait_s: float,
    model: str | None,
    header: dict[str, str],
    timeout: float,
) -> Diagnosis:
    """UsageError for addresses that cannot be had, KeyMissing for a variable that is not set."""
    address = check_base_url(through, _DIALECT)
    if not behind:
        raise UsageError(
            "--through needs --behind HOST:PORT, an address that the router has as an engine: hitrate answers there "
            "and compares what arrives with what was sent"
        )
    headers = {"authorization": f"Bearer {_key(key_variable)}", **header}
    with _listening(behind) as sockets:
        click.echo(
            f"doctor: standing in for an engine at {', '.join(behind)}; about {MOST_CALLS} calls go through {address}",
            err=True,
        )
        return loop.run(_examine(address, behind, sockets, headers, model or MODEL, wait_s, timeout))


async def _examine(
    address: str,
    behind: Sequence[str],
    sockets: list[socket.socket],
    headers: dict[str, str],
    model: str,
    wait_s: float,
    timeout_s: float,
) -> Diagnosis:
    def client(base_url: str) -> Client:
        return Client(
            base_url,
            target="router",
            dialect=dialect(_DIALECT),
            headers=headers,
            timeout_s=timeout_s,
            max_retries=0,
        )

    async with (
        StandIns(sockets, renders=True) as workers,
        client(address) as through,
        client(f"http://{behind[0]}/v1") as direct,
    ):
        await _until_known(workers, wait_s)
        doctor = RouterDoctor(address, through, direct, workers.arrived.get, workers=len(sockets), model=model)
        return await doctor.examine()


async def _until_known(workers: StandIns, wait_s: float) -> None:
    """Until the router has asked the stand-ins anything; some never do before the first call."""
    waited = 0.0
    while not workers.asked and waited < wait_s:
        await asyncio.sleep(_LOOK_EVERY_S)
        waited += _LOOK_EVERY_S


def _key(variable: str | None) -> str:
    if variable is None:
        return "hitrate"
    key = os.environ.get(variable)
    if not key:
        raise KeyMissing(f"{variable} is not set; nothing was sent")
    return key


@contextlib.contextmanager
def _listening(behind: Sequence[str]) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        sockets = []
        for address in behind:
            host, colon, port = address.rpartition(":")
            if not colon or not host or not port.isdecimal():
                raise UsageError(f"--behind is {address!r}, expected HOST:PORT such as 127.0.0.1:9101")
            sockets.append(stack.enter_context(contextlib.closing(listen(host.strip("[]"), int(port)))))
        yield sockets
