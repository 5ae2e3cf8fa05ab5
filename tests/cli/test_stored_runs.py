"""`hitrate runs`, `show` and `models`."""

from __future__ import annotations

import json

import pytest

from hitrate.logs.store import Store, StoreUnavailable
from hitrate.record.exchange import Exchange
from hitrate.record.journal import Journal
from hitrate.record.keeper import Keeper
from hitrate.record.places import journal_folder


@pytest.fixture
def run(hitrate, practice, file):
    short = file("short.txt", "Answer in one word. " * 50)
    return hitrate("test", "practice", "--base-url", practice(), "--system", short, "--turns", 3, "--json").json


def test_a_run_is_listed_and_shown_as_it_was(hitrate, run):
    (listed,) = hitrate("runs", "--json").json["runs"]
    assert (listed["id"], listed["kind"], listed["target"], listed["finished"]) == (
        run["run_id"],
        "test",
        "practice",
        True,
    )
    assert listed["hit_rate"] == run["aggregate"]["hit_rate"]
    assert hitrate("show", run["run_id"][:3], "--json").json == run


@pytest.mark.parametrize("output", [(), ("--csv",), ("--md",), ("--html", "page.html")])
def test_a_run_in_every_format(hitrate, run, tmp_path, output):
    got = hitrate("show", run["run_id"], *output)
    assert got.code == 0
    assert "3,008" in got.out or str(run["turns"][2]["cached_tokens"]) in got.out
    if "--html" in output:
        assert got.err == "page written to page.html\n"
        assert run["verdict"]["text"] in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_deleted_run_is_gone(hitrate, run):
    assert hitrate("runs", "--delete", run["run_id"]) == (0, "", f"deleted {run['run_id']}\n")
    assert hitrate("runs", "--json").json["runs"] == []
    assert hitrate("show", run["run_id"]).code == 2


def test_models_with_prices(hitrate, practice):
    got = hitrate("models", "practice", "--base-url", practice(), "--json")
    assert got.json["models"] == [
        {
            "id": "practice",
            "context_tokens": None,
            "input_usd_per_mtok": 0.3,
            "cached_usd_per_mtok": 0.006,
            "written_usd_per_mtok": 0.0,
            "output_usd_per_mtok": 1.2,
            "source": "pricing.prompt",
        }
    ]


def test_models_without_prices(hitrate, plain):
    server = plain(None, models=["a", "b"])
    got = hitrate("models", server.url, "--json")
    assert [(model["id"], model["input_usd_per_mtok"]) for model in got.json["models"]] == [("a", None), ("b", None)]
    assert got.json["warnings"] == [f"{server.address} lists no prices here"]


def test_a_target_without_a_list(hitrate, plain):
    server = plain(None, models=None)
    got = hitrate("models", server.url)
    assert (got.code, got.out) == (3, "")
    assert got.err == f"error: GET http://{server.address}/v1/models: HTTP 404: Not Found\n"


# --- recordings --------------------------------------------------------------------------------------------------


@pytest.fixture
def recording():
    """One whose processes were both killed: two calls in the store, a third still in the journal."""
    with Store.open() as store:
        run_id = store.begin_run("record", "practice", None, "hitrate proxy practice", "2026-11-29T12:00:00Z")
        writer = Journal(journal_folder(store.path, run_id))
        keeper = Keeper(writer.folder, store, run_id)
        for number in range(3):
            body = {"messages": [{"role": "user", "content": f"question {number}"}]}
            reply = {
                "choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 40, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 20}},
            }
            exchange = Exchange(
                upstream="practice",
                method="POST",
                path="/v1/chat/completions",
                at=1.79e9 + number,
                sent_at_s=float(number),
                request_body=json.dumps(body).encode(),
                status=200,
                response_body=json.dumps(reply).encode(),
            )
            assert writer.record(exchange)
            if number == 1:
                keeper.drain()
        keeper.close()
        writer.close()
    return run_id


def test_what_a_killed_recording_left_is_taken_in_and_said(hitrate, recording):
    listed = hitrate("runs", "--json")
    assert listed.err == f"note: taken in from recording {recording}, which was cut off: 1 exchanges\n"
    (run,) = listed.json["runs"]
    assert (run["id"], run["kind"], run["calls"], run["hit_rate"], run["finished"]) == (
        recording,
        "record",
        3,
        0.5,
        True,
    )
    assert hitrate("runs").err == ""


def test_a_log_command_takes_it_in_as_well(hitrate, recording):
    got = hitrate("cost", recording, "--price", "1,0.1,2", "--json")
    assert f"recording {recording}" in got.err
    assert got.json["calls"] == 3


def test_a_recording_has_no_result_to_show(hitrate, recording):
    got = hitrate("show", recording)
    assert (got.code, got.out) == (2, "")
    assert f"run {recording} is a recording, which has calls and no result: hitrate explain {recording}" in got.err


def test_a_journal_that_cannot_be_taken_in_is_said_and_the_rest_is_read(hitrate, recording, monkeypatch):
    def unavailable(store):
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr("hitrate.record.recovery.recover", unavailable)
    got = hitrate("runs", "--json")
    assert got.err.startswith("note: what is left of recordings in ") and "the disk is full" in got.err
    assert got.json["runs"][0]["calls"] == 2
