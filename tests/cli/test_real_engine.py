"""The commands on a real llama.cpp server: the slot model's prediction equals the engine's count on every call."""

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


@pytest.fixture
def short_system(tmp_path):
    """Long enough to be recognised, short enough for a test: some 300 tokens."""
    file = tmp_path / "system.txt"
    file.write_text("You are the support agent of a shop that repairs cargo bikes. Be brief and exact. " * 15)
    return str(file)


def measured(capsys, *arguments):
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def counts(rows):
    return [(row["cached_tokens"], row["expected_cached_tokens"]) for row in rows]


def test_ten_turns_are_predicted_to_the_token(engine, short_system, capsys):
    result = measured(
        capsys, "test", "llamacpp", "--base-url", engine.base_url, "--system", short_system, "--turns", "10"
    )
    assert len(result["turns"]) == 10
    assert all(cached == expected for cached, expected in counts(result["turns"]))
    assert [row["state"] for row in result["turns"]] == ["cold", *["hit"] * 9]
    assert result["verdict"]["healthy"] is True
    assert result["expectation"]["basis"] == "exact"
    assert result["expectation"]["note"] is None


def test_five_sessions_on_four_slots_are_predicted_to_the_token(engine, short_system, capsys):
    result = measured(
        capsys, "test", "llamacpp", "--base-url", engine.base_url, "--system", short_system,
        "--turns", "5", "--sessions", "5", "--concurrency", "1",
    )  # fmt: skip
    assert len(result["turns"]) == 30
    assert [pair for pair in counts(result["turns"]) if pair[0] != pair[1]] == []


def test_overlapping_calls_are_predicted_but_for_their_order(engine, short_system, capsys):
    """In which order a server reads calls that are sent within milliseconds, a client cannot know for sure."""
    result = measured(
        capsys, "test", "llamacpp", "--base-url", engine.base_url, "--system", short_system,
        "--turns", "4", "--sessions", "5",
    )  # fmt: skip
    different = [pair for pair in counts(result["turns"]) if pair[0] != pair[1]]
    assert len(result["turns"]) == 24
    assert len(different) <= 6


def test_the_order_of_the_prompt_decides(engine, tmp_path, capsys):
    opening = tmp_path / "opening.txt"
    opening.write_text(
        "\n".join(f"Rule {number}: answer in order {number}, be brief and exact." for number in range(90))
    )
    result = measured(
        capsys, "bench", "llamacpp", "--base-url", engine.base_url, "--opening", str(opening), "--calls", "6"
    )
    stable, variable = result["rows"]
    assert stable["speedup_x"] > 3 > 1.5 > variable["speedup_x"]
    assert stable["hit_rate"] > 0.95 and variable["hit_rate"] < 0.1
    assert all(
        call["cached_tokens"] == call["expected_cached_tokens"] for row in result["rows"] for call in row["calls"]
    )


def test_a_stored_conversation_is_sent_again_as_it_was(engine, short_system, capsys):
    first = measured(
        capsys, "test", "llamacpp", "--base-url", engine.base_url, "--system", short_system, "--turns", "4"
    )
    again = measured(capsys, "test", "llamacpp", "--base-url", engine.base_url, "--replay", first["run_id"])
    assert len(again["turns"]) == 4
    assert all(
        row["prompt_tokens"] == old["prompt_tokens"] for row, old in zip(again["turns"], first["turns"], strict=True)
    )


@pytest.mark.parametrize(
    ("model", "rule"), [("tiny-swa", "llama.cpp-swa-2026-10"), ("tiny-recurrent", "llama.cpp-recurrent-2026-10")]
)
def test_models_whose_memory_cannot_be_cut_are_predicted_to_the_token(
    model, rule, short_system, tmp_path, monkeypatch, capsys
):
    from hitrate.engines.llamacpp import LlamaCppEngine

    monkeypatch.setenv("HITRATE_STORE", str(tmp_path / "runs.sqlite3"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with LlamaCppEngine(model=model, slots=2, micro_batch=64, context=8192) as engine:
        result = measured(
            capsys, "test", "llamacpp", "--base-url", engine.base_url, "--system", short_system,
            "--turns", "5", "--sessions", "3", "--concurrency", "1",
        )  # fmt: skip
    assert len(result["turns"]) == 20
    assert [pair for pair in counts(result["turns"]) if pair[0] != pair[1]] == []
    assert result["expectation"]["rule_set"].startswith(rule)
