"""`hitrate demo`: the effect of a prefix cache on this machine, offline, with a real engine where there is one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from hitrate.cli.progress import Progress

if TYPE_CHECKING:
    from hitrate.cli.live_run import RunOptions
    from hitrate.cli.started import Started
    from hitrate.core.model import Call
    from hitrate.core.results import BenchResult, TestResult

TURNS = 10
SESSIONS = 3

HOSTED_COMMANDS = (
    "export FIREWORKS_API_KEY=...",
    "hitrate models fireworks",
    "hitrate bench fireworks --model MODEL --budget 0.20",
    "hitrate test fireworks --model MODEL --system system_prompt.txt --tools tools.json --turns 10 --sessions 3",
)
OWN_SERVER_COMMANDS = (
    "hitrate bench http://127.0.0.1:8000/v1 --model MODEL",
    "hitrate test http://127.0.0.1:8000/v1 --model MODEL --pad 512,1024,2048",
    "hitrate serve --replicas 18 --routing random",
    "hitrate test practice --base-url http://127.0.0.1:8090/v1 --turns 10 --sessions 50",
)


@click.command()
@click.option("--practice", is_flag=True, help="The practice server, also where a real engine is installed.")
@click.option(
    "--html", "html_file", default="hitrate-demo.html", show_default=True, metavar="FILE", help="The page with plots."
)
@click.option("--calls", type=click.IntRange(min=3), default=12, show_default=True, help="Calls of each order.")
def demo(practice: bool, html_file: str, calls: int) -> None:
    """Show the effect here: cold and warm time to first token, then a conversation, alone and three at once.

    Real llama.cpp with a tiny model where the package xllamacpp is installed, the practice server elsewhere. Sends
    nothing over the network.
    """
    from hitrate.cli.showing import check_writable
    from hitrate.live.bench import BenchPlan

    check_writable(html_file)
    begin = time.monotonic()
    with _engine(practice) as (start, engine):
        _say(f"engine: {engine}")
        _say(
            f"\n1. One opening of about 3,000 tokens, {calls} questions. First the opening on top, then below the time."
        )
        bench = _bench(start, BenchPlan(calls=calls), begin)
        _show(bench)
        _say(f"\n2. A conversation of {TURNS} turns, then {SESSIONS} such conversations at once.")
        test = _test(start)
        _show(test)
    words = meaning(bench, test)
    _say("\n3. What it means\n")
    for paragraph in words:
        _say(_wrapped(paragraph))
    write_page(html_file, bench, test, engine, words)
    _say(f"\n4. The plots: {html_file}")
    _say("\n5. The same on a hosted API\n" + "".join(f"   {line}\n" for line in HOSTED_COMMANDS))
    _say("6. The same on your own server\n" + "".join(f"   {line}\n" for line in OWN_SERVER_COMMANDS))
    _say(f"all of it took {time.monotonic() - begin:.0f} s")


@contextmanager
def _engine(practice: bool) -> Iterator[tuple[Started, str]]:
    """The real engine, or the practice server where its package does not exist or does not start."""
    import importlib.util

    from msgspec.structs import replace

    from hitrate.cli.started import Started
    from hitrate.errors import HitrateError
    from hitrate.targets.presets import load

    if not practice and importlib.util.find_spec("xllamacpp") is not None:
        from hitrate.engines.llamacpp import LlamaCppEngine

        try:
            server = LlamaCppEngine()
        except HitrateError as error:
            click.echo(f"note: llama.cpp does not start here, this is the practice server: {error.message}", err=True)
        else:
            with server:
                target = replace(load("llamacpp"), base_url=server.base_url)
                threads = f"{server.threads} thread{'s' if server.threads > 1 else ''}"
                what = f"real llama.cpp, a tiny model with random weights, {threads}, {server.base_url}"
                yield Started(target=target, key=None), what
            return
    from hitrate.serve.child import PracticeServer
    from hitrate.serve.practice.options import PracticeOptions

    with PracticeServer() as practice_server:
        target = replace(load("practice"), base_url=practice_server.base_url)
        what = f"practice server (no model: it follows a cache rule and a server's timing), {practice_server.base_url}"
        yield Started(target=target, key=None, practice=PracticeOptions()), what


class _FirstWarm(Progress):
    """Says the first cold and the first warm time as soon as they are there."""

    def __init__(self, total: int, begin: float) -> None:
        super().__init__(total)
        self._begin = begin
        self._cold_ms: float | None = None
        self._said = False

    def call(self, call: Call) -> None:
        ttft_s = call.timing.ttft_s if call.timing is not None else None
        if ttft_s is not None and not self._said and call.label == "stable-first/opening":
            if self._cold_ms is None:
                self._cold_ms = ttft_s * 1000
            else:
                self._said = True
                self.clear()
                _say(
                    f"   first token, cold: {self._cold_ms:,.0f} ms   first token, warm: {ttft_s * 1000:,.0f} ms   "
                    f"({time.monotonic() - self._begin:.0f} s after the start)"
                )
        super().call(call)


def _options(max_tokens: int) -> RunOptions:
    from hitrate.cli.live_run import RunOptions

    return RunOptions(
        model=None,
        headers={},
        timeout=600.0,
        max_tokens=max_tokens,
        temperature=0.0,
        affinity="auto",
        cold="auto",
        extra={},
        rule_set=None,
        rule_settings={},
        rpm=None,
        price=None,
        budget=None,
        seed=None,
        store=True,
    )


def _bench(start: Started, plan: Any, begin: float) -> BenchResult:
    from hitrate.cli.bench import run_bench_command
    from hitrate.cli.keeping import Keeper
    from hitrate.live.conversation import default_opening, default_questions

    keeper = Keeper(True)
    progress = _FirstWarm(plan.total_calls, begin)
    result, measured = run_bench_command(
        start, _options(16), plan, default_opening(), default_questions(), keeper, progress
    )
    _stop_when_interrupted(measured)
    keeper.finish(result)
    keeper.close()
    return result


def _test(start: Started) -> TestResult:
    import random

    from hitrate.cli.keeping import Keeper
    from hitrate.cli.test_command import ScriptOptions, run_test
    from hitrate.live.conversation import default_opening

    script = ScriptOptions(system=default_opening(), tools=[], random_source=random.Random())
    plan = script.plan(TURNS, SESSIONS, 1)
    keeper = Keeper(True)
    result, measured = run_test(start, _options(32), plan, script, (), keeper, Progress(plan.calls))
    _stop_when_interrupted(measured)
    keeper.finish(result)
    keeper.close()
    return result


def _stop_when_interrupted(measured: Any) -> None:
    if measured.interrupted:
        raise KeyboardInterrupt


def meaning(bench: BenchResult, test: TestResult) -> list[str]:
    """Plain words on what was measured; nothing is said that the figures do not show."""
    rows = {row.order: row for row in bench.rows}
    stable, variable = rows.get("stable-first"), rows.get("variable-first")
    words = []
    if stable is not None and stable.speedup_x is not None and stable.first_ms is not None:
        words.append(
            f"With the opening on top, the first call read all of it and took {stable.first_ms:,.0f} ms to its first "
            f"token. The next ones found it in the cache and took {stable.rest_p50_ms:,.0f} ms: "
            f"{stable.speedup_x:.1f} times sooner."
        )
    if variable is not None and variable.speedup_x is not None:
        words.append(
            f"With the time and the question above the same opening, nothing in front stayed the same, and every call "
            f"read everything again ({variable.rest_p50_ms:,.0f} ms). Same words, same length, other order: "
            f"{variable.speedup_x:.1f} times, no gain."
        )
    if test.aggregate.hit_rate is not None:
        words.append(
            f"In the conversations {test.aggregate.hit_rate:.1%} of all prompt tokens came from the cache. "
            f"{test.verdict.text}"
        )
    words.append(
        "So: what stays the same goes first (instructions, tools, policy), what changes goes last (time, question, "
        "search results). On a hosted API the tokens from the cache also cost a fraction, often a tenth."
    )
    return words


def write_page(file: str, bench: BenchResult, test: TestResult, engine: str, words: list[str]) -> None:
    from pathlib import Path

    from hitrate.report.html import Section, render

    sections = [
        Section(title="What it means", text=tuple(words)),
        Section(title="The same on a hosted API", commands=HOSTED_COMMANDS),
        Section(title="The same on your own server", commands=OWN_SERVER_COMMANDS),
    ]
    with Path(file).open("w", encoding="utf-8") as page:
        render([bench, test], page, title="What a prefix cache does", intro=f"Measured on {engine}.", sections=sections)


def _show(result: Any) -> None:
    from hitrate.report.formats import render

    render(result, "table", sys.stdout)


def _say(text: str) -> None:
    click.echo(text)


def _wrapped(paragraph: str) -> str:
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size().columns, 100)
    return textwrap.fill(paragraph, width, initial_indent="   ", subsequent_indent="   ") + "\n"
