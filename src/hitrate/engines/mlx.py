"""MLX-LM: the command of its server, and its cache by hand: cold, the opening saved to a file, warm from the file.

It runs on Apple's chips and, with the package `mlx[cpu]`, on any Linux.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import platformdirs

from hitrate.engines.command import StartCommand, find_tool, where_looked
from hitrate.engines.tiny_folder import tiny_model_folder
from hitrate.errors import TargetError, UsageError

INSTALL = "pip install mlx-lm (on Linux also 'mlx[cpu]'), in any environment, named with --python"


def mlx_command(*, model: str | None, port: int, sequences: int = 10, python: Path | None = None) -> StartCommand:
    """`model` None is hitrate's tiny model, written if it is not there yet; `sequences` is --prompt-cache-size."""
    tool = find_tool("mlx_lm.server", python)
    # The server lists a model in a folder by the folder's full path, and takes no other name for it.
    source = _source(model)
    arguments = (tool or "mlx_lm.server", "--model", source, "--host", "127.0.0.1", "--port", str(port))
    return StartCommand(
        engine="MLX",
        target="mlx",
        model=source,
        arguments=(*arguments, "--prompt-cache-size", str(sequences)),
        port=port,
        environment=_environment() if model is None else {},
        why_not=None if tool else f"mlx_lm.server is not installed {where_looked(python)}",
        install=INSTALL,
        rule_settings={} if sequences == 10 else {"sequences": sequences},
    )


def _source(model: str | None) -> str:
    if model is None:
        return str(tiny_model_folder())
    return str(Path(model).resolve()) if Path(model).is_dir() else model


def _environment() -> dict[str, str]:
    """Where no model was ever downloaded, GET /v1/models fails for want of the hub's folder (mlx-lm 0.32.2)."""
    hub = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")) / "hub"
    if hub.is_dir() or "HF_HUB_CACHE" in os.environ:
        return {}
    empty = Path(platformdirs.user_cache_dir("hitrate")) / "no-hub"
    empty.mkdir(parents=True, exist_ok=True)
    return {"HF_HUB_CACHE": str(empty)}


class HandStep(NamedTuple):
    """`prompt_tokens` is what the engine read and computed in this step; times in seconds, the process's start in
    `total_s`. `tokens_per_s` is the engine's own figure, None where it gives none."""

    name: str
    prompt_tokens: int | None
    tokens_per_s: float | None
    total_s: float
    text: str = ""


READ = re.compile(r"^Prompt: (?P<tokens>\d+) tokens, (?P<speed>[\d.]+) tokens-per-sec", re.MULTILINE)
PROCESSED = re.compile(r"Processed +(?P<tokens>\d+) tokens \( *(?P<speed>[\d.]+) tok/s\)")
LINE = "=" * 10
"""Stands above and below the generated text."""


def by_hand(
    *,
    model: str | None,
    opening: str,
    question: str,
    cache_file: Path,
    max_tokens: int = 40,
    python: Path | None = None,
) -> list[HandStep]:
    """Cold with opening and question, the opening's keys and values saved to `cache_file`, warm from that file.

    Raises UsageError when MLX-LM is not installed and TargetError when one of its commands fails.
    """
    source = _source(model)
    generate = ["--model", source, "--max-tokens", str(max_tokens), "--temp", "0"]
    # Line ends at the seam would be other tokens when they stand together.
    opening = opening.rstrip()
    whole, rest = f"{opening}\n\n{question}", f"\n\n{question}"
    kept = ["--prompt-cache-file", str(cache_file)]
    return [
        _step("cold", "mlx_lm.generate", [*generate, "--prompt", "-"], whole, python, READ),
        _step("saved", "mlx_lm.cache_prompt", ["--model", source, *kept, "--prompt", "-"], opening, python, PROCESSED),
        _step("warm", "mlx_lm.generate", [*generate[2:], *kept, "--prompt", "-"], rest, python, READ),
    ]


def _step(
    name: str, command: str, arguments: list[str], prompt: str, python: Path | None, figures: re.Pattern[str]
) -> HandStep:
    tool = find_tool(command, python)
    if tool is None:
        raise UsageError(f"{command} is not installed {where_looked(python)}", hint=INSTALL)
    begin = time.perf_counter()
    result = subprocess.run([tool, *arguments], input=prompt, capture_output=True, text=True, check=False)
    total_s = time.perf_counter() - begin
    if result.returncode:
        last = (result.stderr.strip() or "it said nothing").splitlines()[-1]
        raise TargetError(f"{command} ended with exit code {result.returncode}: {last}")
    found = list(figures.finditer(result.stdout))
    figure = found[-1] if found else None
    return HandStep(
        name,
        int(figure["tokens"]) if figure else None,
        float(figure["speed"]) if figure else None,
        total_s,
        result.stdout.split(LINE)[1].strip() if result.stdout.count(LINE) > 1 else "",
    )
