"""Tasks done by the workers of a Dask cluster (https://distributed.dask.org).

What a worker had begun when it died, Dask gives to another one.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from hitrate import __version__
from hitrate.errors import HitrateError, Unreachable, UsageError
from hitrate.simulating.copies import carry, drop, perform_there
from hitrate.simulating.packed import PackedTrace
from hitrate.simulating.tasks import Answer, Task, Watch, longest_first

PATIENCE_S = 10.0
"""For a scheduler to answer, and for its first worker."""
WITHOUT_WORKERS_S = 60.0
"""In the midst of the work: it takes some time to start one anew."""
_LOOK_S = 5.0


class Cluster:
    """The cluster at the address of its scheduler, in a `with` block.

    UsageError where Dask is missing here, or this version of hitrate there; Unreachable where no scheduler answers, or
    it has no workers. After an error a worker still ends the task it has begun: Dask cannot stop one.
    """

    def __init__(self, address: str, watch: Watch) -> None:
        self.workers = 0
        self._address = address
        self._watch = watch
        self._client: Any = None
        self._carried: list[PackedTrace] = []

    def __enter__(self) -> Cluster:
        self._client = _client(self._address)
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE_S)
            _check_versions(self._client.run(_asking_version(), on_error="return"))
            self.workers = max(1, sum(self._client.nthreads().values()))
        except (TimeoutError, OSError):
            self._client.close()
            raise Unreachable(f"the Dask scheduler at {self._address} has no workers") from None
        except BaseException:
            self._client.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError, TimeoutError):
            for carried in self._carried:
                drop(self._client, carried)
            self._client.close()

    def do(self, trace: PackedTrace, tasks: Sequence[Task]) -> list[Answer]:
        """Unreachable where the scheduler or all workers are gone, HitrateError where one part kills each of them."""
        from distributed import CancelledError, KilledWorker

        run = _Run(self._client, trace, tasks, self._watch)
        try:
            if trace not in self._carried:
                self._carried.append(trace)
                carry(self._client, trace, list(self._client.nthreads()))
            return run.answers()
        except KilledWorker:
            raise HitrateError(
                "one worker after another died of the same part of the work, as on systems short of memory",
                hint="fewer points or smaller capacities at a time take less memory",
            ) from None
        except _NobodyLeft:
            raise Unreachable(f"the Dask scheduler at {self._address} has lost all its workers") from None
        except (CancelledError, OSError):
            raise Unreachable(f"the Dask scheduler at {self._address} is gone, with work not done") from None
        finally:
            with suppress(OSError, TimeoutError):
                run.forget()


class _NobodyLeft(Exception):
    pass


class _Run:
    """Tasks on their way."""

    def __init__(self, client: Any, trace: PackedTrace, tasks: Sequence[Task], watch: Watch) -> None:
        self._client = client
        self._trace = trace
        self._tasks = tasks
        self._watch = watch
        self._waiting: dict[Any, int] = {}
        """Futures, with the numbers of their tasks."""
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._answers: dict[int, Answer] = {}
        self._errors: dict[int, HitrateError] = {}
        self._nobody_s = 0.0

    def answers(self) -> list[Answer]:
        for number in longest_first(self._tasks):
            self._submit(number)
        while self._waiting and not (self._errors and min(self._errors) < min(self._waiting.values())):
            try:
                future = self._ended.get(timeout=_LOOK_S)
            except Empty:
                self._look_for_workers()
            else:
                self._take(future, self._waiting.pop(future))
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._answers[number] for number in range(len(self._tasks))]

    def forget(self) -> None:
        """Nothing of it is left with the cluster, but a task that a worker has begun."""
        if self._waiting:
            self._client.cancel(list(self._waiting), force=True)

    def _submit(self, number: int) -> None:
        future = self._client.submit(perform_there, self._trace, self._tasks[number], pure=False)
        self._waiting[future] = number
        future.add_done_callback(self._ended.put)

    def _look_for_workers(self) -> None:
        self._nobody_s = 0.0 if self._client.nthreads() else self._nobody_s + _LOOK_S
        if self._nobody_s >= WITHOUT_WORKERS_S:
            raise _NobodyLeft

    def _take(self, future: Any, number: int) -> None:
        try:
            answer = future.result()
        except HitrateError as error:
            self._errors[number] = error
            return
        if isinstance(answer, str):  # of a worker that came later
            carry(self._client, self._trace, [answer])
            self._submit(number)
            return
        self._answers[number] = answer
        self._watch.done(len(self._answers), len(self._tasks))


def _client(address: str) -> Any:
    """A client that is connected; UsageError and Unreachable as `Cluster` has them."""
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise UsageError("--cluster needs Dask: pip install 'hitrate[dask]'") from None
    # What goes wrong is said here, in one line.
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

    class Quiet(Client):  # type: ignore[misc]
        """Says nothing of a connection that never was when it is thrown away: that is said here."""

        def __del__(self) -> None:
            pass

    try:
        if not address.startswith("inproc:"):
            # Dask tries again until its time is over, though nobody may listen there.
            socket.create_connection(get_address_host_port(address), timeout=PATIENCE_S).close()
            asyncio.run(_check_scheduler(address))
        return Quiet(address, timeout=PATIENCE_S, set_as_default=False)
    except ValueError as error:
        raise UsageError(f"--cluster: expected an address like tcp://host:8786; {error}") from None
    except OSError as error:
        why = error.strerror or str(error).splitlines()[0]
        raise Unreachable(f"no Dask scheduler answers at {address}: {why}") from None


async def _check_scheduler(address: str) -> None:
    """Unreachable where something else listens: for its first words Dask's own client waits without end."""
    from distributed import Security, rpc

    secured = Security().get_connection_args("client")
    if address.startswith("tls:") and secured.get("ssl_context") is None:
        raise UsageError("--cluster: tls:// needs the certificates that Dask's settings distributed.comm.tls name")

    async def identity() -> Mapping[str, Any]:
        async with rpc(address, connection_args=secured) as there:
            answer: Mapping[str, Any] = await there.identity()
            return answer

    try:
        kind = (await asyncio.wait_for(identity(), PATIENCE_S))["type"]
    except TimeoutError:
        said = f"what listens there said nothing that Dask understands within {PATIENCE_S:g} s"
    except Exception:  # as many kinds as there are words that Dask may take for the length of a message
        said = "what listens there does not speak as Dask does"
    else:
        if kind == "Scheduler":
            return
        said = f"what listens there is a {str(kind).lower()}"
    raise Unreachable(
        f"no Dask scheduler answers at {address}: {said}",
        hint="the address is the one that `dask scheduler` prints at its start, with tls:// where it asks for TLS",
    )


def _asking_version() -> Callable[[], tuple[str, str] | None]:
    """Dask sends a function that is made here by its code, not by its name: a worker may not have what it asks for."""

    def theirs() -> tuple[str, str] | None:
        try:
            import sys

            import hitrate
        except ImportError:
            return None
        return hitrate.__version__, sys.byteorder

    return theirs


def _check_versions(found: Mapping[str, Any]) -> None:
    """UsageError with the first worker that would answer otherwise, or not at all."""
    for worker, theirs in found.items():
        if theirs is None:
            raise UsageError(f"worker {worker} has no hitrate: install version {__version__} there")
        if isinstance(theirs, OSError):
            continue  # it is gone
        if isinstance(theirs, BaseException):
            raise UsageError(f"worker {worker} cannot say which hitrate it has: {theirs}")
        version, order = theirs
        if version != __version__:
            raise UsageError(f"worker {worker} has hitrate {version}, this is {__version__}: install the same on both")
        if order != sys.byteorder:
            raise UsageError(f"worker {worker} has another byte order than this machine")
