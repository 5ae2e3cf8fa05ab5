"""Do credited tokens match the time saved? From the calls of the other probes, with a few more where those are few."""

from __future__ import annotations

from hitrate.core.probe_results import Answer
from hitrate.explain.probing.honesty import Honesty, saved_share
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, CannotTell, Lab

SHORT_SHARE = 0.3
PAIRS = (SIZE_TOKENS, SHORT_SHARE * SIZE_TOKENS, SIZE_TOKENS, SIZE_TOKENS, SHORT_SHARE * SIZE_TOKENS, SIZE_TOKENS)
"""Lengths of prompts, each sent twice in a row."""


class HonestyProbe:
    name = "honesty"
    question = "Do credited tokens match the time saved?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=2 * len(PAIRS), tokens_each=round(sum(PAIRS) / len(PAIRS)))

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        if lab.found.eye.basis == "time":
            text = "Nothing is credited that could be held against the time."
            return [Answer(probe="honesty", status="not applicable", text=text)]
        found = saved_share(lab.colds, lab.found.reads)
        if found.verdict is None:
            found = await _side_by_side(lab, found)
        if found.saved is None:
            raise CannotTell(
                "the time to a first token grows too little with the prompt, or varies too much, for a saving to show",
                "longer prompts, a quieter machine or a nearer connection would show it",
            )
        share, low, high = (100 * value for value in (found.saved.estimate, found.saved.low, found.saved.high))
        times = f"hits saved {share:.0f} % of the time that their credited tokens take to compute (95 %: {low:.0f} to "
        times += f"{high:.0f} %, n = {found.saved.n})"
        return [
            Answer(
                probe="honesty",
                status="could not tell" if found.verdict is None else "answered",
                text=f"{_WORDS[found.verdict]}: {times}.",
                choice=found.verdict,
                value=found.saved.estimate,
                unit="of the time credited",
                low=found.saved.low,
                high=found.saved.high,
                bounds="interval",
                basis="counts",
                advice="run it again on a quieter network" if found.verdict is None else None,
            )
        ]


async def _side_by_side(lab: Lab, found: Honesty) -> Honesty:
    """From prompts sent cold and warm one after the other: where the target's speed drifted over the run, the cold
    calls of one probe are no measure for the hits of another."""
    colds, reads = len(lab.colds), len(lab.found.reads)
    for tokens in PAIRS:
        sent = await lab.write(lab.material.prompt(tokens))
        await lab.settle()
        await lab.read(sent)
    alone = saved_share(lab.colds[colds:], lab.found.reads[reads:])
    together = saved_share(lab.colds, lab.found.reads)
    return next(
        (one for one in (alone, together) if one.verdict is not None), together if found.saved is None else found
    )


_WORDS = {
    "match": "They match",
    "credited but not faster": "Credited, but not faster",
    "faster than credited": "Faster than credited",
    None: "Too noisy to say",
}

PROBE = HonestyProbe()
