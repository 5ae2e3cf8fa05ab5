"""The store of runs: what goes in comes out, and what cannot be stored says so."""

from __future__ import annotations

import hashlib
import json
import signal
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitrate.core import results
from hitrate.core.model import Call, Happening, Reply, Timing, Usage
from hitrate.errors import UsageError
from hitrate.logs import database
from hitrate.logs.store import Store, StoreUnavailable, default_path

WHEN = "2026-11-29T12:00:00Z"


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "runs.sqlite3") as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("store") / "runs.sqlite3") as opened:
        yield opened


def call_of(body: bytes = b"{}", **fields) -> Call:
    return Call(target="practice", dialect="openai-chat", body=body, **fields)


def bench_result(**fields) -> results.BenchResult:
    row = results.BenchRow(
        order="stable-first", shape="opening", first_ms=740.0, rest_p50_ms=36.0, rest_p95_ms=39.5, speedup_x=20.6
    )
    return results.BenchResult(target="practice", rows=(row,), warnings=("one\x1b[31m",), **fields)


def any_test_result() -> results.TestResult:
    return results.TestResult(
        target="practice",
        aggregate=results.Aggregate(prompt_tokens=10, cached_tokens=None, hit_rate=None, not_reported=1),
        verdict=results.Verdict(healthy=None, routing_is_a_factor=None, text="nothing is known"),
    )


# --- round trips -------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=()), max_size=8)
counts = st.none() | st.integers()
seconds = st.none() | st.floats(allow_nan=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)
headers = st.dictionaries(st.text("abcxyz-", max_size=6), texts, max_size=2)
usages = st.builds(
    Usage,
    prompt_tokens=counts,
    cached_tokens=counts,
    written_tokens=counts,
    written_5m_tokens=counts,
    written_1h_tokens=counts,
    output_tokens=counts,
    reasoning_tokens=counts,
    cached_source=texts,
    sources=st.dictionaries(texts, texts, max_size=2),
)
timings = st.builds(
    Timing,
    at=st.floats(allow_nan=False),
    sent_at_s=st.floats(allow_nan=False),
    connect_s=seconds,
    tls_s=seconds,
    headers_s=seconds,
    ttft_s=seconds,
    first_content_s=seconds,
    total_s=seconds,
    first_read_tokens=st.integers(0, 9),
)
replies = st.builds(
    Reply,
    message=objects,
    text=texts,
    reasoning=texts,
    tool_calls=st.lists(objects, max_size=2).map(tuple),
    finish_reason=st.none() | texts,
    model=st.none() | texts,
    response_id=st.none() | texts,
    token_ids=st.none() | st.lists(st.integers(0, 9), max_size=3).map(tuple),
    slot=st.none() | st.integers(0, 9),
    server_timings=st.none() | objects,
)
happenings = st.builds(Happening, kind=texts, detail=texts, at=seconds)
request_bodies = st.builds(
    lambda value, indent, ascii: json.dumps(value, indent=indent, ensure_ascii=ascii).encode("utf-8", "surrogatepass"),
    st.fixed_dictionaries(
        {"model": texts, "messages": st.lists(values, max_size=4)},
        optional={"tools": st.lists(objects, max_size=3), "instructions": st.text(min_size=70, max_size=80)},
    ),
    st.none() | st.integers(0, 2),
    st.booleans(),
)
calls = st.builds(
    Call,
    target=texts,
    dialect=texts,
    body=request_bodies | st.binary(max_size=40),
    model=st.none() | texts,
    session=texts,
    turn=st.integers(),
    label=texts,
    headers=headers,
    status=counts,
    usage=usages,
    timing=st.none() | timings,
    reply=st.none() | replies,
    response_headers=headers,
    waits=st.lists(st.floats(allow_nan=False), max_size=2).map(tuple),
    error=st.none() | texts,
    raw_usage=st.none() | objects,
    happenings=st.lists(happenings, max_size=2).map(tuple),
    line=counts,
    rebuilt=st.booleans(),
    diagnosis=st.none() | objects,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(calls, max_size=3))
def test_calls_come_back_equal_and_bodies_byte_for_byte(shared_store, added):
    run = shared_store.begin_run("test", "practice", None, "hitrate test practice", WHEN)
    for call in added:
        shared_store.add_call(run, call)
    found = list(shared_store.calls(run))
    assert found == added
    assert [call.body for call in found] == [call.body for call in added]


@pytest.mark.parametrize("result", [bench_result(), any_test_result(), bench_result(model="odd \ud800")])
def test_results_come_back_equal(store, result):
    run = store.begin_run(result.kind, result.target, result.model, "hitrate", WHEN)
    store.finish_run(run, result)
    assert store.result(run) == result


