"""Do credited tokens match the time saved? From the calls of the other probes, with a few more where those are few."""

from __future__ import annotations

from hitrate.core.probe_results import Answer
from hitrate.explain.probing.honesty import LEAST_READS, saved_share
from hitrate.live.probes.interface import Most
from hitrate.live.probes.lab import SIZE_TOKENS, CannotTell, Lab

PAIRS = 3
SHORT_SHARE = 0.3


class HonestyProbe:
    name = "honesty"
    question = "Do credited tokens match the time saved?"

    def most(self, waits_s: float) -> Most:
        return Most(calls=2 * PAIRS, tokens_each=SIZE_TOKENS)

    async def run(self, lab: Lab) -> list[Answer]:
        lab.need_an_eye()
        if lab.found.eye.basis == "time":
            text = "Nothing is credited that could be held against the time."
            return [Answer(probe="honesty", status="not applicable", text=text)]
        if lab.scale is None or len(lab.found.reads) < LEAST_READS:
            for _ in range(PAIRS):
                sent = await lab.write(lab.material.prompt(SHORT_SHARE * SIZE_TOKENS))
                await lab.settle()
                await lab.read(sent)
        found = saved_share(lab.colds, lab.found.reads)
        if found.saved is None:
            raise CannotTell(
                "the time to a first token hardly grows with the prompt here, so that no saving can show",
                "longer prompts or a nearer connection would show it",
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


_WORDS = {
    "match": "They match",
    "credited but not faster": "Credited, but not faster",
    "faster than credited": "Faster than credited",
    None: "Too noisy to say",
}

PROBE = HonestyProbe()
