"""`hitrate runs`, `show` and `models`."""

from __future__ import annotations

import pytest


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
