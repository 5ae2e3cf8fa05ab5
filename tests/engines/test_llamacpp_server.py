"""Against the real server. Counts are exact; nothing here looks at a clock."""

from __future__ import annotations

import http.client
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hitrate.core.model import StreamEvent
from hitrate.engines.llamacpp import LlamaCppEngine
from hitrate.errors import Unreachable
from hitrate.targets.dialects.openai_chat import OpenAIChat
from hitrate.tokens.llamacpp import apply_template, generated_ids_members, prompt_token_ids, slot_token_ids, used_slot

pytestmark = pytest.mark.engine
pytest.importorskip("xllamacpp", reason="needs the extra `engine`")

OPENING = {"role": "system", "content": "You are the support assistant of a shop for coffee machines. " * 12}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_order",
            "description": "Look up one order.",
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
        },
    }
]
CALL = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"order_id":"A-1",  "n": 2.0}'}}
ODD = {
    "role": "user",
    "content": "hi \N{GRINNING FACE} na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve \u4e2d\u6587 \u200b <|im_end|>",
}


def complete(engine: LlamaCppEngine, members: dict) -> dict:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    body = json.dumps({"max_tokens": 8, "temperature": 0, **members})
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    reply = json.loads(connection.getresponse().read())
    connection.close()
    return reply


