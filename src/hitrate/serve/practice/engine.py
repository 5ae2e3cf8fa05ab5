"""The state of a practice server, without sockets and clocks: what is cached where, who waits, when a token is due.

Every verb takes `now`, in seconds on the server's monotonic clock. Stamps that run backwards a little (a request is
read before it is handled) are lifted to the latest one seen.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from random import Random

from hitrate.caches.breakpoints import BreakpointLease
from hitrate.caches.interface import Lease, PrefixCache
from hitrate.serve.practice.options import PracticeOptions
from hitrate.sim.fleet import Fleet, Visit
from hitrate.sim.routing.interface import RoutingRequest

TTFT_BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ReplicaCounts:
    """What one replica did since the start or the last reset."""

    def __init__(self) -> None:
        self.requests = 0
        self.prompt_tokens = 0
        self.cached_tokens = 0
        self.written_tokens: int | None = None  # stays so under a rule that counts no writes
        self.output_tokens = 0
        self.ttft_sum_s = 0.0
        self.ttft_counts = [0] * (len(TTFT_BUCKETS_S) + 1)

    def observe_ttft(self, seconds: float) -> None:
        self.ttft_sum_s += seconds
        self.ttft_counts[sum(seconds > bound for bound in TTFT_BUCKETS_S)] += 1


class Job:
    """One request in the engine. Times are None while it waits to be admitted."""

    __slots__ = (
        "admitted",
        "cached_tokens",
        "call",
        "counts",
        "first_token_at",
        "prompt_tokens",
        "published",
        "read_at",
        "visit",
    )

    def __init__(
        self, call: int, read_at: float, visit: Visit, counts: ReplicaCounts, admitted: Callable[[], None]
    ) -> None:
        self.call = call
        self.counts = counts
        self.read_at = read_at
        self.visit = visit
        self.admitted = admitted
        self.prompt_tokens = len(visit.request.tokens)
        self.cached_tokens: int | None = None
        self.first_token_at: float | None = None
        self.published = False

    @property
    def replica(self) -> int:
        return self.visit.replica

    @property
    def lease(self) -> Lease | None:
        """What the cache model keeps of the request, None while it waits."""
        return self.visit.lease

    @property
    def expected_ttft_s(self) -> float | None:
        return None if self.first_token_at is None else self.first_token_at - self.read_at


class PracticeEngine:
    """A job's life is `arrive` → (`admitted` is called, if it had to wait) → `first_token` → `finish`, or `abort`.

    What happens later than the call that causes it (a write delay) is done by `advance`, which every verb calls
    first; a driver with waiting jobs calls it at `next_due`.
    """

    def __init__(self, options: PracticeOptions, make_cache: Callable[[], PrefixCache]) -> None:
        self._options = options
        self._fleet = Fleet(options.replicas, options.routing, make_cache, seed=options.seed, shared=options.shared)
        self._now = -math.inf
        self._start_over()

    def _start_over(self) -> None:
        self.counts = [ReplicaCounts() for _ in range(self._options.replicas)]
        self._waiting: list[deque[Job]] = [deque() for _ in range(self._options.replicas)]
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def arrive(
        self, call: int, request: RoutingRequest, *, now: float, read_at: float, admitted: Callable[[], None]
    ) -> Job:
        """Route a request and admit it, or let it wait at its replica, first come, first served.

        `call` numbers the server's calls and decides the jitter. `admitted` is called only for a job that waited.
        Raises ContextTooSmall for a prompt that its replica can never hold.
        """
        self.advance(now)
        visit = self._fleet.route(request, now=self._now)
        job = Job(call, read_at, visit, self.counts[visit.replica], admitted)
        waiting = self._waiting[job.replica]
        try:
            if waiting or not self._admit(job):
                waiting.append(job)
        except BaseException:
            self._fleet.abort(job.visit, now=self._now)
            raise
        return job

    def first_token(self, job: Job, *, now: float) -> None:
        """The first token left; the prompt is readable by others from here on, or after the write delay."""
        self.advance(now)
        job.counts.observe_ttft(now - job.read_at)
        job.published = True
        self._do_later(lambda: self._fleet.publish(job.visit, now=self._now))

    def finish(self, job: Job, generated: Sequence[int], output_tokens: int, *, now: float) -> None:
        """The reply ended. `generated` are its tokens as the next turn will send them.

        With a write delay the job holds its memory, and counts as load, until the delay is over.
        """
        self.advance(now)
        job.counts.output_tokens += output_tokens
        self._do_later(lambda: self._release(job, lambda: self._fleet.finish(job.visit, generated, now=self._now)))

    def abort(self, job: Job, *, now: float) -> None:
        """The client went away, or a fault ended the reply. A prompt that was computed stays readable."""
        self.advance(now)

        def end() -> None:
            self._release(job, lambda: self._fleet.abort(job.visit, now=self._now))

        if job.published:
            self._do_later(end)
        else:
            end()

    def advance(self, now: float) -> None:
        """Do what was due up to `now`, each at its own moment."""
        while self._later and self._later[0][0] <= now:
            due, _, action = heapq.heappop(self._later)
            self._now = max(self._now, due)
            action()
        self._now = max(self._now, now)

    @property
    def caches(self) -> tuple[PrefixCache, ...]:
        """One a replica, or the shared one."""
        return self._fleet.caches

    @property
    def next_due(self) -> float | None:
        return self._later[0][0] if self._later else None

    def reset(self) -> None:
        """Forget caches and counts. Jobs under way go on and end without effect; waiting jobs are admitted anew."""
        waited = [job for queue in self._waiting for job in queue]
        self._fleet.reset()
        self._start_over()
        for job in waited:
            job.visit = self._fleet.route(job.visit.request, now=self._now)
            job.counts = self.counts[job.replica]
            self._waiting[job.replica].append(job)
        for replica in range(self._options.replicas):
            self._admit_waiting(replica)

    def state(self) -> list[dict[str, int | float | None]]:
        """Per replica, what a person wants to know at a glance."""
        return [
            {
                "replica": index,
                "requests": counts.requests,
                "in_flight": self._fleet.replicas[index].load,
                "waiting": len(self._waiting[index]),
                "prompt_tokens": counts.prompt_tokens,
                "cached_tokens": counts.cached_tokens,
                "written_tokens": counts.written_tokens,
                "hit_rate": counts.cached_tokens / counts.prompt_tokens if counts.prompt_tokens else None,
                "output_tokens": counts.output_tokens,
            }
            for index, counts in enumerate(self.counts)
        ]

    def check_integrity(self) -> None:
        self._fleet.check_integrity()

    def _admit(self, job: Job) -> bool:
        if not self._fleet.begin(job.visit, now=self._now):
            return False
        cached = job.visit.cached_tokens
        assert cached is not None
        job.cached_tokens = cached
        options = self._options
        seconds = options.base_ms / 1000 + (job.prompt_tokens - cached) / options.prefill_rate
        # A job that did not wait starts when it was read: the time to tokenise it is part of its base, not on top.
        started = self._now if job in self._waiting[job.replica] else job.read_at
        job.first_token_at = started + seconds * jitter_factor(options.jitter, options.seed, job.call)
        job.counts.requests += 1
        job.counts.prompt_tokens += job.prompt_tokens
        job.counts.cached_tokens += cached
        if isinstance(job.lease, BreakpointLease):
            job.counts.written_tokens = (job.counts.written_tokens or 0) + job.lease.written_tokens
        return True

    def _admit_waiting(self, replica: int) -> None:
        queue = self._waiting[replica]
        while queue and self._admit(queue[0]):
            queue.popleft().admitted()

    def _release(self, job: Job, end: Callable[[], None]) -> None:
        end()
        queue = self._waiting[job.replica]
        if job in queue:
            queue.remove(job)
        # With a shared store, room at one replica is room at all of them.
        for replica in range(len(self._waiting)) if self._options.shared else (job.replica,):
            self._admit_waiting(replica)

    def _do_later(self, action: Callable[[], None]) -> None:
        due = self._now + self._options.write_delay_ms / 1000
        heapq.heappush(self._later, (due, next(self._order), action))
        self.advance(self._now)


def jitter_factor(sigma: float, seed: int, call: int) -> float:
    """Log-normal with median 1: equal seed and call number give an equal factor."""
    return math.exp(sigma * Random(f"{seed}:jitter:{call}").gauss(0, 1)) if sigma else 1.0
