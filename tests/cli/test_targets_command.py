"""`hitrate targets`: presets and own ones, and never the value of a key."""

from __future__ import annotations

import pytest

from hitrate.targets.presets import all_names

KEY = "sk-secret-12345"


@pytest.fixture
def own(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "targets.toml").write_text(
        '[staging]\nbase_url = "https://llm.example.com/v1"\nkey_variable = "STAGING_KEY"\n\n'
        '[azure]\nbase_url = "https://mine.openai.azure.com/openai/v1"\n',
        encoding="utf-8",
    )


def entries(got):
    assert got.code == 0
    return {entry["name"]: entry for entry in got.json["targets"]}


def test_all_targets_and_what_is_known_of_them(hitrate, own):
    found = entries(hitrate("targets", "--json"))
    assert list(found) == all_names() and "staging" in found
    columns = ("base_url", "key_variable", "dialect", "affinity", "cold_knob", "rule_set", "own")
    assert {name: tuple(found[name][column] for column in columns) for name in ("anthropic", "azure", "fireworks")} == {
        "anthropic": (
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            "anthropic-messages",
            [],
            "no cache breakpoints",
            "anthropic-2026-11",
            False,
        ),
        "azure": (
            "https://mine.openai.azure.com/openai/v1",
            "AZURE_OPENAI_API_KEY",
            "openai-chat",
            ["body member prompt_cache_key"],
            None,
            "openai-chat-before-gpt-5.6",
            True,
        ),
        "fireworks": (
            "https://api.fireworks.ai/inference/v1",
            "FIREWORKS_API_KEY",
            "openai-chat",
            ["body member prompt_cache_key", "body member user", "header x-session-affinity"],
            "body member prompt_cache_isolation_key",
            None,
            False,
        ),
    }
    assert all(entry["source"] and entry["date"] for entry in found.values() if not entry["own"])


@pytest.mark.parametrize(
    ("name", "value", "is_set"),
    [("openai", KEY, True), ("openai", "", False), ("openai", None, False), ("mlx", None, None)],
)
def test_whether_a_key_is_set_without_the_key(hitrate, monkeypatch, name, value, is_set):
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    assert entries(hitrate("targets", name, "--json"))[name]["key_set"] is is_set
    for flags in ((), ("--csv",), ("--markdown",), ("--json",)):
        got = hitrate("targets", *flags)
        assert got.code == 0 and KEY not in got.out + got.err


def test_one_target_in_sentences(hitrate):
    got = hitrate("targets", "vllm")
    assert got.out.splitlines()[:11] == [
        "targets · vllm",
        "",
        "base URL: http://127.0.0.1:8000/v1",
        "key variable: VLLM_API_KEY (not set)",
        "wire: openai-chat",
        "affinity: none",
        "cold knob: body member cache_salt",
        "cache rule: vllm-2026-11",
        "cached tokens reported: only when started with --enable-prompt-tokens-details; without it "
        "prompt_tokens_details is null",
        "start it with: vllm serve MODEL --enable-prompt-tokens-details",
        "source: https://docs.vllm.ai/en/latest/design/prefix_caching.html (2026-11-29)",
    ]


def test_csv_has_a_line_for_each(hitrate):
    lines = hitrate("targets", "--csv").out.splitlines()
    assert lines[0].startswith("name,dialect,key_variable,key_set,affinity,cold_knob,rule_set,base_url,date,")
    assert [line.partition(",")[0] for line in lines[1:]] == all_names()


def test_an_unknown_name(hitrate):
    got = hitrate("targets", "antropic")
    assert (got.code, got.out) == (2, "")
    assert got.err.startswith("error: no target called 'antropic'; nearest: anthropic")
