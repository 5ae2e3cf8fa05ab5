"""Options that several commands share, and what they become."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def all_of(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def numbers(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """A comma-separated list of positive whole numbers."""
    if not value:
        return ()
    try:
        found = tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"expected whole numbers with commas between, like 512,1024; got {value!r}") from None
    if any(number < 1 for number in found):
        raise click.BadParameter("expected numbers of at least 1")
    return found


def price(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """INPUT,CACHED,OUTPUT in US dollars per million tokens."""
    if value is None:
        return None
    try:
        found = tuple(float(part) for part in value.split(","))
    except ValueError:
        found = ()
    if len(found) != 3 or not all(0 <= amount < float("inf") for amount in found):
        raise click.BadParameter(
            f"expected INPUT,CACHED,OUTPUT in USD per million tokens, like 0.30,0.006,1.20; got {value!r}"
        )
    return found


def pairs(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, any number of times."""
    found = {}
    for pair in value:
        name, sign, content = pair.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"expected NAME=VALUE, got {pair!r}")
        found[name] = content
    return found


def json_pairs(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, Any]:
    """NAME=JSON; a value that is not JSON is taken as text."""
    found: dict[str, Any] = {}
    for name, content in pairs(ctx, parameter, value).items():
        try:
            found[name] = json.loads(content)
        except json.JSONDecodeError:
            found[name] = content
    return found


class Finite(click.FloatRange):
    """A range of numbers without "nan" and "inf", which compare as if they were in any range."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number to work with", param, ctx)
        return number


target_options = all_of(
    click.option("--model", help="Model id; left out, the only model the target lists."),
    click.option("--base-url", help="Address of the API, with /v1, instead of the preset's."),
    click.option("--key-variable", metavar="NAME", help="Environment variable that holds the API key."),
    click.option("--header", multiple=True, callback=pairs, metavar="NAME=VALUE", help="A further request header."),
    click.option(
        "--timeout",
        type=Finite(min=0.1, max=86_400),
        default=600.0,
        show_default=True,
        metavar="SECONDS",
        help="Longest time for one call.",
    ),
)

call_options = all_of(
    click.option(
        "--max-tokens", type=click.IntRange(min=1), help="Longest reply; 32 in test, 16 in bench, 1 in probe."
    ),
    click.option(
        "--temperature", type=Finite(min=0), default=0.0, show_default=True, help="0 where the model takes one."
    ),
    click.option(
        "--affinity",
        default="auto",
        show_default=True,
        metavar="auto|none|NAME|NAME:",
        help="What keeps a session on one replica: the target's own knob, nothing, a body member, a header (colon).",
    ),
    click.option(
        "--cold",
        type=click.Choice(["auto", "nonce", "none"]),
        default="auto",
        show_default=True,
        help="What keeps this run apart from earlier ones: the target's knob, a nonce in the first tokens, nothing.",
    ),
    click.option("--extra", multiple=True, callback=json_pairs, metavar="NAME=JSON", help="A further body member."),
    click.option("--rule-set", metavar="NAME", help="Cache rule to predict with, instead of the preset's."),
    click.option(
        "--rule-setting",
        "rule_settings",
        multiple=True,
        callback=json_pairs,
        metavar="NAME=VALUE",
        help="A parameter of that rule, e.g. block_size=32 or host_cache_bytes=0.",
    ),
    click.option("--rpm", type=Finite(min=0, min_open=True), help="At most this many requests a minute."),
    click.option(
        "--price",
        callback=price,
        metavar="IN,CACHED,OUT",
        help="US dollars per million tokens, where the target does not list them.",
    ),
    click.option("--budget", type=Finite(min=0), metavar="USD", help="Spend at most this much."),
    click.option("--seed", type=int, help="Makes the nonces of a run repeatable."),
)


class FileToWrite(click.Path):
    """A file beside standard output, which holds the report: "-" is no name for it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "-":
            self.fail("standard output holds the report; name a file", param, ctx)
        return super().convert(value, param, ctx)


def _choose_format(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    """Sets `output`, None for a table. Two formats at once are an error: one of them would be left out in silence."""
    chosen = ctx.params.setdefault("output", None)
    if not given:
        return
    if chosen not in (None, parameter.name):
        raise click.UsageError(f"--{chosen} and --{parameter.name}: choose one format", ctx)
    ctx.params["output"] = parameter.name


def _format(*names: str, help: str) -> Callable[[Function], Function]:
    return click.option(*names, is_flag=True, expose_value=False, callback=_choose_format, help=help)


output_options = all_of(
    _format("--json", help="One JSON document."),
    _format("--csv", help="One row for each thing that is listed: a call, a finding, a point."),
    _format("--markdown", "--md", help="Markdown tables."),
    click.option("--html", "html_file", type=FileToWrite(), metavar="FILE", help="Also write a page with plots."),
)

store_option = click.option("--store/--no-store", default=True, help="Keep the run for show and compare.")
