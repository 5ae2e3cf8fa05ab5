"""What `test`, `bench` and `probe` share: open a target, make the calls of a plan, keep them, and show the result."""

from __future__ import annotations

import datetime
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from hitrate.cli.keeping import Keeper
from hitrate.cli.prediction import check_rule
from hitrate.cli.progress import Progress
from hitrate.cli.showing import show
from hitrate.cli.started import Started
from hitrate.core.model import Call
from hitrate.core.money import Price, total_cost
from hitrate.core.results import Measurement
from hitrate.engines.running import settings_at
from hitrate.live.asker import WARM_UP, Asker, CallOptions
from hitrate.live.lag import LoopLag, measurement
from hitrate.live.multi_turn import INTERRUPTED
from hitrate.live.pace import Pace
from hitrate.live.session import check_budget, choose_model, choose_price, empty_slots, open_target
from hitrate.logs.store import RunResult
from hitrate.targets.dialects.interface import Dialect


class RunOptions(Struct, frozen=True, kw_only=True):
    """The shared options of the command line, as given."""

    model: str | None
    headers: dict[str, str]
    timeout: float
    max_tokens: int
    temperature: float
    affinity: str
    cold: str
    extra: dict[str, Any]
    rule_set: str | None
    rule_settings: dict[str, Any]
    rpm: float | None
    price: tuple[float, ...] | None
    budget: float | None
    seed: int | None
    store: bool


class Size(Struct, frozen=True, kw_only=True):
    """How much a plan will ask for, to say what it may cost."""

    calls: int
    prompt_tokens: int
    connections: int


BYTES_PER_TOKEN = 3
"""Fewer than texts have for a token in the vocabularies of today's models: an estimate from it is not too low."""


def tokens_at_most(text: str) -> int:
    return len(text.encode()) // BYTES_PER_TOKEN


class Measured(Struct, frozen=True, kw_only=True):
    """A run's calls (the warm-up among them), and what is known beside them."""

    run_id: str | None
    started_at: str
    model: str
    calls: tuple[Call, ...]
    measurement: Measurement
    lag_samples: int
    """How many samples the loop lag of `measurement` stands on."""
    price: Price
    dialect: Dialect
    affinity_sent: str | None
    warnings: tuple[str, ...]
    interrupted: bool

    @property
    def cost_usd(self) -> float | None:
        answered = [call.usage for call in self.calls if call.reply is not None]
        return total_cost(answered, self.price) if self.price.known else None


_TAKEN_AS_GIVEN = (
    "temperature",
    "affinity",
    "cold",
    "extra",
    "rule_set",
    "rule_settings",
    "rpm",
    "price",
    "budget",
    "seed",
    "store",
)


def run_options(values: dict[str, Any], default_max_tokens: int) -> RunOptions:
    """From the keyword arguments of a command; `values` keeps those that are not shared."""
    return RunOptions(
        model=values.pop("model"),
        headers=values.pop("header"),
        timeout=values.pop("timeout"),
        max_tokens=values.pop("max_tokens") or default_max_tokens,
        **{name: values.pop(name) for name in _TAKEN_AS_GIVEN},
    )


def random_source(options: RunOptions) -> random.Random:
    return random.Random(options.seed)


