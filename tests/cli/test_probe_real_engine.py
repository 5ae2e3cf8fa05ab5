"""`hitrate probe` on a real llama.cpp server: it finds what the engine's source says."""

import json

import pytest

from hitrate.cli.group import run

pytestmark = pytest.mark.engine
pytest.importorskip("xllamacpp", reason="needs the extra `engine`")


@pytest.fixture
def engine(tmp_path, monkeypatch):
    from hitrate.engines.llamacpp import LlamaCppEngine

    monkeypatch.setenv("HITRATE_STORE", str(tmp_path / "runs.sqlite3"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with LlamaCppEngine() as server:
        yield server


def test_llama_cpp_credits_token_by_token_and_reuses_what_it_generated(engine, capsys):
    wanted = ("granularity", "minimum", "generated", "opening")
    options = [word for name in wanted for word in ("--only", name)]
    assert run(["probe", "llamacpp", "--base-url", engine.base_url, "--json", *options]) == 0
    result = json.loads(capsys.readouterr().out)
    found = {answer["probe"]: answer for answer in result["answers"]}
    assert (found["hidden"]["choice"], found["granularity"]["value"]) == ("reported", 1)
    assert (found["minimum"]["choice"], found["minimum"]["low"]) == ("none seen", 0)
    assert (found["generated"]["choice"], found["opening"]["choice"]) == ("reused", "second call")
    assert [name for name in wanted if found[name]["agrees"] is not True] == []