def test_a_conversation_stores_each_message_and_tool_once(store):
    tools = [{"name": f"tool-{number}"} for number in range(5)]
    messages = [{"role": "system", "content": "policy " * 300}]
    run = store.begin_run("test", "practice", None, "hitrate test practice --turns 100", WHEN)
    sent = 0
    for turn in range(100):
        messages.append({"role": "user", "content": f"question {turn}"})
        body = json.dumps({"model": "m", "tools": tools, "messages": messages, "stream": True}).encode()
        store.add_call(run, call_of(body))
        sent += len(body)
        messages.append({"role": "assistant", "content": f"answer {turn}"})
    assert one(store, "SELECT count(*) FROM parts") == 5 + 1 + 100 + 99
    assert (
        one(store, "SELECT sum(length(bytes)) FROM parts") + one(store, "SELECT sum(length(body)) FROM calls")
        < sent / 5
    )
    assert json.loads(list(store.calls(run))[-1].body)["messages"] == messages[:-1]


def test_deleting_a_run_keeps_what_other_runs_use(store):
    first, second = (store.begin_run("test", "practice", None, "hitrate", WHEN) for _ in range(2))
    store.add_call(first, call_of(b'{"messages":["shared","first"]}'))
    store.add_call(second, call_of(b'{"messages":["shared","second"]}'))
    store.delete(first)
    assert [run.id for run in store.runs()] == [second]
    assert [call.body for call in store.calls(second)] == [b'{"messages":["shared","second"]}']
    assert one(store, "SELECT count(*) FROM parts") == 2
    assert one(store, "SELECT count(*) FROM calls") == 1


# --- the list of runs --------------------------------------------------------------------------------------------


def test_runs_are_listed_newest_first_with_their_hit_rate(store):
    old = store.begin_run("test", "practice", "m", "hitrate test practice", "2026-11-28T12:00:00Z")
    new = store.begin_run("bench", "vllm", None, "hitrate bench vllm", WHEN)
    for prompt, cached in [(1000, 0), (1000, 900), (500, None), (None, 5), (100, 200)]:
        store.add_call(old, call_of(usage=Usage(prompt_tokens=prompt, cached_tokens=cached)))
    store.finish_run(old, any_test_result())
    assert [(run.id, run.kind, run.calls, run.hit_rate, run.finished) for run in store.runs()] == [
        (new, "bench", 0, None, False),
        (old, "test", 5, 0.45, True),
    ]
    assert [run.id for run in store.runs(limit=1)] == [new]


def test_a_unique_prefix_of_an_id_is_enough(store):
    run = store.begin_run("test", "practice", None, "hitrate", WHEN)
    assert store.find(run[:3]) == run
    other = store.begin_run("test", "practice", None, "hitrate", WHEN)
    with pytest.raises(UsageError, match=f"run 'r' is not unique: {other}, {run}"):
        store.find("r")


def test_an_unknown_id_names_the_nearest_or_the_last(store):
    with pytest.raises(UsageError, match="no run 'r7k2m9': no run is stored in"):
        store.result("r7k2m9")
    run = store.begin_run("test", "practice", None, "hitrate", WHEN)
    with pytest.raises(UsageError, match=f"no run 'x{run[1:]}': nearest are {run}"):
        list(store.calls("x" + run[1:]))
    with pytest.raises(UsageError, match=f"no run '000000000': last are {run}"):
        store.delete("000000000")


def test_a_run_that_was_cut_off_keeps_its_calls_and_has_no_result(tmp_path):
    store = Store.open(tmp_path / "runs.sqlite3")
    run = store.begin_run("test", "practice", None, "hitrate", WHEN)
    store.add_call(run, call_of())
    with Store.open(tmp_path / "runs.sqlite3") as later:  # the first one was never closed
        assert len(list(later.calls(run))) == 1
        with pytest.raises(UsageError, match=f"run {run} was cut off before it had a result; its calls are stored"):
            later.result(run)
    store.close()


def test_a_killed_process_loses_nothing_it_had_added(tmp_path):
    path = tmp_path / "runs.sqlite3"
    script = (
        "import os, signal, sys; from hitrate.logs.store import Store; from hitrate.core.model import Call;"
        "store = Store.open(sys.argv[1]); run = store.begin_run('test', 'practice', None, 'hitrate', 'now');"
        "[store.add_call(run, Call(target='practice', dialect='d', body=b'%d' % n)) for n in range(3)];"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)]).returncode == -signal.SIGKILL
    with Store.open(path) as store:
        (run,) = store.runs()
        assert [call.body for call in store.calls(run.id)] == [b"0", b"1", b"2"]


# --- safety ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "Set-Cookie", "COOKIE", "api-key"])
@pytest.mark.parametrize("side", ["headers", "response_headers"])
def test_headers_with_keys_are_refused_and_nothing_is_written(store, name, side):
    run = store.begin_run("test", "practice", None, "hitrate", WHEN)
    with pytest.raises(AssertionError, match=f"header '{name}' must not reach the store"):
        store.add_call(run, call_of(**{side: {name: "sk-secret"}}))
    assert list(store.calls(run)) == []
    assert b"sk-secret" not in store.path.read_bytes()


