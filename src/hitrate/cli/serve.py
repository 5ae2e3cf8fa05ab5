"""`hitrate serve`: the practice server in the foreground."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.practice_options import given_members, practice_options, to_options

if TYPE_CHECKING:
    from hitrate.serve.practice.options import PracticeModel, PracticeOptions


@click.command()
@click.option(
    "--as",
    "imitates",
    metavar="NAME",
    help="Speak and cache as a vendor or engine does; options given beside it win. 'list' shows the names.",
)
@click.option("--cache-report", is_flag=True, help="With --as vllm or sglang: started with the flag that reports hits.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True, help="0: a free one.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME[:PRICES]",
    help="Model id, with prices in USD per million tokens as in x:input=0.3,cached=0.006,output=1.2. Repeatable.",
)
@click.option("--api-key", metavar="KEY", help="Refuse calls without this key.")
@click.option("--hide-internals", is_flag=True, help="No time stamps in ids, no x-hitrate headers.")
@practice_options
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when ready.")
@click.option("--with-parent", is_flag=True, hidden=True, help="End when standard input closes.")
@click.pass_context
def serve(
    context: click.Context,
    imitates: str | None,
    cache_report: bool,
    host: str,
    port: int,
    models: tuple[str, ...],
    api_key: str | None,
    hide_internals: bool,
    as_json: bool,
    with_parent: bool,
    **practice: Any,
) -> None:
    """Serve an OpenAI-compatible API that follows a cache rule, without a model.

    \b
    hitrate serve                                        blocks of 16, one replica
    hitrate serve --replicas 18 --routing random         a session finds its history 1 time in 18
    hitrate serve --fault 429:every=5 --fault no-usage   what a client has to survive
    hitrate serve --as anthropic                         Messages, markers, 5 minutes, a look-back of 20 blocks
    """
    if "list" in practice["practice_faults"]:
        _list_faults()
        return
    if imitates == "list":
        _list_vendors()
        return
    from hitrate.serve.practice.server import run_process

    others: dict[str, Any] = {
        "host": host,
        "port": port,
        "api_key": api_key,
        "hide_internals": hide_internals,
        "cache_report": cache_report,
    }
    if models:
        others["models"] = tuple(parse_model(text) for text in models)
    options = to_options(practice, **others)
    if imitates is not None:
        from hitrate.serve.practice.vendors import imitating

        given = [*given_members(context), *(["models"] if models else [])]
        options = imitating(imitates, options, given)
    run_process(options, lambda running: _say_ready(running.base_url, options, as_json), with_parent=with_parent)


def _say_ready(base_url: str, options: PracticeOptions, as_json: bool) -> None:
    if as_json:
        ready = {
            "schema_version": 1,
            "base_url": base_url,
            "model": options.models[0].name,
            "pid": os.getpid(),
            "models": [model.name for model in options.models],
            "rule": options.rule,
            "block_size": options.block_size,
            "replicas": options.replicas,
            "routing": options.routing if options.replicas > 1 else None,
            "shared": options.shared,
            "as": options.imitates,
        }
        click.echo(json.dumps(ready))
        return
    from hitrate.serve.practice.caches import rule_text

    replicas = f", {options.replicas} replicas, {options.routing}" if options.replicas > 1 else ""
    faults = f"; faults: {', '.join(map(str, options.faults))}" if options.faults else ""
    manner = f" as {options.imitates}" if options.imitates else ""
    click.echo(f"practice server{manner}: {base_url}  model {options.models[0].name}", err=True)
    click.echo(f"rule {rule_text(options)}{replicas}{faults}. Ctrl-C ends it.", err=True)


def _list_vendors() -> None:
    from hitrate.serve.practice.vendors import vendor, vendor_names

    for name in vendor_names():
        imitated = vendor(name)
        rule = imitated.options.get("rule", "block-chain")
        click.echo(f"{name:22} {', '.join(imitated.wires)}; {rule}")


def _list_faults() -> None:
    from hitrate.serve.practice.faults import KINDS

    for name, kind in KINDS.items():
        settings = "".join(f"  {setting}={value}" for setting, value in kind.settings.items())
        click.echo(f"{name:16} {kind.summary}{settings}")


_PRICES = {
    "input": "input_usd_per_mtok",
    "cached": "cached_usd_per_mtok",
    "write": "write_usd_per_mtok",
    "output": "output_usd_per_mtok",
}


def parse_model(text: str) -> PracticeModel:
    """`NAME` or `NAME:input=0.3,cached=0.006,write=0.375,output=1.2`, each price optional; names may hold colons.

    Raises UsageError.
    """
    from hitrate.errors import UsageError
    from hitrate.serve.practice.options import PracticeModel

    name, _, prices_text = text.rpartition(":") if "=" in text.rpartition(":")[2] else (text, "", "")
    prices = {}
    for part in filter(None, prices_text.split(",")):
        key, _, value = part.partition("=")
        try:
            price = float(value)
        except ValueError:
            price = -1.0
        if key not in _PRICES or not price >= 0:
            raise UsageError(
                f"--model {text!r}: {part!r} is no price; prices are {', '.join(_PRICES)}, as in input=0.3"
            )
        prices[_PRICES[key]] = price
    if not name:
        raise UsageError(f"--model {text!r} has no name")
    return PracticeModel(name, **prices)
