from __future__ import annotations

import json

import pytest
from log_files import chat, opened, read

PRICES = {"input": 1.25, "cached": 0.125, "output": 10.0, "unit": "USD per million tokens"}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("bare_list", [False, True])
def test_a_document_in_any_layout(tmp_path, indent, bare_list):
    requests = [chat(100, 0), chat(120, 100)]
    document = requests if bare_list else {"api": "openai-chat", "requests": requests}
    calls, records = read(tmp_path, json.dumps(document, indent=indent).encode())
    assert [(call.usage.prompt_tokens, call.usage.cached_tokens) for call in calls] == [(100, 0), (120, 100)]
    assert json.loads(calls[0].body) == requests[0]["body"]
    assert records.used == 2


def test_its_own_prices(tmp_path):
    log = opened(tmp_path, json.dumps({"prices": PRICES, "requests": [chat(100, 0)]}).encode())
    list(log)
    assert (log.own_price.input_usd_per_mtok, log.own_price.cached_usd_per_mtok) == (1.25, 0.125)
    assert (log.own_price.written_usd_per_mtok, log.own_price.output_usd_per_mtok) == (None, 10.0)


def test_prices_in_another_unit_are_not_guessed(tmp_path):
    log = opened(tmp_path, json.dumps({"prices": {**PRICES, "unit": "EUR"}, "requests": [chat(100, 0)]}).encode())
    assert len(list(log)) == 1
    assert log.own_price is None
    assert "expected an object with unit 'USD per million tokens'" in log.records().remarks[0].what


def test_the_answer_and_the_story_are_not_read(tmp_path):
    document = {"expected": {"hit_rate": 1}, "story": 5, "id": [], "source": {}, "requests": [chat(100, 0)]}
    calls, records = read(tmp_path, json.dumps(document).encode())
    assert len(calls) == 1
    assert not records.remarks


def test_places_are_json_pointers_and_lines(tmp_path):
    document = {"requests": [chat(100, 0), {"at": 17, "body": None}, 5]}
    calls, records = read(tmp_path, json.dumps(document, indent=1).encode())
    assert len(calls) == 1
    assert [skipped.reason for skipped in records.skipped] == [
        "/requests/1/body is null, expected an object; "
        "/requests/1/at is '17', expected a time; it is taken as not known",
        "/requests/2 is a number, expected an object",
    ]
    text = json.dumps(document, indent=1)
    assert records.skipped[0].line == text[: text.index('"at": 17')].count("\n")


def test_a_document_cut_off(tmp_path):
    text = json.dumps({"requests": [chat(100, 0)]}, indent=1)
    calls, records = read(tmp_path, text[:-10].encode())
    assert calls == []
    assert records.skipped[0].reason.startswith("cut off: the JSON value does not end")


def test_its_own_rules_and_server(tmp_path):
    document = {"rules": {"block_tokens": 16}, "server": {"engine": "llama-server", "args": "-np 1"}, "requests": []}
    log = opened(tmp_path, json.dumps({**document, "requests": [chat(100, 0)]}).encode())
    list(log)
    assert log.own_rules.rules == {"block_tokens": 16}
    assert log.own_rules.server == {"engine": "llama-server", "args": "-np 1"}


def test_rules_that_are_no_object_are_said_not_to_be_used(tmp_path):
    log = opened(tmp_path, json.dumps({"rules": [16], "server": None, "requests": [chat(100, 0)]}).encode())
    assert len(list(log)) == 1
    assert (log.own_rules.rules, log.own_rules.server) == ({}, {})
    assert [remark.what for remark in log.records().remarks] == [
        "/rules is an array, expected an object; it is not used"
    ]


def test_a_log_without_rules_has_none(tmp_path):
    log = opened(tmp_path, json.dumps({"requests": [chat(100, 0)]}).encode())
    list(log)
    assert (log.own_rules.rules, log.own_rules.server) == ({}, {})


def test_token_ids_are_read_as_a_rendered_prompt(tmp_path):
    request = {"body": {"model": "m", "prompt_token_ids": [1, 2]}, "response": {"usage": {"prompt_tokens": 2}}}
    (call,), _ = read(tmp_path, json.dumps({"api": "tokens", "requests": [request]}).encode())
    assert call.dialect == "llamacpp-completion"
