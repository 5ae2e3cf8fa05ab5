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
