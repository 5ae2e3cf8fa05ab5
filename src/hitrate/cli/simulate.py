"""`hitrate simulate`: what caches of other sizes and rules would serve of a trace or a log."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hitrate.cli.options import output_options
from hitrate.cli.plan_options import plan_options
from hitrate.core.limits import MOST_REPLICAS

if TYPE_CHECKING:
    from hitrate.core.kv_memory import KvMemory
    from hitrate.sim.capacity.kernel import Kernel
    from hitrate.simulating import Last


def _names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if value else ()


def _capacities(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int | None, ...]:
    """Whole numbers, "unlimited", or A..B: doubled from A on, and B."""
    found: list[int | None] = []
    for part in (value or "").replace("_", "").split(","):
        if part.strip() in ("unlimited", "none"):
            found.append(None)
        elif part.strip():
            found += _whole(part.strip())
    return tuple(dict.fromkeys(found))


def _replicas(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Whole numbers, or A..B: doubled from A on, and B."""
    found = [one for part in value.split(",") if part.strip() for one in _whole(part.strip())]
    if (most := max(found, default=1)) > MOST_REPLICAS:
        raise click.BadParameter(f"at most {MOST_REPLICAS:,} replicas are replayed; got {most:,}")
    return tuple(dict.fromkeys(found)) or (1,)


def _sizes(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, ...]:
    parts = [part.strip() for part in (value or "").split(",") if part.strip()]
    return tuple(dict.fromkeys(one for part in parts for one in _range(part, float, "numbers")))


def _whole(part: str) -> list[int]:
    return _range(part, int, "whole numbers")


_Number = TypeVar("_Number", int, float)


def _range(part: str, number: Callable[[str], _Number], kind: str) -> list[_Number]:
    try:
        low, high = map(number, part.split("..") if ".." in part else (part, part))
    except ValueError:
        low = high = number("0")
    if not 0 < low <= high < math.inf:
        raise click.BadParameter(f"expected {kind} above 0 with commas between, or a range like 8..512; got {part!r}")
    found: list[_Number] = []
    while low < high:
        found.append(low)
        low *= 2
    found.append(high)
    return found


def _ttls(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float | None, ...]:
    if value is None or value == "none":
        return (None,)
    from hitrate.explain.signs import lifetime_s

    found: list[float | None] = []
    for part in value.split(","):
        seconds = lifetime_s(part.strip())
        if part.strip() != "none" and not seconds:
            raise click.BadParameter(f"expected lifetimes like 5m,1h or none; got {part!r}")
        found.append(seconds)
    return tuple(dict.fromkeys(found))


