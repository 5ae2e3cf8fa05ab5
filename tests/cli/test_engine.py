from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hitrate.cli.group import run

COMMAND = [sys.executable, "-m", "hitrate", "engine", "llamacpp"]
SMALL = ["--port", "0", "--context", "1024", "--need-tokens", "0", "--json"]


def start() -> tuple[subprocess.Popen[bytes], dict]:
    process = subprocess.Popen([*COMMAND, *SMALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


@pytest.mark.engine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_ends_in_order(number: signal.Signals):
    process, ready = start()
    process.send_signal(number)
    _, talk = process.communicate(timeout=30)
    port = ready["base_url"].removeprefix("http://127.0.0.1:").removesuffix("/v1")
    assert ready == {
        "schema_version": 1,
        "base_url": f"http://127.0.0.1:{port}/v1",
        "model": "hitrate-tiny",
        "slots": 4,
        "context_per_slot": 256,
        "pid": ready["pid"],
    }
    assert process.returncode == 0
    lines = talk.decode().splitlines()
    assert lines[0].startswith(f"llama.cpp with hitrate-tiny at {ready['base_url']}: 4 slots x 256 tokens, ")
    assert lines[1:] == [
        f"next, in another terminal: hitrate bench llamacpp --base-url {ready['base_url']}",
        "Ctrl-C ends it.",
        "stopped",
    ]


@pytest.mark.engine
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not a child")
def test_the_server_ends_when_the_command_is_killed():
    process, ready = start()
    server = os.pidfd_open(ready["pid"])
    process.kill()
    process.communicate(timeout=30)
    assert select.select([server], [], [], 30)[0] == [server]
    os.close(server)


@pytest.mark.engine
def test_a_server_that_dies_is_reported():
    process, ready = start()
    os.kill(ready["pid"], signal.SIGKILL)
    _, talk = process.communicate(timeout=30)
    assert process.returncode == 3
    assert talk.decode().splitlines()[-2] == "error: llama.cpp ended by itself"
    assert talk.decode().splitlines()[-1].startswith("hint: end of ")


@pytest.mark.parametrize(
    ("options", "exit_code", "says"),
    [
        (
            ["--context", "8192"],
            3,
            "error: slots share the context: 8,192 / 4 slots = 2,048 tokens each, a prompt of about 3,500 does not "
            "fit; use --context 16384 or --slots 2\n",
        ),
        (["--threads", "0"], 2, "error: --threads is 0; it must be 1 or more\n"),
        (
            ["--model", "/no/such.gguf"],
            2,
            "error: /no/such.gguf: cannot be read: No such file or directory; a GGUF model file is needed\n",
        ),
        (
            ["--chat-template", "/no/such.jinja"],
            2,
            "error: /no/such.jinja: cannot be read: No such file or directory; a Jinja template is needed\n",
        ),
    ],
)
def test_refusals(options: list[str], exit_code: int, says: str, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("xllamacpp", reason="needs the extra `engine`")
    assert run(["engine", "llamacpp", *options]) == exit_code
    assert capsys.readouterr() == ("", says)


def test_a_template_that_is_not_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    template = tmp_path / "t.jinja"
    template.write_bytes(b"ab\xff")
    assert run(["engine", "llamacpp", "--chat-template", str(template)]) == 2
    assert capsys.readouterr().err == f"error: {template}: is not UTF-8 text at byte 2; a Jinja template is\n"


# Engines that hitrate does not ship


@pytest.fixture
def fake_environment(tmp_path: Path) -> Path:
    """The Python of an environment with stand-ins for MLX-LM's commands, which print as it does."""
    scripts = {
        "mlx_lm.generate": """
case "$*" in *--prompt-cache-file*) tokens=28;; *) tokens=63;; esac
printf '==========\\nsome words\\n==========\\nPrompt: %s tokens, 100.000 tokens-per-sec\\n' "$tokens"
""",
        "mlx_lm.cache_prompt": """
for last; do case "$last" in *.safetensors) echo data > "$last";; esac; done
printf '\\rProcessed      0 tokens (  0.00 tok/s)\\rProcessed     35 tokens (350.00 tok/s)\\nSaving...\\n'
""",
        "mlx_lm.server": "exit 3\n",
    }
    for name, text in scripts.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{text}")
        file.chmod(0o755)
    return tmp_path / "python"


def test_mlx_by_hand_says_what_each_step_read(fake_environment: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["engine", "mlx", "--by-hand", "--python", str(fake_environment)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[:-1]] == [
        ["step", "tokens", "read", "tokens/s"],
        ["cold", "63", "100", "0.63"],
        ["saved", "35", "350", "0.10"],
        ["warm", "28", "100", "0.28"],
    ]
    assert lines[-1] == "the opening's file: 0.0 MB; warm gave the same text as cold"


def test_mlx_by_hand_as_json_and_the_file_stays(
    fake_environment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "opening.safetensors"
    arguments = ["--by-hand", "--json", "--python", str(fake_environment), "--cache-file", str(file)]
    assert run(["engine", "mlx", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    steps = [(step["name"], step["prompt_tokens"], step["tokens_per_s"], step["text"]) for step in found["steps"]]
    assert steps == [("cold", 63, 100.0, "some words"), ("saved", 35, 350.0, ""), ("warm", 28, 100.0, "some words")]
    assert (found["schema_version"], found["file_bytes"], file.read_text()) == (1, 5, "data\n")


def test_the_command_is_printed_where_it_cannot_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    nowhere = str(tmp_path / "python")
    assert run(["engine", "vllm", "--model", "org/model", "--python", nowhere]) == 2
    out, err = capsys.readouterr()
    assert "vllm serve org/model --host 127.0.0.1 --port 8000 --enable-prompt-tokens-details" in out
    assert err.startswith(
        f"error: vLLM cannot be started here: the command vllm is not installed beside {nowhere}\nhint: "
    )
    assert run(["engine", "vllm", "--model", "org/model", "--python", nowhere, "--print"]) == 0
    assert capsys.readouterr() == (out, "")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--opening", "file"], "error: --opening and --cache-file are for --by-hand\n"),
        (["--by-hand", "--print"], "error: --print shows the server's command; it does not go with --by-hand\n"),
    ],
)
def test_options_of_mlx_that_do_not_go_together(options: list[str], says: str, capsys: pytest.CaptureFixture[str]):
    assert run(["engine", "mlx", *options]) == 2
    assert capsys.readouterr() == ("", says)


def test_a_server_that_ends_at_once_is_reported(
    fake_environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    arguments = ["--model", "org/model", "--port", "18997", "--python", str(fake_environment)]
    assert run(["engine", "mlx", *arguments]) == 3
    assert "error: MLX ended with exit code 3 before it was ready\n" in capsys.readouterr().err
