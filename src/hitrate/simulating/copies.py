"""What runs on a worker of a cluster: its copy of a packed trace, and a task replayed from it.

A worker that sees the packed file reads it where it is. Any other is sent a copy once, piece by piece, into its own
folder, which Dask removes with the worker. Pieces are held to their checksums whenever they are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hitrate.errors import HitrateError
from hitrate.simulating.packed import PackedTrace
from hitrate.simulating.tasks import Answer, Task, perform

Worker = Any
"""`distributed.Worker`; Dask gives it to parameters named `dask_worker`."""


def carry(client: Any, trace: PackedTrace, workers: list[str]) -> None:
    """Send the trace to those of the workers that cannot see it, one piece at a time to all of them.

    HitrateError where one has no room. One that dies meanwhile is left out.
    """
    digest, size = trace.digest, trace.size
    found = client.run(_found, trace.file, digest, size, workers=workers, on_error="return")
    lacking = [worker for worker, file in found.items() if file is None]
    if not lacking:
        return
    for at, data in trace.data():
        said = client.run(_write, digest, size, at, data, workers=lacking, on_error="return")
        for worker, why in said.items():
            if isinstance(why, str):
                raise HitrateError(f"worker {worker} cannot keep a copy of {trace.facts.path}: {why}")


def drop(client: Any, trace: PackedTrace) -> None:
    """Remove the copies that were sent."""
    client.run(_drop, trace.digest, on_error="ignore")


def perform_there(trace: PackedTrace, task: Task) -> Answer | str:
    """`perform` on a worker; the worker's address where it has no copy."""
    from distributed import get_worker

    worker = get_worker()
    file = _found(trace.file, trace.digest, trace.size, worker)
    return worker.address if file is None else perform(replace(trace, file=file), task)


def _found(file: str, digest: str, size: int, dask_worker: Worker) -> str | None:
    for path in (Path(file), _copy(digest, dask_worker)):
        if path.is_file() and path.stat().st_size == size:
            return str(path)
    return None


def _write(digest: str, size: int, at: int, data: bytes, dask_worker: Worker) -> str | None:
    """Why it cannot. Its name tells a copy that is not complete."""
    copy = _copy(digest, dask_worker)
    partial = copy.with_suffix(".part")
    try:
        with partial.open("r+b" if at else "wb") as out:
            out.seek(at)
            out.write(data)
        if at + len(data) == size:
            partial.rename(copy)
    except OSError as error:
        return str(error)
    return None


def _drop(digest: str, dask_worker: Worker) -> None:
    _copy(digest, dask_worker).unlink(missing_ok=True)


def _copy(digest: str, worker: Worker) -> Path:
    return Path(worker.local_directory) / f"hitrate-{digest}.columns"
