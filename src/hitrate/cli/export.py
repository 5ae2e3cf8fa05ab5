"""`hitrate export`: calls of a run or a log in another form."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

if TYPE_CHECKING:
    from hitrate.cli.reading import StoredRun
    from hitrate.core.model import Call
    from hitrate.logs.sniff import Log

FORMATS = ("jsonl", "parquet", "mooncake")


def _since(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Unix time of a moment, or of so long ago."""
    from hitrate.explain.signs import lifetime_s
    from hitrate.logs.pairs import unix_time

    if value is None:
        return None
    moment = unix_time(float(value) if value.isdecimal() and len(value) > 8 else value)
    if moment is not None:
        return moment
    ago = lifetime_s(value)
    if ago is None:
        raise click.BadParameter(f"expected a time like 2026-11-01T12:00Z, or so long ago like 2h or 7d; got {value!r}")
    return time.time() - ago


@click.command()
@click.argument("log")
@click.option("--format", "form", type=click.Choice(FORMATS), default="jsonl", show_default=True, help="What to write.")
@click.option("--log-format", metavar="NAME", help="Format of the log; left out, told by how it starts.")
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False), metavar="FILE", help="Instead of stdout.")
@click.option("--session", "sessions", multiple=True, metavar="NAME", help="Only calls of this session. Repeatable.")
@click.option("--since", callback=_since, metavar="TIME", help="Only calls sent since then: a time, or 2h, 7d.")
@click.option(
    "--block-tokens",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    help="mooncake: tokens of a block.",
)
def export(
    log: str,
    form: str,
    log_format: str | None,
    file: str | None,
    sessions: tuple[str, ...],
    since: float | None,
    block_tokens: int,
) -> int:
    """Write the calls of a run or a log in another form.

    LOG is a file ("-" for standard input) or the id of a run. `jsonl` holds every field of every call, to be imported
    again; `parquet` is for tables and queries; `mooncake` is a trace without any content, for replays.
    """
    from hitrate.cli.reading import STORED, no_call_in, open_source

    if form == "parquet":
        from hitrate.logs.exports import parquet

        parquet.check()
    source = open_source(log, log_format)
    chosen = _Chosen(source, sessions, since, as_stored=form != "mooncake")
    with _opened(file, binary=form == "parquet") as out:
        if form == "mooncake":
            _write_trace(chosen, out, block_tokens)
        else:
            _write_calls(form, chosen, out)
    if not chosen.seen:
        raise no_call_in(source)
    for note in chosen.notes():
        click.echo(f"note: {note}", err=True)
    if source.format != STORED and (source.own_price is not None or source.own_rules.rules or source.own_rules.server):
        click.echo("note: prices, cache rules and server that the log itself names are no part of its calls", err=True)
    return 0


class _Chosen:
    """The calls that were asked for."""

    def __init__(
        self, source: Log | StoredRun, sessions: tuple[str, ...], since: float | None, *, as_stored: bool
    ) -> None:
        self.source = source
        self.seen = 0
        self._sessions = frozenset(sessions)
        self._since = since
        self._as_stored = as_stored
        self._written = 0
        self._without_time = 0

    def __iter__(self) -> Iterator[Call]:
        from hitrate.logs.hashed.stand_ins import expand_text

        for call in self.source.stored() if self._as_stored else self.source:
            self.seen += 1
            if self._sessions and self._sessions.isdisjoint((call.session, expand_text(call.session))):
                continue
            if self._since is not None:
                if call.timing is None:
                    self._without_time += 1
                    continue
                if call.timing.at < self._since:
                    continue
            self._written += 1
            yield call

    def notes(self) -> Iterator[str]:
        if self._without_time:
            yield f"{self._without_time} calls are left out: the log does not say when they were sent"
        if self.seen and not self._written:
            yield "no call is of such a session or time; nothing was written"


def _write_calls(form: str, chosen: _Chosen, out: BinaryIO) -> None:
    from hitrate.logs.exports import jsonl, parquet

    (jsonl if form == "jsonl" else parquet).write(chosen, out, lambda: not chosen.source.content_kept)


def _write_trace(chosen: _Chosen, out: BinaryIO, block_tokens: int) -> None:
    import secrets

    from hitrate.cli.trace_tokens import PromptTokens
    from hitrate.logs.exports import mooncake

    tokens = PromptTokens(chosen.source)
    written = mooncake.write(chosen, out, tokens, block_tokens=block_tokens, salt=secrets.token_bytes(32))
    click.echo(
        f"trace of {written.calls:,} calls, {written.tokens:,} tokens in {written.blocks:,} blocks of {block_tokens}, "
        f"{written.distinct_blocks:,} of them distinct; {tokens.basis()}",
        err=True,
    )
    if written.counted_tokens and written.reported_tokens:
        share = written.counted_tokens / written.reported_tokens
        click.echo(f"counted here are {share:.2f} x the prompt tokens that were reported", err=True)
    for count, why in (
        (written.without_request, "are left out: the log holds no request that can be read"),
        (written.without_time, "are left out: not known when they were sent"),
        (written.without_output, "have no output length: none was reported"),
    ):
        if count:
            click.echo(f"note: {count:,} calls {why}", err=True)


@contextlib.contextmanager
def _opened(file: str | None, *, binary: bool) -> Iterator[BinaryIO]:
    from hitrate.errors import UsageError

    if file is None or file == "-":
        if binary and sys.stdout.isatty():
            raise UsageError("Parquet is no text for a terminal: name a file with -o")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        out = Path(file).open("wb")  # noqa: SIM115  an error of who writes is none of the file's
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    with out:
        yield out
