"""Where probes make their calls: caps, waits, evidence, and what earlier probes found for later ones."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.model import Call, Reply
from hitrate.core.money import total_cost
from hitrate.core.probe_results import Observation
from hitrate.core.results import Interval
from hitrate.explain.probing.looks import Eye, Look, Scale, fit_scale, look_at
from hitrate.live.asker import Asker
from hitrate.live.conversation import Message
from hitrate.live.probes.material import FIRST_OVERHEAD, Material, marked

SIZE_TOKENS = 2600
"""Length of a prefix unless the target's own minimum asks for a longer one: above what most vendors ask for, and long
enough for its computing to show in the time."""
LONGER_TOKENS = 7000
"""Tried where nothing of that length is reused: some models cache from 4,096 or 6,144 tokens on."""
MOST_FAILURES = 5
"""After so many calls in a row without an answer nothing more is asked."""
SURE_CHANCE = 0.95
MOST_TRIALS = 6
SPARE_TRIALS = 2
"""In place of trials in which a call failed."""


class CannotTell(Exception):
    """Ends a probe without an answer: why, and what to do. What it sent stays as evidence."""

    def __init__(self, reason: str, advice: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


class CallsSpent(CannotTell):
    def __init__(self, most_calls: int) -> None:
        super().__init__(
            f"the cap of {most_calls} calls was reached first", "raise --max-calls, or name it with --only"
        )


class Sent(Struct, frozen=True, kw_only=True):
    """A prompt that was sent once, to be read again."""

    messages: list[Message]
    session: str
    look: Look | None
    reply: Reply | None = None
    fresh: bool = True
    """False when an earlier try broke off: it may have stored the prompt already."""


class Findings(Struct, kw_only=True):
    """What is known of the target so far."""

    eye: Eye = Eye()
    told: str | None = None
    size: float = SIZE_TOKENS
    settle_s: float = 0.0
    """Wait between a write and its read."""
    delay_tries: list[tuple[float, bool]] = []
    replicas: Interval | None = None
    chance: float = 1.0
    """How often a read reaches the replica that was written to, with the affinity in use."""
    affinity: str | None = None
    """What the askers send in place of the options' own."""
    step: int | None = None
    whole_resends: bool = False
    """The very same prompt is served whole, unlike one that goes on: reads have to go on to show anything else."""
    minimum: tuple[int, int] | None = None
    """Longest uncredited and shortest credited prompt."""
    reads: list[Look] = []
    """Reads of whole prompts that were found."""