async def measure(
    kind: str,
    started: Started,
    options: RunOptions,
    size: Size,
    work: Callable[[Asker], Awaitable[list[str]]],
    keeper: Keeper,
    progress: Progress,
) -> Measured:
    """Open the target, warm up, do `work` with an Asker, and gather what came. Raises HitrateError on refusal."""
    check_rule(started, options.rule_set, options.rule_settings, options.model)
    target = started.target
    if options.cold == "nonce":
        target = replace(target, cold_knob=None, cold_without_markers=False)
    opening = open_target(
        target,
        key=started.key,
        headers=options.headers,
        timeout_s=options.timeout,
        connections=size.connections,
        on_wait=progress.wait,
    )
    async with opening as opened:
        model = choose_model(opened, options.model)
        check_rule(started, options.rule_set, options.rule_settings, model)
        price = choose_price(opened, model, options.price)
        said = check_budget(
            target.name, size.calls, size.prompt_tokens, size.calls * options.max_tokens, price, options.budget
        )
        if said is not None and target.name != "practice":
            progress.say(said)
        started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        keeper.begin(kind, target.name, model, started_at)

        def on_call(call: Call, idle: bool) -> None:
            keeper.call(call, idle)
            if call.label != WARM_UP:
                progress.call(call)

        asker = Asker(
            opened.client,
            opened.dialect,
            target,
            model,
            options=CallOptions(
                max_tokens=options.max_tokens,
                temperature=options.temperature,
                affinity=options.affinity,
                extra={**target.extra, **options.extra},
                budget_usd=options.budget,
            ),
            pace=Pace(options.rpm, opened.client.now_s),
            price=price,
            known_models=[entry.id for entry in opened.models],
            on_call=on_call,
        )
        own_engine = settings_at(str(target.base_url)) if options.cold != "none" else None
        if own_engine is not None:
            await empty_slots(opened.client, own_engine["slots"])
        await asker.warm_up()
        async with LoopLag() as lag:
            warnings = await work(asker)
        counted = [call for call in asker.calls if call.label != WARM_UP]
        progress.clear()
        return Measured(
            run_id=keeper.run_id,
            started_at=started_at,
            model=model,
            calls=tuple(asker.calls),
            measurement=measurement(
                counted,
                lag_ms=lag.samples_ms,
                connect_times_s=opened.client.connect_times_s,
                asked_concurrency=size.connections,
            ),
            lag_samples=len(lag.samples_ms),
            price=price,
            dialect=opened.dialect,
            affinity_sent=asker.affinity_sent,
            warnings=(*warnings, *stream_warnings(counted)),
            interrupted=any(warning.startswith(INTERRUPTED) for warning in warnings),
        )


def stream_warnings(calls: Sequence[Call]) -> list[str]:
    """That whole replies with content came in one piece, so that no first token could be timed."""
    whole = [call for call in calls if call.reply is not None and call.error is None and call.timing is not None]
    unstreamed = sum(_in_one_piece(call) for call in whole)
    if not unstreamed:
        return []
    where = "" if unstreamed == len(whole) else f" in {unstreamed} of {len(whole)} calls"
    return [f"the target did not stream{where}: no time to first token"]


def _in_one_piece(call: Call) -> bool:
    reply, timing = call.reply, call.timing
    if reply is None or timing is None or timing.ttft_s is not None:
        return False
    return bool(reply.text or reply.reasoning or reply.tool_calls)


TIMER_ROUNDING_MS = 1.0
"""Of the samples of loop lag, not of the stamps: epoll waits in whole milliseconds."""
LEAST_LAG_MS = 2.0
"""Below it loop lag is hardly more than that rounding."""
LEAST_LAG_SAMPLES = 50
"""Half a second's worth: of fewer, the 99th percentile is the one worst sample."""


def clock_warnings(measured: Measurement, lag_samples: int, warm_ttfts_ms: Sequence[float]) -> list[str]:
    """What the run's own error does to its figures, where it matters."""
    warnings = []
    fastest = min(warm_ttfts_ms, default=None)
    lag_ms = measured.loop_lag_p99_ms if lag_samples >= LEAST_LAG_SAMPLES else None
    if fastest is not None and lag_ms is not None and lag_ms > max(LEAST_LAG_MS, TIMER_ROUNDING_MS + 0.2 * fastest):
        warnings.append(
            f"this machine was busy: the event loop ran up to {lag_ms:.1f} ms late (p99) while the "
            f"fastest warm call took {fastest:.1f} ms; run it again on a quieter machine or with fewer sessions"
        )
    if measured.calls and measured.late_first_reads > 0.05 * measured.calls:
        warnings.append(
            f"{measured.late_first_reads} of {measured.calls} TTFTs are upper bounds: several tokens arrived at once"
        )
    return warnings


def finish(result: RunResult, keeper: Keeper, measured: Measured, output: str | None, html: str | None) -> int:
    """Store and show a result; the exit code is 130 for a run that was interrupted, 3 when no call was answered."""
    keeper.finish(result)
    show(result, output, html)
    if measured.interrupted:
        return 130
    counted = [call for call in measured.calls if call.label != WARM_UP]
    return 3 if counted and all(call.reply is None or call.error is not None for call in counted) else 0


def stored_hint(keeper: Keeper) -> None:
    if keeper.run_id is not None:
        click.echo(f"stored as {keeper.run_id}: hitrate show {keeper.run_id}", err=True)
