"""`hitrate probe`: small experiments for what a vendor or engine does not publish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import Finite, call_options, output_options, store_option, target_options
from hitrate.cli.practice_options import practice_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hitrate.cli.documented import Known
    from hitrate.cli.keeping import Keeper
    from hitrate.cli.live_run import Measured, RunOptions
    from hitrate.cli.progress import Progress
    from hitrate.cli.started import Started
    from hitrate.core.money import Price
    from hitrate.core.probe_results import Answer, PlannedProbe, ProbeResult
    from hitrate.live.asker import Asker


@click.command()
@click.argument("target")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Make this probe alone (and 'hidden', which shows how calls are read); repeatable. A wrong name lists all.",
)
@click.option(
    "--max-calls", type=click.IntRange(min=2), default=150, show_default=True, help="At most this many calls in all."
)
@click.option(
    "--time",
    "time_s",
    type=Finite(min=0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest time to spend waiting; the lifetime is looked for within it.",
)
@click.option(
    "--other-key-variable",
    metavar="NAME",
    help="Environment variable with a second API key: whether its calls share the cache.",
)
@target_options
@call_options
@practice_options
@output_options
@store_option
def probe(
    target: str,
    only: tuple[str, ...],
    max_calls: int,
    time_s: float,
    other_key_variable: str | None,
    output: str | None,
    html_file: str | None,
    **values: Any,
) -> int:
    """Find out what a vendor or engine does not publish about its cache.

    \b
    hitrate probe practice --block-size 32 --replicas 4
    hitrate probe llamacpp --time 20
    hitrate probe openai --model MODEL --only minimum --only lifetime --time 900 --budget 0.50
    """
    from hitrate.cli.keeping import Keeper
    from hitrate.cli.live_run import finish, run_options, stored_hint
    from hitrate.cli.progress import Progress
    from hitrate.cli.showing import check_writable
    from hitrate.cli.started import started
    from hitrate.live.probes.registry import chosen

    check_writable(html_file)
    names = chosen(only)
    other_key = _key_in(other_key_variable)
    base_url, key_variable = values.pop("base_url"), values.pop("key_variable")
    options = run_options(values, default_max_tokens=1)
    keeper = Keeper(options.store)
    with started(target, base_url=base_url, key_variable=key_variable, practice=values) as start:
        run = _Run(start, options, names, max_calls, time_s, other_key)
        result, measured = run.measured(keeper, Progress(max_calls))
    code = finish(result, keeper, measured, output, html_file)
    stored_hint(keeper)
    keeper.close()
    return code


def _key_in(variable: str | None) -> str | None:
    import os

    from hitrate.errors import KeyMissing

    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise KeyMissing(f"--other-key-variable: {variable} is not set; nothing was sent")
    return key


class _Run:
    def __init__(
        self,
        start: Started,
        options: RunOptions,
        names: list[str],
        max_calls: int,
        time_s: float,
        other_key: str | None,
    ) -> None:
        from hitrate.cli.live_run import random_source

        self.start = start
        self.options = options
        self.names = names
        self.max_calls = max_calls
        self.time_s = time_s
        self.other_key = other_key
        self.random = random_source(options)
        self.answers: list[Answer] = []
        self.plan: list[PlannedProbe] = []
        self.counted = (0, 0)
        self.known: Known | None = None

    def measured(self, keeper: Keeper, progress: Progress) -> tuple[ProbeResult, Measured]:
        from hitrate.cli.live_run import measure
        from hitrate.live import loop

        async def work(asker: Asker) -> list[str]:
            return await self._probe(asker, progress)

        measured = loop.run(measure("probe", self.start, self.options, self._size(), work, keeper, progress))
        return self._result(measured), measured

    def _size(self) -> Any:
        from hitrate.cli.live_run import Size
        from hitrate.core.money import Price
        from hitrate.live.probes.runner import plan, planned_calls

        planned = plan(self.names, self.time_s, Price())
        calls, tokens = planned_calls(planned, self.max_calls)
        return Size(calls=calls, prompt_tokens=tokens, connections=1)

    async def _probe(self, asker: Asker, progress: Progress) -> list[str]:
        import asyncio

        from hitrate.cli.documented import documented_of
        from hitrate.core.money import Price
        from hitrate.live.multi_turn import until_stopped
        from hitrate.live.probes.lab import Lab
        from hitrate.live.probes.material import Material
        from hitrate.live.probes.runner import plan, run_probes

        known = await asyncio.to_thread(documented_of, self.start, asker.model, self.options.rule_set)
        self.known = known
        self.plan = plan(self.names, self.time_s, asker.price or Price())
        # Of others than the practice server, what a run may cost has been said already.
        price = asker.price if self.start.target.name == "practice" else None
        for line in plan_in_words(self.plan, self.max_calls, self.time_s, price):
            progress.say(line)
        async for other in self._other(asker):
            lab = Lab(
                asker,
                Material(self.random),
                max_calls=self.max_calls,
                waits_s=self.time_s,
                other_key=other,
                mark=known.needs_marks and self.start.target.dialect == "openai-chat",
            )
            made = run_probes(lab, self.names, known.documented, self.answers)
            warnings = await until_stopped(asker, made)
            self.counted = (lab.calls, lab.failed)
        return warnings

    async def _other(self, asker: Asker) -> AsyncIterator[Asker | None]:
        """The same run with the second key, where one was given."""
        from hitrate.live.session import connected

        if self.other_key is None:
            yield None
            return
        headers, timeout_s = self.options.headers, self.options.timeout
        async with connected(self.start.target, key=self.other_key, headers=headers, timeout_s=timeout_s) as client:
            yield asker.with_client(client)

    def _result(self, measured: Measured) -> ProbeResult:
        from hitrate.cli.documented import Known
        from hitrate.core.probe_results import ProbeResult
        from hitrate.explain.probing.documented import Documented
        from hitrate.live.asker import WARM_UP

        known = self.known or Known(Documented())
        calls, failed = self.counted
        counted = [call for call in measured.calls if call.label != WARM_UP]
        return ProbeResult(
            run_id=measured.run_id,
            started_at=measured.started_at,
            target=self.start.target.name,
            model=measured.model,
            rule_set=known.rule,
            rule_source=known.source,
            rule_date=known.date,
            plan=tuple(self.plan),
            most_calls=self.max_calls,
            answers=tuple(self.answers),
            calls=calls,
            failed=failed,
            prompt_tokens=sum(call.usage.prompt_tokens or 0 for call in counted),
            measurement=measured.measurement,
            cost_usd=measured.cost_usd,
            warnings=measured.warnings,
        )


def plan_in_words(plan: Sequence[PlannedProbe], max_calls: int, time_s: float, price: Price | None) -> list[str]:
    """What is said before the first call."""
    from hitrate.core.money import upper_bound
    from hitrate.live.probes.runner import planned_calls

    calls, tokens = planned_calls(plan, max_calls)
    each = ", ".join(f"{one.probe} {one.calls}" for one in plan)
    said = [f"plan: at most {calls} calls in all, about {tokens:,} prompt tokens, and {time_s:g} s of waiting"]
    if price is not None and price.known and (most := upper_bound(tokens, calls, price)) is not None:
        said[0] += f"; at most about ${most:.4f}"
    return [*said, f"      at most, by probe: {each}"]
