"""The command line run in this process, against practice servers in threads and servers that say what a test lists."""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from typing import Any, NamedTuple

import jsonschema
import pytest
from plain_server import PlainServer

from hitrate.cli.group import run
from hitrate.report.json import schema
from hitrate.serve.listening import listen
from hitrate.serve.practice.faults import parse_fault
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.server import run as serve
from hitrate.serve.practice.vendors import imitating
from hitrate.targets.presets import all_names, load
from hitrate.tokens.cached import CachedTokenizer
from hitrate.tokens.o200k import O200k

FAST = {"prefill_rate": 200_000.0, "decode_rate": 5000.0, "base_ms": 1.0}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Every document is held against its schema."""
        document = json.loads(self.out)
        validator(document["kind"]).validate(document)
        return document


@functools.cache
def validator(kind: str) -> Any:
    """Made once: to check the schema itself takes much longer than to check a document."""
    described = schema(kind)
    jsonschema.Draft202012Validator.check_schema(described)
    return jsonschema.Draft202012Validator(described)


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    """A store, a configuration and a working folder of the test's own, and no keys."""
    for name in all_names():
        variable = load(name).key_variable
        if variable is not None:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HITRATE_STORE", str(tmp_path / "runs.sqlite3"))
    monkeypatch.setattr("hitrate.targets.presets.platformdirs.user_config_path", lambda name: tmp_path / "config")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def hitrate(capsys):
    """Runs a command line and gives its exit code and what it wrote."""

    def command(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return command


@pytest.fixture
def practice():
    """Starts a practice server with the options given, in the manner of `imitates`, and gives its base URL."""
    with contextlib.ExitStack() as servers:

        def start(*, imitates: str | None = None, faults: tuple[str, ...] = (), **options: Any) -> str:
            chosen = PracticeOptions(port=0, faults=tuple(map(parse_fault, faults)), **{**FAST, **options})
            if imitates is not None:
                chosen = imitating(imitates, chosen, given=("port", "faults", *FAST, *options))
            return servers.enter_context(_serving(chosen))

        yield start


@contextlib.contextmanager
def _serving(options: PracticeOptions):
    ready = threading.Event()
    running = []

    def started(server):
        running.append(server)
        ready.set()

    with contextlib.closing(listen(options.host, 0)) as listening:
        arguments = (options, CachedTokenizer(O200k()), listening, started)
        thread = threading.Thread(target=serve, args=arguments, daemon=True)
        thread.start()
        assert ready.wait(20)
        yield running[0].base_url
        running[0].stop()
        thread.join(20)


@pytest.fixture
def plain():
    """Starts a server that answers chat calls with what a function gives, and records them."""
    with contextlib.ExitStack() as servers:
        yield lambda *answers, **options: servers.enter_context(PlainServer(*answers, **options))


@pytest.fixture
def file(tmp_path):
    """Writes a file of the test's own and gives its name, which is relative to the working folder."""

    def write(name: str, content: str | bytes) -> str:
        place = tmp_path / name
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write
