"""What a trace turns out to lack, or to have too much of, for what was asked: counted as it is read, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from hitrate.core.numerals import counted
from hitrate.core.records import Records
from hitrate.core.trace import UNKNOWN, Chunk, Trace
from hitrate.errors import UsageError
from hitrate.sim.plan import SESSIONS_A_REPLICA
from hitrate.sim.policies.registry import needs_sessions
from hitrate.simulating.conversations import Conversations
from hitrate.simulating.wanted import Point, Wanted


class Doubt(Struct, frozen=True):
    """Of times that are not to be trusted as they stand."""

    short: str
    """Goes on a sentence about such a time."""
    warning: str


class SeenTrace:
    """The trace, whose figures are complete when its chunks were read.

    Reading ends with UsageError where a policy goes by sessions and no request is of one.
    """

    def __init__(self, trace: Trace, points: Sequence[Point], wanted: Wanted) -> None:
        self.facts = trace.facts
        self.requests = 0
        self.of_no_session = 0
        self.longest = 0
        """Tokens of a prompt."""
        self.longer_than_timed = 0
        """Prompts that are longer than any that the engine's times were measured with."""
        self.without_length = 0
        """Requests that do not say how long their reply is."""
        self._trace = trace
        self._most = max((point.replicas for point in points), default=1)
        self._conversations = self._none_yet()
        routed = dict.fromkeys(point.policy for point in points if point.replicas > 1 and point.policy)
        self._by_session = [policy for policy in routed if needs_sessions(policy)]
        self._timed = wanted.timed_prompt_tokens
        self._timing, self._timing_name = wanted.timing, wanted.timing_name

    def chunks(self) -> Iterator[Chunk]:
        self.requests = self.of_no_session = self.longest = self.longer_than_timed = 0
        self.without_length = 0
        for chunk in self._trace.chunks():
            yield chunk
            self.requests += len(chunk.input_tokens)
            if self.facts.ordered:
                self._conversations.add(chunk)
            self.of_no_session += chunk.sessions.count(UNKNOWN)
            self.without_length += chunk.output_tokens.count(UNKNOWN)
            self.longest = max(self.longest, max(chunk.input_tokens, default=0))
            if self._timed is not None:
                self.longer_than_timed += sum(tokens > self._timed for tokens in chunk.input_tokens)
        if self._by_session and self.of_no_session == self.requests:
            raise UsageError(
                f"--policy {self._by_session[0]} goes by sessions, and no request of {self.facts.path} names one; use "
                "first-blocks or consistent-hash:blocks=K, which go by how prompts begin"
            )

    def records(self) -> Records:
        return self._trace.records()

    def _none_yet(self) -> Conversations:
        return Conversations(self.facts.block_tokens, SESSIONS_A_REPLICA * self._most)

    @property
    def conversations(self) -> int | None:
        """As prompts tell, up to a number that is enough for all replicas; None where blocks are in no order."""
        return self._conversations.number if self.facts.ordered else None

    def notes(self) -> Iterator[str]:
        if self._timing is not None and self._timed is None:
            yield (
                f"{self._timing_name or 'the timing'} does not say with how long prompts it was measured: "
                "it is not known whether times here are extrapolated"
            )
        for policy in self._by_session if self.of_no_session else ():
            goes = _WITHOUT_SESSION[policy.partition(":")[0]]
            none = f"{self.of_no_session:,} of {counted(self.requests, 'request')} are of none and go {goes}"
            yield f"policy {policy} goes by sessions; {none}"

    def warnings(self) -> Iterator[str]:
        if self._timing is not None and self.without_length:
            yield (
                f"{self.without_length:,} of {counted(self.requests, 'request')} do not say how long their reply is: "
                "one token is assumed, so decoding takes less of the engines here than it will, and times are too short"
            )

    def doubt_of_times(self) -> Doubt | None:
        if self._timing is None or self._timed is None or not self.longer_than_timed:
            return None
        longer = self.longer_than_timed / self.requests
        share = f"{100 * longer:.1f} %" if longer >= 0.001 else f"{self.longer_than_timed:,} of {self.requests:,}"
        left_out = (
            ". Attention over long prompts, which grows with the square of their length, is left out "
            "(prefill_context_s is 0: the measurement could not tell it), so these times are too short"
        )
        return Doubt(
            f"in times that are extrapolated for {share} of the prompts",
            f"times of {self._timing_name} were measured with prompts of up to {self._timed:,} tokens; {share} of the "
            f"prompts here are longer, up to {self.longest:,}, and their times are extrapolated"
            f"{'' if self._timing.prefill_context_s else left_out}",
        )


_WITHOUT_SESSION = {
    "session-affinity": "to any replica",
    "consistent-hash": "by a hash of the whole prompt",
}
