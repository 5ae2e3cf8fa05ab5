"""`hitrate proxy` from the command line: what it says, what it refuses, how it ends."""

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import closing, contextmanager

import pytest

from hitrate.cli.group import run
from hitrate.cli.proxy import Size, base_urls
from hitrate.logs.store import Store
from hitrate.serve.proxy.upstreams import parse_upstreams


@contextmanager
def upstream(answer=b'{"id":"a","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}'):
    """Answers every request alike; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    read = connection.makefile("rb")
                    lengths = [
                        line for line in iter(read.readline, b"\r\n") if line.lower().startswith(b"content-length")
                    ]
                    read.read(sum(int(line.partition(b":")[2]) for line in lengths))
                    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                    connection.sendall(head % len(answer) + answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def started(*arguments, environment=None):
    """The process, and what it said when it was ready."""
    command = [sys.executable, "-m", "hitrate", "proxy", *arguments, "--port", "0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def post(url, body=b'{"model":"m","messages":[{"role":"user","content":"hi"}]}', **headers):
    request = urllib.request.Request(f"{url}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read()


def ended(process, number=signal.SIGINT):
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    return process.returncode, errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_carries_and_stops(number):
    with upstream() as port, started(f"http://127.0.0.1:{port}/v1", "--no-record") as (process, ready):
        assert ready == {
            "schema_version": 1,
            "address": ready["address"],
            "pid": process.pid,
            "run": None,
            "page": None,
            "upstreams": [
                {
                    "name": f"127.0.0.1:{port}",
                    "url": f"http://127.0.0.1:{port}",
                    "variable": "OPENAI_BASE_URL",
                    "base_url": f"{ready['address']}/v1",
                }
            ],
        }
        assert json.loads(post(ready["upstreams"][0]["base_url"]))["id"] == "a"
        code, errors = ended(process, number)
        assert code == 0
        assert errors == "0 of 1 exchanges recorded; not recorded: 1 --no-record\n"


def test_records_into_the_store_without_keys(tmp_path):
    store = tmp_path / "runs.sqlite3"
    with (
        upstream(b'{"error":"no key sk-planted-0123456789"}') as port,
        started(f"http://127.0.0.1:{port}/v1", "--store", str(store), "--token", "token-planted-1") as (process, ready),
    ):
        headers = {"Authorization": "Bearer sk-planted-0123456789", "X-Hitrate-Token": "token-planted-1"}
        for _ in range(3):
            post(ready["upstreams"][0]["base_url"], **headers)
        code, errors = ended(process)
        assert code == 0
        assert f"3 of 3 exchanges recorded. See: hitrate explain {ready['run']}" in errors
    with Store.open(store) as opened:
        (entry,) = opened.runs()
        assert (entry.id, entry.kind, entry.target, entry.calls) == (
            ready["run"],
            "record",
            f"http://127.0.0.1:{port}/v1",
            3,
        )
    with closing(sqlite3.connect(store)) as connection:
        assert "--token ***" in connection.execute("select command from runs").fetchone()[0]
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"planted" not in file.read_bytes()


def test_without_content_no_word_of_it_reaches_the_disk(tmp_path):
    store = tmp_path / "runs.sqlite3"
    with (
        upstream(b'{"choices":[{"message":{"content":"planted answer"}}],"usage":{"prompt_tokens":7}}') as port,
        started(f"http://127.0.0.1:{port}/v1", "--store", str(store), "--no-content") as (process, ready),
    ):
        body = b'{"model":"m","messages":[{"role":"user","content":"planted question"}]}'
        assert b"planted answer" in post(ready["upstreams"][0]["base_url"], body)
        code, errors = ended(process)
        assert (code, "1 of 1 exchanges recorded" in errors) == (0, True)
    with Store.open(store) as opened:
        (call,) = opened.calls(ready["run"])
        assert (call.model, call.usage.prompt_tokens) == ("m", 7)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"planted" not in file.read_bytes()


def test_the_token_may_stand_in_the_environment(monkeypatch):
    monkeypatch.setenv("HITRATE_PROXY_TOKEN", "s3cret-token")
    with upstream() as port, started(f"http://127.0.0.1:{port}", "--no-record") as (_, ready):
        url = ready["upstreams"][0]["base_url"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            post(url)
        refused.value.close()
        assert refused.value.code == 401
        assert post(url, **{"X-Hitrate-Token": "s3cret-token"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["openai", "--host", "0.0.0.0"], "--host 0.0.0.0: others could use this proxy"),
        (["openai", "--token", "a/b"], "--token: use letters"),
        (["nobody-there"], "no target called 'nobody-there'"),
        (["openai", "openai"], "two upstreams are called 'openai'"),
        (["openai", "--key-upstream", "a=b"], "there is only one"),
        (["openai", "groq", "--key-upstream", "a=b"], "no upstream is called 'b'"),
        (["openai", "--max-body-kept", "much"], "'much' is no size"),
        (["openai", "--ca-file", "/no/such/file"], "--ca-file /no/such/file: No such file or directory"),
        (["openai", "--no-record", "--store", "x"], "--no-record leaves nothing for --store"),
        ([], "Missing argument"),
    ],
)
def test_what_is_refused(arguments, message, capsys, monkeypatch):
    monkeypatch.delenv("HITRATE_PROXY_TOKEN", raising=False)
    assert run(["proxy", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1024", 1024), ("2k", 2048), ("1.5MB", 1572864), ("2 GiB", 2 << 30), (7, 7)]
)
def test_sizes(text, size):
    assert Size().convert(text, None, None) == size


@pytest.mark.parametrize(
    ("upstreams", "told"),
    [
        (["openai"], [("OPENAI_BASE_URL", "http://a:1/v1")]),
        (["groq"], [("OPENAI_BASE_URL", "http://a:1/v1")]),
        (["anthropic"], [("ANTHROPIC_BASE_URL", "http://a:1")]),
        (["http://h"], [("OPENAI_BASE_URL", "http://a:1/v1")]),
        (
            ["openai", "c=anthropic"],
            [("OPENAI_BASE_URL", "http://a:1/openai/v1"), ("ANTHROPIC_BASE_URL", "http://a:1/c")],
        ),
    ],
)
def test_what_to_set_in_which_client(upstreams, told):
    found = base_urls("http://a:1", parse_upstreams(upstreams))
    assert [(variable, url) for _, variable, url in found] == told