def stream(engine: LlamaCppEngine, members: dict) -> list[dict]:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    body = {"max_tokens": 8, "temperature": 0, "stream": True, "stream_options": {"include_usage": True}, **members}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    lines = connection.getresponse().read().splitlines()
    connection.close()
    return [json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: {")]


def counts(reply: dict) -> tuple[int, int]:
    usage = reply["usage"]
    return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


@pytest.fixture(scope="module")
def engine() -> Iterator[LlamaCppEngine]:
    with LlamaCppEngine() as running:
        yield running


def get(engine: LlamaCppEngine, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, body


def test_a_healthy_server_with_its_endpoints(engine: LlamaCppEngine):
    assert get(engine, "/health") == (200, b'{"status":"ok"}')
    assert [model["id"] for model in json.loads(get(engine, "/v1/models")[1])["data"]] == ["hitrate-tiny"]
    assert [slot["n_ctx"] for slot in json.loads(get(engine, "/slots")[1])] == [8192] * 4
    assert json.loads(get(engine, "/props")[1])["total_slots"] == 4
    assert b"llamacpp:prompt_tokens_total" in get(engine, "/metrics")[1]
    assert (engine.model_id, engine.slots, engine.context_per_slot) == ("hitrate-tiny", 4, 8192)
    assert engine.base_url == f"http://127.0.0.1:{engine.port}/v1"


def test_two_fresh_servers_count_the_same_and_a_conversation_misses_only_what_is_new():
    tables = []
    for _ in range(2):
        with LlamaCppEngine() as engine:
            messages = [OPENING]
            table = []
            for turn in range(1, 6):
                messages.append({"role": "user", "content": f"Turn {turn}: where is order A-{turn}?"})
                reply = complete(engine, {"messages": messages, "tools": TOOLS})
                messages.append(reply["choices"][0]["message"])
                table.append(counts(reply))
            tables.append(table)
    # Turn n is served the whole of turn n-1, prompt and reply, but for the reply's last token.
    assert tables[0] == tables[1] == [(342, 0), (372, 349), (402, 379), (432, 409), (462, 439)]


BODIES = {
    "one user": {"messages": [ODD]},
    "system": {"messages": [OPENING, ODD]},
    "tools": {"messages": [OPENING, ODD], "tools": TOOLS},
    "tools, no system": {"messages": [ODD], "tools": TOOLS},
    "tools not to be called": {"messages": [ODD], "tools": TOOLS, "tool_choice": "none"},
    "empty": {"messages": [{"role": "system", "content": ""}, {"role": "user", "content": ""}]},
    "parts": {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": " b"}]}]
    },
    "tool loop": {
        "messages": [
            OPENING,
            ODD,
            {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL, CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": ""},
            {"role": "tool", "tool_call_id": "c1", "content": '{"ok":  true}\n'},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
        ],
        "tools": TOOLS,
    },
    "reply to go on with": {"messages": [ODD, {"role": "assistant", "content": "It is"}]},
    "late system": {"messages": [ODD, OPENING, {"role": "developer", "content": " d "}]},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_token_ids_are_the_ones_the_server_works_with(engine: LlamaCppEngine, body: dict):
    prompt = prompt_token_ids(engine.base_url, body)
    reply = complete(engine, {**body, **generated_ids_members(stream=False)})
    chunks = stream(engine, {**body, **generated_ids_members(stream=True)})
    assert counts(reply)[0] == len(prompt)
    assert counts(chunks[-1]) == (len(prompt), len(prompt) - 1)
    whole = OpenAIChat().read_body(json.dumps(reply).encode())
    streamed = OpenAIChat().read_stream([StreamEvent(0, 0, json.dumps(chunk).encode()) for chunk in chunks])
    for reading in (whole, streamed):
        assert reading.reply is not None and reading.reply.token_ids is not None
        generated = reading.reply.token_ids
        assert len(generated) == 8
    slot = used_slot(chunks)
    assert slot is not None
    assert slot_token_ids(engine.base_url, slot, engine.slot_folder) == [*prompt, *generated][:-1]


def test_tools_are_part_of_the_prompt(engine: LlamaCppEngine):
    with_tools = prompt_token_ids(engine.base_url, {"messages": [OPENING, ODD], "tools": TOOLS})
    without = prompt_token_ids(engine.base_url, {"messages": [OPENING, ODD]})
    assert len(with_tools) - len(without) == 136


def test_a_replayed_tool_loop_is_served_more_every_turn():
    steps = [
        [{"role": "user", "content": "Where is A-1?"}],
        [
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"status": "sent"}'},
        ],
        [
            {"role": "assistant", "content": "One more.", "tool_calls": [CALL, {**CALL, "id": "c2"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "[]"},
            {"role": "tool", "tool_call_id": "c2", "content": "none"},
        ],
        [{"role": "assistant", "content": "It was sent."}, {"role": "user", "content": "Thanks!"}],
    ]
    messages = [OPENING]
    rendered, table = [], []
    with LlamaCppEngine(context=4096, need_tokens=0) as engine:
        for step in steps:
            messages += step
            body = {"messages": messages, "tools": TOOLS}
            rendered.append(apply_template(engine.base_url, body).removesuffix("<|im_start|>assistant\n"))
            table.append(counts(complete(engine, body)))
    assert all(longer.startswith(shorter) for shorter, longer in itertools.pairwise(rendered))
    # The replies sent back are canned, so the whole prompt of the turn before is served, and not a token more.
    assert table == [(336, 0), (405, 336), (533, 405), (550, 533)]


def test_a_slot_that_is_too_small_says_so_when_it_is_not_checked():
    with LlamaCppEngine(context=1024, need_tokens=0) as engine:
        assert engine.context_per_slot == 256
        error = complete(engine, {"messages": [OPENING, OPENING]})["error"]
    assert (error["type"], error["n_ctx"]) == ("exceed_context_size_error", 256)


def test_the_process_and_its_files_are_gone_afterwards():
    engine = LlamaCppEngine(context=1024, need_tokens=0)
    assert engine.running and engine.slot_folder.is_dir() and engine.log_path.is_file()
    engine.stop()
    engine.stop()
    assert not engine.running
    assert not engine.slot_folder.exists() and not engine.log_path.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(engine.pid, 0)


def test_a_start_that_fails_quotes_the_log(tmp_path: Path):
    with pytest.raises(Unreachable) as caught:
        LlamaCppEngine(chat_template="{% if %}")
    assert "llama.cpp did not start with" in caught.value.message and "\n" not in caught.value.message
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("end of ") and "exiting due to model loading error" in caught.value.hint
