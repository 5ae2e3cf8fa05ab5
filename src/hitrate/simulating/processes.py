"""Tasks done by processes of this machine.

They are started anew and not forked: a copy of a process with threads may hang. None outlives the process that started
it: each waits for the end of a pipe that only that process holds open, and ends at once when it is closed, in whatever
way, an interruption or the kernel's included.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

from hitrate.errors import HitrateError
from hitrate.simulating.packed import PackedTrace
from hitrate.simulating.tasks import Answer, Task, Watch, longest_first, perform

_TRIES = 3


class Processes:
    """`workers` processes, as long as `do` lasts.

    When one is ended from outside, which is nearly always for want of memory, what is not done yet is tried again by
    half as many.
    """

    def __init__(self, workers: int, watch: Watch) -> None:
        self.workers = workers
        self._watch = watch

    def do(self, trace: PackedTrace, tasks: Sequence[Task]) -> list[Answer]:
        """HitrateError too where processes are ended from outside again and again."""
        answers: dict[int, Answer] = {}
        workers = min(self.workers, len(tasks))
        for _ in range(_TRIES):
            self._try(trace, tasks, workers, answers)
            if len(answers) == len(tasks):
                return [answers[number] for number in range(len(tasks))]
            workers = max(1, workers // 2)
        raise HitrateError(
            f"a worker process was ended from outside {_TRIES} times, as a system short of memory does",
            hint="fewer --workers, or fewer points and smaller capacities at a time, take less memory",
        )

    def _try(self, trace: PackedTrace, tasks: Sequence[Task], workers: int, answers: dict[int, Answer]) -> None:
        """Adds the answers that come before a process is ended from outside."""
        context = get_context("spawn")
        theirs, ours = context.Pipe(duplex=False)
        try:
            with ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(theirs,)) as pool:
                try:
                    self._gather(pool, trace, tasks, answers)
                except BaseException:
                    ours.close()
                    pool.shutdown(cancel_futures=True)
                    raise
        except BrokenProcessPool:
            return
        finally:
            ours.close()
            theirs.close()

    def _gather(
        self, pool: ProcessPoolExecutor, trace: PackedTrace, tasks: Sequence[Task], answers: dict[int, Answer]
    ) -> None:
        asked: dict[int, Future[Answer]] = {}
        ended = len(answers)

        def one_more(future: Future[Answer]) -> None:
            nonlocal ended
            if not future.cancelled() and future.exception() is None:
                ended += 1
                self._watch.done(ended, len(tasks))

        try:
            with _signals_held():
                for number in longest_first(tasks):
                    if number not in answers:
                        asked[number] = pool.submit(perform, trace, tasks[number])
                        asked[number].add_done_callback(one_more)
            for number in sorted(asked):
                answers[number] = asked[number].result()
        except BrokenProcessPool:
            for number, future in asked.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    answers[number] = future.result()
            raise


_HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _signals_held() -> Iterator[None]:
    """They come afterwards. A process that is started meanwhile has them held until it lets them go itself: what comes
    while it imports would be told in a traceback, and one that lost its starter half-way would tell that too.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(until: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # sent to the whole group; who started us decides what it means
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
    threading.Thread(target=_end_with, args=(until,), daemon=True).start()


def _end_with(until: Connection) -> None:
    try:
        until.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)
