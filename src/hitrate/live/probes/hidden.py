"""Is anything reused, and do the replies say so? The calibration of every other probe, too.

Never-seen prompts and the same ones again, in turns. Where counts show reuse, four pairs are enough. Where they show
none, later reads, a longer prompt and more pairs follow, and times decide.
"""

from __future__ import annotations

from hitrate.core.probe_results import Answer
from hitrate.explain.probing.hidden import Reuse, judge_reuse
from hitrate.explain.probing.looks import Eye, Look
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import LONGER_TOKENS, SIZE_TOKENS, Lab, Sent

FIRST_PAIRS, MORE_PAIRS, LATE_READS = 4, 4, 6
POLLS_AFTER_S = (1.0, 2.0, 5.0, 7.0)
"""Waits between reads of one prompt where none was found at once: an entry may take seconds to be written."""
REPLICA_READS = 8
"""Further reads of that prompt at once: with many replicas each one has to see it first."""
LATE_S = 15.0


class Hidden:
    name = "hidden"
    question = "Is anything reused, and is it reported?"

    def most(self, waits_s: float) -> Most:
        polls = len(POLLS_AFTER_S) + REPLICA_READS
        calls = 2 * (FIRST_PAIRS + MORE_PAIRS) + polls + 3 + 2 * LATE_READS
        return Most(calls=calls, tokens_each=SIZE_TOKENS, waits_s=sum(POLLS_AFTER_S) + LATE_S)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.found.eye = Eye("counts")
        try:
            calibration = _Calibration(lab)
            reuse = await calibration.run()
        except BaseException:
            lab.found.eye = Eye()
            raise
        lab.found.eye, lab.found.told = reuse.eye, reuse.told
        lab.found.delay_tries = calibration.tries(reuse.eye)
        return [_answer(lab, reuse, cut_short=calibration.cut_short)]


class _Calibration:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.written: list[Sent] = []
        self.writes: list[Look] = []
        self.reads: list[Look] = []
        self.ages: list[tuple[float, Look]] = []
        """Of every read, in seconds since the first token of its write."""
        self.cut_short = False
        """Whether the time for waiting ended before it was looked again later."""

    def tries(self, eye: Eye) -> list[tuple[float, bool]]:
        """(age, whether it was found) of the reads that can tell."""
        found = [(age, eye.found(look, look.prompt_tokens)) for age, look in self.ages]
        return [(age, one) for age, one in found if one is not None]

    async def run(self) -> Reuse:
        for _ in range(FIRST_PAIRS):
            await self.pair()
        reuse = judge_reuse(self.writes, self.reads)
        if reuse.told == "zero":
            reuse = await self.by_later_counts(reuse)
        if reuse.told != "counts":
            reuse = await self.by_time()
        return reuse

    async def write(self, tokens: float = SIZE_TOKENS) -> Sent:
        sent = await self.lab.write(self.lab.material.prompt(tokens))
        if sent.look is not None and tokens == SIZE_TOKENS:
            self.written.append(sent)
            self.writes += [sent.look] if sent.fresh else []
        return sent

    async def read(self, sent: Sent) -> Look | None:
        look, _ = await self.lab.read(sent)
        if look is not None and sent.look is not None:
            self.ages.append((look.sent_at_s - sent.look.first_token_at_s, look))
        return look

    async def pair(self) -> None:
        look = await self.read(await self.write())
        if look is not None:
            self.reads.append(look)

    async def by_later_counts(self, reuse: Reuse) -> Reuse:
        """Read one prompt again later, then as often as many replicas would take, then a longer one."""
        if not self.written:
            return reuse
        first = self.written[0]
        for wait_s in POLLS_AFTER_S:
            if not await self._waited(wait_s):
                break
            if found := await self._counted(first):
                age, _ = self.ages[-1]
                self.lab.found.settle_s = 1.1 * age + 0.5
                return found
        for _ in range(REPLICA_READS):
            if found := await self._counted(first):
                return found
        longer = await self.write(LONGER_TOKENS)
        for wait_s in (0.0, 1.0):
            if not await self._waited(wait_s):
                break
            if found := await self._counted(longer):
                self.lab.found.size = LONGER_TOKENS
                return found
        return reuse

    async def _waited(self, seconds: float) -> bool:
        """False where the time for waiting does not suffice: what was seen so far has to do."""
        self.cut_short |= seconds > self.lab.waits_left_s
        if seconds > self.lab.waits_left_s:
            return False
        await self.lab.wait(seconds)
        return True

    async def _counted(self, sent: Sent) -> Reuse | None:
        look = await self.read(sent)
        if look is None:
            return None
        reuse = judge_reuse(self.writes, [look])
        return reuse if reuse.told == "counts" else None

    async def by_time(self) -> Reuse:
        """More pairs at once; where those start no sooner, reads after a while, between fresh prompts."""
        for _ in range(MORE_PAIRS):
            await self.pair()
        at_once = judge_reuse(self.writes, self.reads)
        if at_once.told == "counts" or at_once.hidden:
            return at_once
        if not await self._waited(LATE_S):
            return at_once
        late = []
        for sent in self.written[:LATE_READS]:
            look = await self.read(sent)
            late += [] if look is None else [look]
            await self.write()
        later = judge_reuse(self.writes, late)
        if later.told == "counts" or later.hidden:
            self.lab.found.settle_s = LATE_S
            return later
        return at_once


def _answer(lab: Lab, reuse: Reuse, *, cut_short: bool) -> Answer:
    found = sum(found for _, found in lab.found.delay_tries)
    tried = len(lab.found.delay_tries)
    times = ""
    if reuse.cold_s is not None and reuse.warm_s is not None:
        times = f"{1000 * reuse.warm_s:,.1f} ms against {1000 * reuse.cold_s:,.1f} ms"
    if reuse.told == "counts":
        text = f"Reuse is reported: {found} of {tried} repeated prompts were credited"
        text += f" (first token after {times})." if times else "."
        return Answer(probe="hidden", status="answered", text=text, choice="reported", basis="counts")
    what = "0 cached tokens are reported" if reuse.told == "zero" else "cached tokens are not reported"
    if not lab.counts_tokens:
        what = "token counts are not reported, lengths are estimated by words"
    if reuse.hidden:
        text = f"Hidden reuse: {what}, yet repeated prompts start sooner, {times} (p = {reuse.p_value:.2g})."
        advice = None
        if reuse.eye.basis is None:
            advice = (
                "single times are too noisy to stand in for counts: other probes cannot tell; use a quieter network"
            )
        return Answer(
            probe="hidden",
            status="answered",
            text=text,
            choice="hidden",
            p_value=reuse.p_value,
            basis="time",
            advice=advice,
        )
    if not times:
        text = f"{what[0].upper()}{what[1:]}, and no time to a first token was seen."
        return Answer(probe="hidden", status="could not tell", text=text, advice="use a target that streams")
    if cut_short:
        return Answer(
            probe="hidden",
            status="could not tell",
            text=f"No reuse was seen at once ({what}, {times}), and there was no time to look again later.",
            p_value=reuse.p_value,
            basis="time",
            advice=f"give more with --time: {sum(POLLS_AFTER_S) + 1 + LATE_S:g} s are enough",
        )
    return Answer(
        probe="hidden",
        status="answered",
        text=f"No reuse was seen: {what}, and repeated prompts start no sooner, {times} (p = {reuse.p_value:.2g}).",
        choice="none seen",
        p_value=reuse.p_value,
        basis="time",
        advice=lab.target.reporting_hint or "check that prefix caching is turned on: hitrate doctor",
    )


PROBE = Hidden()