def test_file_and_folder_are_for_the_user_alone(tmp_path):
    with Store.open(tmp_path / "data" / "runs.sqlite3") as store:
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_the_environment_names_the_file(monkeypatch, tmp_path):
    monkeypatch.setenv("HITRATE_STORE", str(tmp_path / "mine.sqlite3"))
    assert default_path() == tmp_path / "mine.sqlite3"
    with Store.open() as store:
        assert store.path == tmp_path / "mine.sqlite3"
    monkeypatch.delenv("HITRATE_STORE")
    assert default_path().parts[-2:] == ("hitrate", "runs.sqlite3")


def test_calls_may_be_added_from_several_threads_and_stores(store):
    run = store.begin_run("test", "practice", None, "hitrate", WHEN)

    def add(number: int) -> None:
        with Store.open(store.path) as own:
            for _ in range(5):
                store.add_call(run, call_of(label=f"shared {number}"))
                own.add_call(run, call_of(label=f"own {number}"))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one(store, "SELECT count(*) FROM calls") == 40
    assert one(store, "SELECT max(position) FROM calls") == 40


# --- files that cannot be used -----------------------------------------------------------------------------------


def test_a_newer_schema_is_refused(tmp_path):
    path = tmp_path / "runs.sqlite3"
    Store.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(
        UsageError, match=r"runs.sqlite3 was written by a newer hitrate \(schema 99, this one knows 4\)"
    ):
        Store.open(path)


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "runs.sqlite3"
    path.write_text("these are my notes, " * 100)
    with pytest.raises(StoreUnavailable, match=r"runs are not stored, .*runs.sqlite3: file is not a database"):
        Store.open(path)
    assert path.read_text().startswith("these are my notes")


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match=r"runs are not stored, .*: Not a directory") as raised:
        Store.open(tmp_path / "file" / "data" / "runs.sqlite3")
    assert raised.value.hint == "point HITRATE_STORE at a file that can be written"


def test_a_full_disk_loses_the_call_that_did_not_fit_and_nothing_before(store):
    run = store.begin_run("test", "practice", None, "hitrate", WHEN)
    store.add_call(run, call_of(b'{"messages":["small"]}'))
    store._database._connection.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreUnavailable, match=r"runs are not stored, .*: database or disk is full"):
        store.add_call(run, call_of(json.dumps({"messages": ["x" * 100_000]}).encode()))
    assert [call.body for call in store.calls(run)] == [b'{"messages":["small"]}']


def test_a_store_that_became_read_only(store):
    run = store.begin_run("test", "practice", None, "hitrate", WHEN)
    store._database._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreUnavailable, match="attempt to write a readonly database"):
        store.add_call(run, call_of())


def one(store: Store, query: str):
    """A figure read with plain sqlite3, as anybody else would."""
    with sqlite3.connect(store.path) as connection:
        return connection.execute(query).fetchone()[0]


def test_a_store_of_schema_2_is_brought_forward(tmp_path, monkeypatch):
    """Its calls come back as they were added, and what is added now shares their parts."""
    path = tmp_path / "runs.sqlite3"
    steps = database._migrations()
    with monkeypatch.context() as patch:
        patch.setattr(database, "_migrations", lambda: steps[:2])
        database.Database.open(path).close()
    message = b'{"role":"user","content":"Hi"}'
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO runs VALUES ('rold22', 'test', 'practice', NULL, 'hitrate test', ?, NULL)", (WHEN,)
        )
        part = (hashlib.sha256(message).digest(), message)
        connection.execute("INSERT INTO parts (id, sha256, bytes) VALUES (7, ?, ?)", part)
        for position in (1, 2):
            connection.execute(
                "INSERT INTO calls (run, position, session, turn, label, target, dialect, cached_source, headers, "
                "response_headers, waits, reply, body, prompt_tokens) VALUES ('rold22', ?, 's', 1, '', 'practice', "
                "'openai-chat', 'absent', '{}', '{}', '[]', ?, ?, 40)",
                (
                    position,
                    '{"message":{"content":"Yes."},"text":"Yes.","reasoning":"","tool_calls":[],"token_ids":null}',
                    '["{\\"messages\\":[",7,"]}"]',
                ),
            )
    old = Call(
        target="practice",
        dialect="openai-chat",
        body=b'{"messages":[' + message + b"]}",
        session="s",
        turn=1,
        usage=Usage(prompt_tokens=40),
        reply=Reply(message={"content": "Yes."}, text="Yes."),
    )
    with Store.open(path) as store:
        assert list(store.calls("rold22")) == [old, old]
        store.add_call("rold22", old)
        assert list(store.calls("rold22", after=2)) == [old]
        assert one(store, "SELECT group_concat(id) FROM parts") == "7"
        assert one(store, "SELECT group_concat(id) FROM calls") == "1,2,3"
        assert store.check_integrity() == []
    assert one(store, "PRAGMA user_version") == len(steps)
