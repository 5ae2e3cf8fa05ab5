"""`hitrate proxy`: carry real traffic to a model server, and record it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.options import Finite, pairs

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from hitrate.record.exchange import Sink
    from hitrate.record.sink import Recorder
    from hitrate.serve.proxy.counters import Counters
    from hitrate.serve.proxy.upstreams import Upstream

DEFAULT_PORT = 8787
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Size(click.ParamType):
    """A number of bytes: 500MB, 2g, 1048576. Units are powers of 1,024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?", str(value).strip().lower())
        if match is None:
            self.fail(f"{value!r} is no size; expected something like 500MB or 2GB", param, ctx)
        return int(float(match[1]) * _UNITS[match[2]])


@click.command()
@click.argument("upstreams", nargs=-1, required=True, metavar="UPSTREAM...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; another needs a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0: a free one.")
@click.option(
    "--token",
    envvar="HITRATE_PROXY_TOKEN",
    show_envvar=True,
    metavar="TOKEN",
    help="Demand it of every client: as header x-hitrate-token, or as /t/TOKEN in front of the path.",
)
@click.option(
    "--key-upstream",
    "key_upstreams",
    multiple=True,
    callback=pairs,
    metavar="PREFIX=NAME",
    help="With several upstreams: keys that begin with PREFIX belong to NAME. Repeatable.",
)
@click.option(
    "--connect-timeout",
    type=Finite(min=0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="To an upstream.",
)
@click.option(
    "--idle-timeout",
    type=Finite(min=1),
    default=1800.0,
    show_default=True,
    metavar="SECONDS",
    help="Give up an exchange in which nothing moves for so long.",
)
@click.option("--ca-file", type=click.Path(dir_okay=False, path_type=Path), help="Further certificates to trust (PEM).")
@click.option(
    "--max-body-kept",
    type=Size(),
    default="32MB",
    show_default=True,
    metavar="SIZE",
    help="Keep at most so much of a request or an answer; all of it is passed on.",
)
@click.option(
    "--store",
    "store_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Record into this store instead of the usual one.",
)
@click.option("--no-content", is_flag=True, help="Record keyed hashes and lengths in place of what was said.")
@click.option("--no-record", is_flag=True, help="Pass everything on and record nothing.")
@click.option(
    "--retention", type=Finite(min=0, min_open=True), metavar="DAYS", help="Remove recorded calls that are older."
)
@click.option(
    "--max-store", type=Size(), metavar="SIZE", help="Remove the oldest recorded calls when the store is larger."
)
@click.option("--otlp", metavar="URL", help="Send spans and metrics to this OpenTelemetry collector (extra `otel`).")
@click.option("--otlp-content", is_flag=True, help="With what was said in the spans.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when ready.")
def proxy(
    upstreams: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    key_upstreams: dict[str, str],
    connect_timeout: float,
    idle_timeout: float,
    ca_file: Path | None,
    max_body_kept: int,
    store_file: Path | None,
    no_content: bool,
    no_record: bool,
    retention: float | None,
    max_store: int | None,
    otlp: str | None,
    otlp_content: bool,
    as_json: bool,
) -> None:
    """Carry requests to a model server unchanged, and record what passes.

    An UPSTREAM is a target's name, a base URL, or NAME=TARGET|URL. With several, the first part of the path says which
    is meant (/NAME/v1/...), or else the kind of key.

    \b
    hitrate proxy openai                         then: OPENAI_BASE_URL=http://127.0.0.1:8787/v1 your-agent
    hitrate proxy http://127.0.0.1:8080/v1       your own server
    hitrate proxy openai anthropic fast=groq     three, by path or by key
    """
    import contextlib
    import sys

    from hitrate.cli.keeping import command_line
    from hitrate.errors import UsageError
    from hitrate.serve.listening import listen
    from hitrate.serve.proxy.proxy import Limits, Proxy
    from hitrate.serve.proxy.routes import Routes, is_loopback
    from hitrate.serve.proxy.server import run
    from hitrate.serve.proxy.upstreams import parse_upstreams

    token = token or None
    if token is None and not is_loopback(host):
        raise UsageError(
            f"--host {host}: others could use this proxy and read what it records",
            hint="give it a token: --token TOKEN, or HITRATE_PROXY_TOKEN in the environment",
        )
    if token is not None and not re.fullmatch(r"[!-.0-~]+", token):
        raise UsageError("--token: use letters, digits and signs other than a slash, without spaces")
    parsed = parse_upstreams(upstreams)
    routes = Routes(parsed, token=token, key_upstreams=key_upstreams)
    tls = _tls(ca_file) if any(upstream.address.scheme == "https" for upstream in parsed) else None
    limits = Limits(connect_timeout_s=connect_timeout, idle_timeout_s=idle_timeout, max_body_kept=max_body_kept)
    if no_record and (store_file or no_content or retention or max_store or otlp):
        raise UsageError("--no-record leaves nothing for --store, --no-content, --retention, --max-store or --otlp")
    keeper_options = [] if otlp is None else _otlp_options(otlp, otlp_content and not no_content)
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(contextlib.closing(listen(host, port)))
        recorder: Recorder | None = None
        sink: Sink | None = None
        if not no_record:
            recorder = _recorder(
                parsed, command_line(sys.argv[1:]), store_file, no_content, retention, max_store, keeper_options
            )
            stack.callback(recorder.close)
            sink = _without_content(recorder, store_file) if no_content else recorder
        server = Proxy(routes, sink=sink, limits=limits, tls=tls, page=_page_of(recorder))
        address = _address(host, listening.getsockname()[1])
        run(server, listening, lambda: _say_ready(address, parsed, recorder, token is not None, as_json))
    _say_end(server.counters, recorder)


def _recorder(
    upstreams: tuple[Upstream, ...],
    command: str,
    store_file: Path | None,
    no_content: bool,
    retention_days: float | None,
    max_bytes: int | None,
    further: list[str],
) -> Recorder:
    """Begins the recording, and starts the process that keeps it and shows the live page. Raises StoreUnavailable."""
    from hitrate.record.sink import open_sink

    options = [] if retention_days is None else ["--max-age-s", str(retention_days * 86_400)]
    options += [] if max_bytes is None else ["--max-bytes", str(max_bytes)]
    options += further
    return open_sink(
        target=", ".join(upstream.given for upstream in upstreams),
        command=command,
        content="hashed" if no_content else "kept",
        store=store_file,
        keeper=("-m", "hitrate.watch"),
        keeper_options=options,
    )


def _otlp_options(url: str, content: bool) -> list[str]:
    """For the keeper. Raises where it would fail with them."""
    from hitrate.record.otlp import check_otlp

    return ["--otlp", check_otlp(url), *(["--otlp-content"] if content else [])]


def _without_content(recorder: Recorder, store_file: Path | None) -> Sink:
    from hitrate.logs.database import default_path
    from hitrate.record.content_key import content_key
    from hitrate.record.no_content import ContentHasher, WithoutContent

    return WithoutContent(recorder, ContentHasher(content_key(store_file or default_path())))


def _page_of(recorder: Recorder | None) -> Callable[[], int | None]:
    """The port of the live page, which is another one when its process had to be started again."""
    if recorder is None:
        return lambda: None
    return lambda: (recorder.keeper_ready() or {}).get("port")


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    """Raises UsageError."""
    import ssl

    from hitrate.errors import UsageError
    from hitrate.targets.reaching import tls_context

    context = tls_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror if not isinstance(error, ssl.SSLError) else "no certificates in PEM form"
            raise UsageError(f"--ca-file {ca_file}: {reason}") from None
    return context


def base_urls(address: str, upstreams: tuple[Upstream, ...]) -> list[tuple[Upstream, str, str]]:
    """For each upstream the variable that clients of its wire read, and what to set it to."""
    found = []
    for upstream in upstreams:
        root = address if len(upstreams) == 1 else f"{address}/{upstream.name}"
        variable, suffix = _VARIABLES.get(upstream.dialect, ("OPENAI_BASE_URL", "/v1"))
        found.append((upstream, variable, root + suffix))
    return found


_VARIABLES = {
    # Anthropic's and Google's clients put the API's version in front of the path themselves.
    "anthropic-messages": ("ANTHROPIC_BASE_URL", ""),
    "gemini-generate": ("GOOGLE_GEMINI_BASE_URL", ""),
    "bedrock-converse": ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", ""),
}


def _say_ready(
    address: str, upstreams: tuple[Upstream, ...], recorder: Recorder | None, with_token: bool, as_json: bool
) -> None:
    import json
    import os

    told = base_urls(address, upstreams)
    page = None if recorder is None else f"{address}/_hitrate/"
    run_id = None if recorder is None else recorder.run_id
    if as_json:
        entries = [
            {"name": upstream.name, "url": str(upstream.address), "variable": variable, "base_url": url}
            for upstream, variable, url in told
        ]
        ready = {"schema_version": 1, "address": address, "pid": os.getpid(), "run": run_id, "page": page}
        click.echo(json.dumps({**ready, "upstreams": entries}))
        return
    for upstream, variable, url in told:
        click.echo(f"{upstream}: {variable}={url}", err=True)
        if upstream.preset is None:
            click.echo(f"  or, for clients of Anthropic: ANTHROPIC_BASE_URL={url.removesuffix('/v1')}", err=True)
    if with_token:
        click.echo("clients send the token as header x-hitrate-token, or /t/TOKEN behind the port", err=True)
    if recorder is None:
        click.echo("nothing is recorded. Ctrl-C ends it.", err=True)
    else:
        click.echo(f"recording {run_id}; live page: {page}. Ctrl-C ends it.", err=True)


def _say_end(counters: Counters, recorder: Recorder | None) -> None:
    skipped = ", ".join(f"{count} {reason}" for reason, count in counters.not_recorded.items())
    text = f"{counters.recorded} of {counters.requests} exchanges recorded"
    text += f"; not recorded: {skipped}" if skipped else ""
    click.echo(text + (f". See: hitrate explain {recorder.run_id}" if recorder and counters.recorded else ""), err=True)