class Lab:
    """Calls go out one after the other. `sleep` and the clock of the calls' own stamps are all the time there is, so a
    test may replace both. `waits_s` bounds the seconds that probes may wait in all. `mark` sets cache markers on a wire
    that has none of its own accord, for rules that cache nothing without."""

    def __init__(
        self,
        asker: Asker,
        material: Material,
        *,
        max_calls: int,
        waits_s: float,
        other_key: Asker | None = None,
        mark: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.asker = asker
        self.other_key = other_key
        self.mark = mark
        self.material = material
        self.max_calls = max_calls
        self.waits_left_s = waits_s
        self.found = Findings()
        self.calls = 0
        self.failed = 0
        self.observations: list[Observation] = []
        self.answered: list[Call] = []
        self.probe = ""
        self._sleep = sleep
        self.colds: list[tuple[float, float]] = []
        """(tokens computed, seconds to the first token) of never-seen prompts."""
        self.counts_tokens = False
        """Whether any reply told how many tokens its prompt has."""
        self._failures_in_a_row = 0

    @property
    def now_s(self) -> float:
        return self.asker.client.now_s()

    @property
    def target(self) -> Any:
        return self.asker.target

    @property
    def scale(self) -> Scale | None:
        """Seconds against uncached tokens, from every never-seen prompt so far."""
        return fit_scale(self.colds)

    def cost_since(self, answered: int) -> float | None:
        """Of the calls from that answered one on, None where one of them cannot be priced."""
        if self.asker.price is None or not self.asker.price.known:
            return None
        return total_cost([call.usage for call in self.answered[answered:]], self.asker.price)

    async def wait(self, seconds: float) -> None:
        """Raises CannotTell when the time for waiting would be over."""
        if seconds <= 0:
            return
        if seconds > self.waits_left_s:
            raise CannotTell("the time for waiting is over", "give more with --time")
        self.waits_left_s -= seconds
        await self._sleep(seconds)

    async def settle(self) -> None:
        """The pause that a write needs before it can be read."""
        await self.pause(self.found.settle_s)

    async def pause(self, seconds: float) -> None:
        """A wait that is not taken from the time that probes may wait: it is short, or nothing can be done without."""
        if seconds > 0:
            await self._sleep(seconds)

    async def write(self, messages: list[Message], *, role: str = "write", subject: str = "", **how: Any) -> Sent:
        """Send a prompt whose text was never sent before: the cold side of every comparison. It is sent once more
        where that broke off; a read is not, for it may find what its own first try has left."""
        session = how.pop("session", None) or self.material.session()
        look, reply = await self.send(messages, session=session, role=role, subject=subject, **how)
        fresh = look is not None
        if look is None:
            look, reply = await self.send(messages, session=session, role=f"{role} again", subject=subject, **how)
        if look is not None:
            if not look.is_estimate:
                self.material.learn(messages, look.prompt_tokens)
            if fresh and look.ttft_s is not None:
                self.colds.append((look.prompt_tokens - (look.cached_tokens or 0), look.ttft_s))
        return Sent(messages=messages, session=session, look=look, reply=reply, fresh=fresh)

    async def read(
        self, sent: Sent, *, role: str = "read", subject: str = "", **how: Any
    ) -> tuple[Look | None, bool | None]:
        """Send a written prompt again, whole, or as the beginning of a longer one where only that shows what is
        stored. `found` is None for a call that failed or cannot tell."""
        more = self._going_on() if self.found.whole_resends else []
        look, found = await self.ask_again([*sent.messages, *more], sent, role=role, subject=subject, **how)
        if found and look is not None:
            self.found.reads.append(look)
        return look, found

    def _going_on(self) -> list[Message]:
        """Another one each time, since the longer prompt would be served whole, too."""
        return [
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": self.material.text(FIRST_OVERHEAD)},
        ]

    async def ask_again(
        self,
        messages: list[Message],
        sent: Sent,
        *,
        expected: float | None = None,
        role: str = "read",
        subject: str = "",
        **how: Any,
    ) -> tuple[Look | None, bool | None]:
        """Send `messages`, which begin with what was written; `expected` tokens of them (default: all that was
        written) may be found."""
        look, _ = await self.send(messages, session=sent.session, role=role, subject=subject, **how)
        if look is None or sent.look is None:
            return None, None
        found = self.found.eye.found(look, sent.look.prompt_tokens if expected is None else expected)
        age = look.sent_at_s - sent.look.first_token_at_s
        self.observations[-1] = replace(self.observations[-1], found=found, age_s=round(age, 3))
        return look, found

    async def send(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        session: str,
        role: str,
        subject: str = "",
        affinity: str | None = None,
        other_key: bool = False,
        **how: Any,
    ) -> tuple[Look | None, Reply | None]:
        """One call; None for one that was refused or broke off. Raises CallsSpent before a call over the cap, and
        CannotTell when nothing is answered any more."""
        if self.calls >= self.max_calls:
            raise CallsSpent(self.max_calls)
        self.calls += 1
        asker = self.other_key if other_key and self.other_key is not None else self.asker
        asker.spent_usd = self.asker.spent_usd
        call = await asker.ask(
            marked(messages) if self.mark else messages,
            session=session,
            label=f"{self.probe}/{role}",
            affinity=affinity or self.found.affinity,
            **how,
        )
        self.asker.spent_usd = asker.spent_usd
        # Where no reply has told a count, lengths by words do: what they are held against is the time.
        look = look_at(call, None if self.counts_tokens else self.material.about(messages))
        self.counts_tokens |= call.usage.prompt_tokens is not None
        self.observations.append(
            Observation(
                role=role,
                subject=subject,
                prompt_tokens=call.usage.prompt_tokens,
                cached_tokens=call.usage.cached_tokens,
                ttft_ms=None if look is None or look.ttft_s is None else round(look.ttft_s * 1000, 3),
                error=call.error,
            )
        )
        if look is None:
            self._failed(call)
            return None, None
        self._failures_in_a_row = 0
        self.answered.append(call)
        return look, call.reply

    def _failed(self, call: Call) -> None:
        self.failed += 1
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= MOST_FAILURES:
            said = call.error or _why_no_evidence(call)
            raise CannotTell(
                f"{MOST_FAILURES} calls in a row failed, the last with: {said}",
                "see hitrate doctor, and lower the rate with --rpm",
            )

    def need_an_eye(self) -> None:
        """Raises CannotTell where no call shows whether its prompt was read from the cache."""
        if self.found.eye.basis is not None:
            return
        if self.found.told is None:
            raise CannotTell("no prompt could be sent twice: see 'hidden'")
        raise CannotTell("no call shows whether its prompt was reused: see 'hidden'")

    @property
    def trials(self) -> int:
        """How many trials it takes until all of them missing means something; 0 when it would take too many."""
        chance, by_time = self.found.chance, self.found.eye.basis == "time"
        if chance >= SURE_CHANCE:
            return 3 if by_time else 1
        if by_time:
            return 0
        needed = math.ceil(math.log(0.05) / math.log(1 - chance)) if chance > 0 else MOST_TRIALS + 1
        return needed if needed <= MOST_TRIALS else 0

    async def decide(self, trial: Callable[[], Awaitable[bool | None]]) -> bool | None:
        """Whether trials are found: by counts one that is found is enough, and with one replica one that is not; by
        time two of three agree. None where misses may as well be another replica's."""
        trials = self.trials
        by_time = self.found.eye.basis == "time"
        votes: list[bool] = []
        for _ in range((trials or MOST_TRIALS // 2) + SPARE_TRIALS):
            found = await trial()
            if found is None:
                continue
            votes.append(found)
            hits, misses = votes.count(True), votes.count(False)
            if by_time and hits == 2:
                return True
            if by_time and trials and misses == 2:
                return False
            if not by_time and hits:
                return True
            if not by_time and trials and misses >= trials:
                return False
        return None

    def too_many_replicas(self) -> CannotTell:
        replicas = self.found.replicas
        shown = "several replicas" if replicas is None else f"about {replicas.estimate:.0f} replicas"
        return CannotTell(
            f"{shown} stand behind the address and nothing keeps a session on one of them, so that a miss says little",
            "ask one replica by its own address, or name a knob that works with --affinity",
        )


def _why_no_evidence(call: Call) -> str:
    usage = call.usage
    if usage.accounting_fault:
        return f"the counts contradict each other: {usage.cached_tokens} cached of {usage.prompt_tokens} prompt tokens"
    return "the reply came without token counts"
