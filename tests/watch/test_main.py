"""The keeper's process with the page, from a journal to what a visitor sees."""

import json
import os
import subprocess
import sys

import pytest
from serving import BASE, Events, ask
from traffic import Agent, clock

from hitrate.logs.store import RECORDING, Store
from hitrate.record.exchange import Exchange
from hitrate.record.journal import Journal
from hitrate.record.places import journal_folder


def exchange(agent, at, system):
    call = agent.turn(at, system=system)
    usage = {
        "input_tokens": 0,
        "cache_read_input_tokens": call.usage.cached_tokens,
        "cache_creation_input_tokens": call.usage.written_tokens,
        "output_tokens": 5,
    }
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": call.model, "content": [], "usage": usage}
    body = json.dumps(reply).encode()
    return Exchange(
        upstream="anthropic",
        method="POST",
        path="/v1/messages",
        at=at,
        sent_at_s=at,
        request_headers={"x-claude-code-session-id": agent.session},
        request_body=call.body,
        status=200,
        response_headers={"content-type": "application/json"},
        response_body=body,
        reads=((len(body), 200_000_000),),
        headers_ns=100_000_000,
        total_ns=200_000_000,
    )


class Keeper:
    def __init__(self, path):
        with Store.open(path) as store:
            self.run = store.begin_run(
                RECORDING, "anthropic", None, "hitrate proxy anthropic", "2026-11-29T20:00:00+00:00"
            )
        self.journal = Journal(journal_folder(path, self.run))
        command = [sys.executable, "-m", "hitrate.watch", str(path), self.run]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ready = json.loads(self.process.stdout.readline())

    def record(self, one):
        self.journal.record(one)
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def end(self):
        self.journal.close()
        self.process.stdin.close()
        code = self.process.wait(30)
        self.process.stdout.close()
        return code


@pytest.fixture
def keeper(tmp_path):
    keeper = Keeper(tmp_path / "runs.sqlite3")
    yield keeper
    keeper.process.kill()
    keeper.process.wait()


def test_a_break_is_shown_as_it_is_recorded(keeper):
    assert keeper.ready == {"run": keeper.run, "pid": keeper.process.pid, "port": keeper.ready["port"]}
    events = Events(keeper.ready["port"])
    agent = Agent("agent-1")
    for number in range(3):
        keeper.record(exchange(agent, 1_790_000_000.0 + 10 * number, clock(10 * number)))
    _, update = events.until(lambda update: update["breaks"] and update["sums"]["calls"] == 3)
    events.close()
    assert [one["finding"]["cause"] for one in update["breaks"]] == ["clock-in-prefix"]
    assert update["lost_usd"] > 0
    status, _, page = ask(keeper.ready["port"], f"{BASE}/session/1")
    assert (status, b"clock-in-prefix" in page, b"agent-1" in page) == (200, True, True)
    metrics = ask(keeper.ready["port"], f"{BASE}/metrics")[2].decode()
    labels = 'target="anthropic",model="claude-sonnet-4-5"'
    assert f'hitrate_requests_total{{{labels},outcome="answered"}} 3\n' in metrics
    assert "hitrate_exchanges_not_recorded_total 0\n" in metrics
    assert "hitrate_journal_bytes 0\n" in metrics
    assert keeper.end() == 0


def test_it_ends_with_its_recorder_though_somebody_watches(keeper):
    events = Events(keeper.ready["port"])
    events.next()
    assert keeper.end() == 0
    events.close()


def test_it_ends_with_its_recorder_when_nobody_ever_looked(keeper):
    assert keeper.end() == 0


def test_it_takes_in_the_rest_though_its_recorder_is_gone_before_it_is_ready(tmp_path):
    path = tmp_path / "runs.sqlite3"
    with Store.open(path) as store:
        run = store.begin_run(RECORDING, "anthropic", None, "hitrate proxy anthropic", "2026-11-29T20:00:00+00:00")
    journal = Journal(journal_folder(path, run))
    journal.record(exchange(Agent("agent-1"), 1_790_000_000.0, "system"))
    journal.close()
    nobody_reads, stdout = os.pipe()
    os.close(nobody_reads)
    command = [sys.executable, "-m", "hitrate.watch", str(path), run]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, timeout=60)
    os.close(stdout)
    assert (ended.returncode, ended.stderr) == (0, b"")
    with Store.open(path) as store:
        assert len(list(store.calls(run))) == 1
