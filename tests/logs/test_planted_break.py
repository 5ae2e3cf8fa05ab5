"""A clock in the instructions, found in every export of the same conversation by every command that reads logs."""

from __future__ import annotations

import json

import pytest
from exports import OUTPUT, PROMPTS, WITH_TEXT, lines, litellm_spend, openrouter, usage

from hitrate.cli.group import run

EXPORTS = pytest.mark.parametrize("name", WITH_TEXT)


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    monkeypatch.setenv("HITRATE_STORE", str(tmp_path / "runs.sqlite3"))
    monkeypatch.setattr("hitrate.targets.presets.platformdirs.user_config_path", lambda name: tmp_path / "config")


@pytest.fixture
def said(tmp_path, capsys):
    """The exit code of a command on an export, and its JSON."""

    def command(name: str, verb: str, *arguments: str):
        file = tmp_path / "export"
        file.write_bytes(WITH_TEXT[name][1])
        code = run([verb, str(file), "--json", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return command


@EXPORTS
def test_explain_names_the_place(said, name):
    code, report = said(name, "explain")
    assert (code, report["format"], report["calls"]) == (0, WITH_TEXT[name][0], len(PROMPTS))
    (finding,) = report["findings"]
    assert (finding["cause"], finding["pointer"], finding["call"], finding["against"]) == (
        "clock-in-prefix",
        "/messages/0/content",
        1,
        0,
    )
    assert (finding["occurrences"], report["sessions"]) == (3, 1)
    assert report["records"]["damaged"] == 0


@EXPORTS
def test_cost_bills_each_call_once(said, name):
    code, report = said(name, "cost")
    table = name == "helicone table"  # its columns have no cached tokens
    assert (code, report["calls"], report["prompt_tokens"], report["output_tokens"]) == (
        0,
        len(PROMPTS),
        sum(PROMPTS),
        OUTPUT * len(PROMPTS),
    )
    assert report["not_reported"] == (len(PROMPTS) if table else 0)
    assert report["cached_tokens"] == (None if table else 0)
    assert report["unpriced_calls"] == 0
    assert report["usd_logged"] == (None if WITH_TEXT[name][0] in ("openai-batch", "har", "mitmproxy") else 4 * 0.0043)


@EXPORTS
def test_check_fails_on_it(said, name):
    assert said(name, "check", "--no-breaks")[0] == 1


@EXPORTS
def test_whatif_says_what_the_fix_is_worth(said, name):
    code, report = said(name, "whatif", "--move-clock-last")
    assert code == 0
    as_sent, fixed = report["scenarios"]
    assert (report["replayed"], as_sent["hit_rate"], fixed["changed_calls"]) == (len(PROMPTS), 0.0, len(PROMPTS))
    assert fixed["hit_rate"] > 0.7


@pytest.mark.parametrize(
    "data",
    [
        lines(openrouter(turn, native_tokens_cached=cached) for turn, cached in enumerate((0, 2176, 0, 2304))),
        lines(
            litellm_spend(turn, proxy_server_request={}, response={}, metadata={"usage_object": usage(turn, cached)})
            for turn, cached in enumerate((0, 2176, 0, 2304))
        ),
    ],
    ids=["openrouter", "litellm without prompts"],
)
def test_a_loss_shows_in_token_counts_alone(tmp_path, capsys, data):
    file = tmp_path / "export"
    file.write_bytes(data)
    assert run(["explain", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [(one["cause"], one["call"], one["lost_tokens"]) for one in report["findings"]] == [("not-visible", 2, 2304)]
    assert report["sessions"] == 1
