"""`hitrate whatif`: what a fix would have made of a log's hit rate and bill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.log_options import log_options
from hitrate.cli.options import FileToWrite, json_pairs, output_options
from hitrate.core.limits import MOST_REPLICAS

if TYPE_CHECKING:
    from hitrate.cli.whatif_log import Read
    from hitrate.cli.whatif_run import Fix
    from hitrate.core.money import Price


@click.command()
@click.argument("log")
@click.option("--move-clock-last", is_flag=True, help="Move times behind the newest user message, and keep them there.")
@click.option("--freeze-date", is_flag=True, help="Keep the date of a conversation's start.")
@click.option("--drop-nonce", is_flag=True, help="Leave changing ids and hashes out of tools and system prompt.")
@click.option("--keep-ids", is_flag=True, help="Send ids in the history as they were sent first.")
@click.option("--sort-keys", is_flag=True, help="Sort members of tools and schemas.")
@click.option("--sort-tools", is_flag=True, help="Sort tools by name.")
@click.option("--mark-last", is_flag=True, help="Set cache markers behind the opening and on the newest message.")
@click.option("--ttl", type=click.Choice(["5m", "1h"]), help="Lifetime that all cache markers ask for.")
@click.option("--affinity", is_flag=True, help="Send a session key; goes with --replicas.")
@click.option(
    "--replicas",
    type=click.IntRange(1, MOST_REPLICAS),
    default=1,
    show_default=True,
    help="Machines that the calls spread over.",
)
@click.option("--rules", metavar="NAME", help="Cache rule to predict with, instead of the one the log shows.")
@click.option(
    "--rule-setting",
    "rule_settings",
    multiple=True,
    callback=json_pairs,
    metavar="NAME=VALUE",
    help="A parameter of that rule, e.g. block_size=32.",
)
@click.option("--write", "write_to", type=FileToWrite(), metavar="FILE", help="Save the new bodies as JSONL.")
@log_options
@output_options
def whatif(
    log: str,
    ttl: str | None,
    affinity: bool,
    replicas: int,
    rules: str | None,
    rule_settings: dict[str, Any],
    write_to: str | None,
    log_format: str | None,
    price: Price | None,
    model: str | None,
    provider: str | None,
    prices_from: str | None,
    output: str | None,
    html_file: str | None,
    **text_fixes: bool,
) -> int:
    """Predict a log's hit rate and bill with a fix, by making the fixed requests and replaying them on the cache rule.

    LOG is a file ("-" for standard input) or the id of a run. Both sides are predicted by the same rule; the measured
    rate stands beside them, with how far the prediction is from it. Without a fix named, all that change the text are
    tried.
    """
    from hitrate.cli.log_options import price_book
    from hitrate.cli.reading import open_source
    from hitrate.cli.showing import check_writable, show
    from hitrate.cli.whatif_run import Asked, what_if
    from hitrate.errors import UsageError

    if affinity and replicas < 2:
        raise UsageError("--affinity changes something on several machines only: say how many with --replicas N")
    chosen = {name.replace("_", "-"): is_asked for name, is_asked in text_fixes.items()}
    any_named = any(chosen.values()) or ttl is not None or affinity
    if not any_named:
        chosen = dict.fromkeys(chosen, True)
    for file in (html_file, write_to):
        check_writable(file)
    book = price_book(price, model, provider, prices_from)
    source = open_source(log, log_format)

    def quote(call: Any) -> Any:
        book.own = source.own_price
        return book.quote(call)

    asked = Asked(
        fixes=_fixes(chosen, ttl, affinity),
        rules=rules,
        settings=rule_settings,
        replicas=replicas,
        lifetimes=ttl is not None,
        only_effective=not any_named,
    )
    report, bodies = what_if(source, quote, asked)
    if write_to is not None:
        _write(write_to, bodies)
    show(report, output, html_file)
    return 0


def _fixes(chosen: dict[str, bool], ttl: str | None, affinity: bool) -> list[Fix]:
    from hitrate.cli.whatif_run import Fix
    from hitrate.explain.rewrites.affinity import Affinity
    from hitrate.explain.rewrites.drop_nonce import DropNonce
    from hitrate.explain.rewrites.freeze_date import FreezeDate
    from hitrate.explain.rewrites.keep_ids import KeepIds
    from hitrate.explain.rewrites.lifetime import Lifetime
    from hitrate.explain.rewrites.mark_last import MarkLast
    from hitrate.explain.rewrites.move_clock_last import MoveClockLast
    from hitrate.explain.rewrites.sort_keys import SortKeys
    from hitrate.explain.rewrites.sort_tools import SortTools

    kinds = (MoveClockLast, FreezeDate, DropNonce, KeepIds, SortKeys, SortTools, MarkLast)
    fixes = [Fix(kind.name, kind) for kind in kinds if chosen[kind.name]]
    if ttl is not None:
        fixes.append(Fix(Lifetime.name, lambda: Lifetime(ttl)))
    if affinity:
        fixes.append(Fix(Affinity.name, Affinity))
    return fixes


def _write(file: str, bodies: list[tuple[Read, bytes]]) -> None:
    """One line a call, to be read again as a log."""
    import json
    import sys
    from pathlib import Path

    from hitrate.core.spans import compact

    with Path(file).open("w", encoding="utf-8", errors="surrogatepass") as out:
        for one, body in bodies:
            record = {"session": one.call.session or f"#{one.conversation + 1}"}
            if one.call.timing is not None:
                record["at"] = one.call.timing.at  # type: ignore[assignment]
            out.write(compact({**record, "body": json.loads(body)}) + "\n")
    print(f"written: {file}", file=sys.stderr)
