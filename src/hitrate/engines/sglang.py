"""The command that starts SGLang, with the flags without which its counts do not show."""

from __future__ import annotations

from pathlib import Path

from hitrate.engines.command import StartCommand, find_tool, where_looked
from hitrate.engines.machine import Machine
from hitrate.engines.tiny_folder import tiny_model_folder
from hitrate.engines.tiny_model import MODEL_NAME


def sglang_command(machine: Machine, *, model: str | None, port: int, python: Path | None = None) -> StartCommand:
    """`model` None is hitrate's tiny model, written if it is not there yet."""
    interpreter = find_tool("python3", python) or "python3"
    flags = ["--enable-cache-report", "--enable-metrics"]
    if model is None:
        flags += ["--served-model-name", MODEL_NAME]
    source = str(tiny_model_folder()) if model is None else model
    launch = (interpreter, "-m", "sglang.launch_server", "--model-path", source)
    return StartCommand(
        engine="SGLang",
        target="sglang",
        model=MODEL_NAME if model is None else model,
        arguments=(*launch, "--host", "127.0.0.1", "--port", str(port), *flags),
        port=port,
        why_not=_why_not(machine, python),
        install="pip install sglang on a machine with a GPU that it supports, in an environment named with --python",
    )


def _why_not(machine: Machine, python: Path | None) -> str | None:
    if machine.accelerator != "cuda":
        return "SGLang's packages need an NVIDIA GPU, and none was found"
    # Its package has a command of this name.
    if find_tool("sglang", python) is None:
        return f"sglang is not installed {where_looked(python)}"
    return None
