"""The group of commands: `--help` lists them without importing one; errors end in one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import click

from hitrate import __version__
from hitrate.errors import HitrateError

COMMANDS: dict[str, dict[str, str]] = {
    "Measure": {
        "test": "Hit rate turn by turn in a growing conversation.",
        "bench": "Cold against warm time to first token.",
        "probe": "What a vendor or engine does not publish: minimum, lifetime, replicas, sharing.",
        "compare": "The same conversation on two targets, or two stored runs, per turn.",
    },
    "Explain": {
        "explain": "What broke the prefix cache in a log: where, whose doing, at what price.",
        "lint": "What is wrong with requests before they are sent.",
        "report": "The business case of a log: what was spent, what to fix first, what it saves.",
        "whatif": "What a fix would have made of a log's hit rate and bill.",
        "check": "Whether a log holds what you expect of it, for CI.",
        "cost": "What a log's calls cost, with caching and without.",
    },
    "Plan": {
        "simulate": "What caches of other sizes and rules would serve of a trace or a log.",
        "calibrate": "What an engine's steps cost, from a measured run, for replays in its time.",
    },
    "Record": {
        "proxy": "Carry real traffic to a model server unchanged, and record it.",
        "export": "Calls of a run or a log as JSONL, Parquet or an anonymised trace.",
        "import": "Put a log into the store, as a run.",
    },
    "Look": {
        "targets": "What can be asked, with which key, wire and cache rule.",
        "doctor": "What is wrong with a target, and what to do.",
        "models": "Model ids and prices that a target lists.",
        "runs": "Stored runs, newest first.",
        "show": "One stored run, in any format.",
        "watch": "A recording as a live page.",
    },
    "Serve": {
        "serve": "A practice server with a cache rule of your choice.",
        "engine": "A real engine on this machine.",
        "demo": "See the effect here, offline, in two minutes.",
    },
}

_HELP_ASKED_FOR = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""Since click 8.2 a group called without a command raises this, with its help as the message."""

_MODULES = {
    "test": "hitrate.cli.test_command",
    "check": "hitrate.cli.check_command",
    "import": "hitrate.cli.import_command",
}
_FUNCTIONS = {"import": "import_logs"}
"""Of commands whose name is a word of Python."""

_INTERRUPTED = 130
_TERMINATED = 143


class LazyGroup(click.Group):
    """Finds a command by name in `hitrate.cli.<name>` and imports it only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not any(cmd_name in section for section in COMMANDS.values()):
            return None
        module = importlib.import_module(_MODULES.get(cmd_name, f"hitrate.cli.{cmd_name}"))
        command: click.Command = getattr(module, _FUNCTIONS.get(cmd_name, cmd_name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(error.message + hint, ctx) from None


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: hitrate demo",
)
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
@click.version_option(__version__, prog_name="hitrate", message="%(prog)s %(version)s")
@click.pass_context
def hitrate(ctx: click.Context, debug: bool) -> None:
    """Measure the prefix-cache hit rate of LLM traffic, and the time and money it saves."""
    ctx.obj = {"debug": debug}


def run(arguments: list[str] | None = None) -> int:
    """Run a command line and give its exit code; every expected error is one line on stderr.

    SIGTERM, as `timeout`, systemd and Kubernetes send it, ends it as an interruption does, with exit code 143.
    """
    with _ended_by_sigterm() as came:
        code = _run(arguments)
    return _TERMINATED if came and code == _INTERRUPTED else code


def _run(arguments: list[str] | None) -> int:
    argv = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in argv
    try:
        result: Any = hitrate.main(args=argv, prog_name="hitrate", standalone_mode=False)
        sys.stdout.flush()
    except HitrateError as error:
        if debug:
            raise
        return _say(error.message, error.hint, error.exit_code)
    except click.UsageError as error:
        if isinstance(error, _HELP_ASKED_FOR):
            error.show()
            return error.exit_code
        help_command = f"{error.ctx.command_path} --help" if error.ctx is not None else "hitrate --help"
        return _say(error.format_message(), help_command, error.exit_code)
    except click.ClickException as error:
        return _say(error.format_message(), None, error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted", None, _INTERRUPTED)
    except SystemExit:
        # Shell completion apart, click ends the program by itself only when the reader of our output went away
        # (`hitrate runs | head`), and takes that for a failure.
        if "_HITRATE_COMPLETE" in os.environ:
            raise
        _forget_output()
        return 0
    except BrokenPipeError:
        _forget_output()
        return 0
    except OSError as error:
        if debug or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        _forget_output()
        return _say(f"the output cannot be written: {error.strerror}", None, HitrateError.exit_code)
    return result if isinstance(result, int) else 0


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[list[int]]:
    """What came of it, in the end. Commands that serve have handlers of their own meanwhile."""
    came: list[int] = []

    def as_interruption(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, signal.SIG_DFL, None):
            raise KeyboardInterrupt  # as in the background of a script, where a shell has SIGINT ignored
        signal.raise_signal(signal.SIGINT)

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield came
        return
    signal.signal(signal.SIGTERM, as_interruption)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _forget_output() -> None:
    """What is still buffered must not fail once more when the interpreter ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, hint: str | None, exit_code: int) -> int:
    from hitrate.report.escape import escape_line

    print(f"error: {escape_line(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {escape_line(hint)}", file=sys.stderr)
    return exit_code
