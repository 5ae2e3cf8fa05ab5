"""The commands that start engines which hitrate does not ship, on machines of several kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from hitrate.engines.command import StartCommand, find_tool
from hitrate.engines.external import ExternalEngine, free_port
from hitrate.engines.machine import Machine, this_machine
from hitrate.engines.mlx import PROCESSED, READ, mlx_command
from hitrate.engines.sglang import sglang_command
from hitrate.engines.vllm import vllm_command
from hitrate.errors import Unreachable, UsageError

CPU, NEW_CPU, GPU = Machine(None, False), Machine(None, True), Machine("cuda", False)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """The Python of an environment with every engine's commands in it."""
    for name in ("python3", "vllm", "sglang", "mlx_lm.server", "mlx_lm.generate", "mlx_lm.cache_prompt"):
        file = tmp_path / name
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    return tmp_path / "python3"


@pytest.mark.parametrize(
    ("machine", "flags", "not_flags"),
    [
        (CPU, ["--block-size 32", "--dtype float32", "--enforce-eager", "VLLM_CPU_KVCACHE_SPACE=1"], []),
        (NEW_CPU, ["--block-size 32", "--enforce-eager"], ["--dtype"]),
        (GPU, ["--enable-prompt-tokens-details"], ["--block-size", "--dtype", "--enforce-eager", "VLLM_CPU"]),
    ],
    ids=["CPU", "CPU with AVX-512", "GPU"],
)
def test_vllm_by_machine(machine: Machine, flags: list[str], not_flags: list[str], environment: Path):
    command = vllm_command(machine, model="Qwen/Qwen3-8B", port=8000, python=environment)
    assert command.text.split("vllm serve ")[1].startswith("Qwen/Qwen3-8B --host 127.0.0.1 --port 8000 --enable-prompt")
    assert [flag for flag in flags if flag not in command.text] == []
    assert [flag for flag in not_flags if flag in command.text] == []
    assert command.why_not is None and command.model == "Qwen/Qwen3-8B"
    assert command.rule_settings == {}  # the server tells its blocks by itself


def test_without_a_model_the_tiny_one_is_served_under_its_name(environment: Path):
    command = vllm_command(CPU, model=None, port=8000, python=environment)
    assert "--served-model-name hitrate-tiny" in command.text and command.environment["HF_HUB_OFFLINE"] == "1"
    assert (Path(command.arguments[2]) / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("machine", "why_not"), [(GPU, None), (CPU, "SGLang's packages need an NVIDIA GPU, and none was found")]
)
def test_sglang_needs_a_gpu(machine: Machine, why_not: str | None, environment: Path):
    command = sglang_command(machine, model="org/model", port=30000, python=environment)
    assert command.text.endswith(
        "python3 -m sglang.launch_server --model-path org/model --host 127.0.0.1 --port 30000"
        " --enable-cache-report --enable-metrics"
    )
    assert command.why_not == why_not


def test_mlx_names_a_folder_by_its_full_path(environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    command = mlx_command(model="model", port=8080, sequences=3, python=environment)
    assert command.model == str(tmp_path / "model") and "--prompt-cache-size 3" in command.text
    assert command.rule_settings == {"sequences": 3}
    assert mlx_command(model="mlx-community/x", port=8080, python=environment).model == "mlx-community/x"


def test_an_environment_without_the_engine(tmp_path: Path):
    python = tmp_path / "bin" / "python"
    for command in (
        vllm_command(GPU, model="m", port=1, python=python),
        mlx_command(model="m", port=1, python=python),
        sglang_command(GPU, model="m", port=1, python=python),
    ):
        assert command.why_not is not None and command.why_not.endswith(f"is not installed beside {python}")
        with pytest.raises(UsageError, match=r"cannot be started here: .* is not installed") as caught:
            ExternalEngine(command)
        assert caught.value.hint is not None and caught.value.hint.startswith("pip install ")


def test_find_tool_looks_beside_the_named_python_only(environment: Path):
    assert find_tool("vllm", environment) == str(environment.parent / "vllm")
    assert find_tool("no-such-tool", environment) is None
    assert find_tool("sh", environment) is None and find_tool("sh", None) is not None


def test_this_machine_is_of_a_known_kind():
    assert this_machine().accelerator in (None, "cuda", "metal")


def script(tmp_path: Path, text: str, port: int) -> StartCommand:
    """An engine of one line of shell."""
    return StartCommand(
        engine="Engine", target="engine", model="m", arguments=("/bin/sh", "-c", text), port=port, health_path="/"
    )


def test_an_engine_that_ends_before_it_is_ready_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(Unreachable, match="Engine ended with exit code 7 before it was ready") as caught:
        ExternalEngine(script(tmp_path, "echo no memory left; exit 7", free_port()))
    assert caught.value.hint is not None and caught.value.hint.endswith(".log: no memory left")


def test_an_engine_runs_until_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    port = free_port()
    text = f"cd {tmp_path} && exec python3 -m http.server --bind 127.0.0.1 {port}"
    with ExternalEngine(script(tmp_path, text, port)) as engine:
        assert engine.running and engine.base_url == f"http://127.0.0.1:{port}/v1"
        with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 cannot be used"):
            ExternalEngine(script(tmp_path, text, port))
    assert not engine.running
    assert list((tmp_path / "hitrate").rglob("*.log")) == []


def test_a_start_can_be_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(Unreachable, match="Engine was stopped before it was ready"):
        ExternalEngine(script(tmp_path, "exec sleep 60", free_port()), stopped=lambda: True)


@pytest.mark.parametrize(
    ("pattern", "output", "figures"),
    [
        (READ, "==========\nPrompt: 3446 tokens, 214.291 tokens-per-sec\nGeneration: 8 tokens", ("3446", "214.291")),
        (
            PROCESSED,
            "\rProcessed      0 tokens (  0.00 tok/s)\rProcessed    835 tokens (470.94 tok/s)",
            ("835", "470.94"),
        ),
    ],
)
def test_figures_that_mlx_prints(pattern, output: str, figures: tuple[str, str]):
    assert [match.group("tokens", "speed") for match in pattern.finditer(output)][-1] == figures
