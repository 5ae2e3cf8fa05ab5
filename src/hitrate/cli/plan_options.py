"""Options that make a plan of a replay: virtual time and its goal, prices of vendors and of GPUs."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import Finite, all_of

if TYPE_CHECKING:
    from hitrate.core.money import Price
    from hitrate.core.simulation_results import Goal

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_GOAL = re.compile(r"(?:(?P<statistic>mean|p50|p90|p99):)?(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m)")


def _stores(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[float | None, ...]:
    words = {"none": None, "unlimited": math.inf}
    found: list[float | None] = []
    for part in filter(None, map(str.strip, value.split(","))):
        try:
            size = words[part] if part in words else float(part)
        except ValueError:
            size = 0.0
        if size is not None and not size > 0:
            raise click.BadParameter(f"expected GiB above 0, none or unlimited, with commas between; got {part!r}")
        found.append(size)
    return tuple(dict.fromkeys(found)) or (None,)


def _goal(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Goal | None:
    from hitrate.core.simulation_results import Goal

    if value is None:
        return None
    found = _GOAL.fullmatch(value.strip())
    if found is None or not float(found["number"]):
        raise click.BadParameter(f"expected a time like 2s or 800ms, of the p99 or as p90:2s or mean:1s; got {value!r}")
    return Goal(statistic=found["statistic"] or "p99", seconds=float(found["number"]) * _SECONDS[found["unit"]])


plan_options = all_of(
    click.option(
        "--store-gib",
        "stores_gib",
        callback=_stores,
        default="none",
        show_default=True,
        metavar="LIST",
        help="A store that all replicas share behind their caches, as none,512,unlimited.",
    ),
    click.option(
        "--store-gbps",
        type=Finite(min=0, min_open=True),
        metavar="GB/S",
        help="How fast a replica gets what the store has; left out, at once.",
    ),
    click.option(
        "--timing",
        metavar="NAME|FILE",
        help="Times of an engine, as `hitrate calibrate` writes them: requests then overlap, and TTFTs are told.",
    ),
    click.option(
        "--rate",
        "arrival_rate",
        type=Finite(min=0, min_open=True),
        default=1.0,
        show_default=True,
        metavar="X",
        help="Let requests arrive X times as fast as in the trace.",
    ),
    click.option(
        "--slo-ttft",
        "goal",
        callback=_goal,
        metavar="[STATISTIC:]TIME",
        help="A goal to plan for: 2s for the p99, or as p90:2s, p50:500ms, mean:1s. Needs --timing.",
    ),
    click.option(
        "--price",
        metavar="MODEL|IN,CACHED,OUT[,WRITE[,WRITE1H]]",
        help="What a vendor bills: a model's list price, or US dollars per million tokens.",
    ),
    click.option("--provider", metavar="TARGET", help="Who sells the model of --price, where its name does not say."),
    click.option("--prices-from", metavar="TARGET", help="Ask this target for the price (GET /v1/models)."),
    click.option(
        "--usd-per-gpu-hour", type=Finite(min=0), metavar="USD", help="Price of a GPU of your own, used or not."
    ),
    click.option(
        "--gpus-per-replica", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="GPUs of one."
    ),
    click.option("--no-plan", is_flag=True, help="Rows alone: choose none, and replay nothing to measure them by."),
)


def plan_members(
    *,
    stores_gib: tuple[float | None, ...],
    store_gbps: float | None,
    timing: str | None,
    arrival_rate: float,
    goal: Goal | None,
    price: str | None,
    provider: str | None,
    prices_from: str | None,
    usd_per_gpu_hour: float | None,
    gpus_per_replica: int,
    no_plan: bool,
) -> dict[str, Any]:
    """Members of `Wanted` from the options of that name. UsageError, InputFileError and TargetError as for prices."""
    return {
        "stores_gib": stores_gib,
        "store_bytes_per_s": None if store_gbps is None else 1e9 * store_gbps,
        **_timed(timing),
        "arrival_rate": arrival_rate,
        "goal": goal,
        "price": _price(price, provider, prices_from),
        "usd_per_gpu_hour": usd_per_gpu_hour,
        "gpus_per_replica": gpus_per_replica,
        "plan": not no_plan,
    }


def _timed(named: str | None) -> dict[str, Any]:
    if named is None:
        return {}
    from hitrate.timings import read_timing

    timing, longest_prompt_tokens = read_timing(named)
    return {"timing": timing, "timing_name": named, "timed_prompt_tokens": longest_prompt_tokens}


def _price(named: str | None, provider: str | None, prices_from: str | None) -> Price | None:
    """UsageError where none is known."""
    from hitrate.cli.log_options import given_price, price_book
    from hitrate.core.money import Unpriced
    from hitrate.errors import UsageError
    from hitrate.targets.prices import provider_of

    if named is None:
        if provider or prices_from:
            raise UsageError("--provider and --prices-from say whose price is meant; name the model with --price")
        return None
    if "," in named:
        return given_price(named)
    book = price_book(None, None, provider, prices_from)
    found = book.quote_ahead(provider or prices_from or "", named)
    if isinstance(found, Unpriced):
        seller = provider or prices_from or provider_of(named)
        unknown = "it is not known who sells this model; say so with --provider, or give IN,CACHED,OUT"
        raise UsageError(f"--price {named}: {found.reason if seller else unknown}")
    return found.price