def _last(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Last | None:
    from hitrate.simulating import Last

    if value is None:
        return None
    try:
        last = Last(share=float(value[:-1]) / 100) if value.endswith("%") else Last(requests=int(value))
    except ValueError:
        last = Last(requests=0)
    if not (0 < last.share <= 1 if last.share is not None else last.requests and last.requests > 0):
        raise click.BadParameter(f"expected a share like 50% or a number of requests; got {value!r}")
    return last


@click.command()
@click.argument("trace")
@click.option(
    "--format", "trace_format", metavar="NAME", help="Format of the trace or log; left out, told by its start."
)
@click.option(
    "--rules", callback=_names, default="vllm", show_default=True, metavar="NAMES", help="Eviction rules or rule sets."
)
@click.option(
    "--block-size", type=click.IntRange(min=1), metavar="TOKENS", help="Tokens of a block; the trace's own, else 16."
)
@click.option(
    "--capacity-blocks",
    "capacities",
    callback=_capacities,
    metavar="LIST",
    help="As 1000,50000 or 1000..64000 or unlimited.",
)
@click.option("--gib", callback=_sizes, metavar="LIST", help="Capacities in GiB of KV memory, as 8,40 or 8..512.")
@click.option(
    "--model-config",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="A model's config.json: KV memory of a token.",
)
@click.option("--kv-dtype", metavar="NAME", help="Number format of the KV cache, as fp8; left out, the model's.")
@click.option(
    "--ttl",
    "ttls_s",
    callback=_ttls,
    default="none",
    show_default=True,
    metavar="LIST",
    help="Lifetimes since the last use, as 5m,1h,none.",
)
@click.option(
    "--definition", "definitions", callback=_names, metavar="NAMES", help="What the hit rate counts; left out, tokens."
)
@click.option("--last", callback=_last, metavar="N|N%", help="Count the last requests only; the others fill the cache.")
@click.option("--curve", is_flag=True, help="The whole exact curve of leaf-first LRU, and its knees.")
@click.option(
    "--replicas",
    callback=_replicas,
    default="1",
    show_default=True,
    metavar="LIST",
    help="Servers, each with a cache of its own, as 8 or 1..32.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    help="How requests are routed to the replicas, as NAME or NAME:SETTING=VALUE,...; round-robin if none; repeatable.",
)
@plan_options
@click.option("--seed", type=int, default=0, show_default=True, help="Of whatever is random.")
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Processes that share long work; left out, one a processor. 1 is this process alone.",
)
@click.option(
    "--kernel",
    type=click.Choice(("auto", "python", "fast")),
    default="auto",
    show_default=True,
    help="Which form of a rule replays; fast is compiled and needs hitrate[fast]. All give the same.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="A Dask scheduler, as tcp://host:8786, whose workers share the work; needs hitrate[dask].",
)
@output_options
def simulate(
    trace: str,
    trace_format: str | None,
    rules: tuple[str, ...],
    block_size: int | None,
    capacities: tuple[int | None, ...],
    gib: tuple[float, ...],
    model_config: str | None,
    kv_dtype: str | None,
    ttls_s: tuple[float | None, ...],
    definitions: tuple[str, ...],
    last: Last | None,
    curve: bool,
    replicas: tuple[int, ...],
    policies: tuple[str, ...],
    seed: int,
    kernel: Kernel,
    workers: int | None,
    cluster: str | None,
    output: str | None,
    html_file: str | None,
    **planning: Any,
) -> int:
    """Replay a trace: the hit rate that caches of these sizes and rules would reach, to the token, and a plan.

    TRACE is a trace of blocks, a log as `hitrate explain` reads it ("-" for standard input), or the id of a run.
    """
    from hitrate.cli.plan_options import plan_members
    from hitrate.cli.progress import ReplayProgress
    from hitrate.cli.showing import check_writable, show
    from hitrate.cli.trace_source import TraceSource
    from hitrate.simulating import Wanted
    from hitrate.simulating import simulate as replayed
    from hitrate.simulating.scale_out import Scale, processors

    if cluster is not None and workers is not None:
        raise click.UsageError("--cluster has workers of its own: leave out --workers")
    check_writable(html_file)
    wanted = Wanted(
        rules=rules,
        definitions=definitions,
        capacities=capacities,
        gib=gib,
        memory=_memory(model_config, kv_dtype),
        ttls_s=ttls_s,
        block_size=block_size,
        last=last,
        curve=curve,
        replicas=replicas,
        policies=policies,
        seed=seed,
        kernel=kernel,
        **plan_members(**planning),
    )
    progress = ReplayProgress()
    scale = Scale(workers=workers or processors(), cluster=cluster, watch=progress)
    with TraceSource(trace, trace_format, block_size) as source:
        try:
            result = replayed(source.open(), wanted, scale)
        finally:
            progress.clear()
    show(result, output, html_file)
    return 0


def _memory(file: str | None, cache_type: str | None) -> KvMemory | None:
    import json
    from pathlib import Path

    from hitrate.core.kv_memory import kv_memory
    from hitrate.errors import InputFileError, UsageError

    if file is None:
        if cache_type is not None:
            raise UsageError("--kv-dtype says how the cache of --model-config is kept; name that file too")
        return None
    try:
        config = json.loads(Path(file).read_bytes())
    except OSError as error:
        raise InputFileError(file, f"cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputFileError(file, f"not JSON: {error}") from None
    if not isinstance(config, dict):
        raise InputFileError(file, "expected a JSON object, a model's config.json")
    try:
        return kv_memory(config, cache_type)
    except ValueError as error:
        raise InputFileError(file, str(error)) from None
