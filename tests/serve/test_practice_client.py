"""The server as its own process, asked by the official client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import anthropic
import openai
import pytest

from hitrate.errors import UsageError
from hitrate.serve.child import PracticeServer

OPENING = "You help customers. " + "Refunds take five days and need the order number. " * 40
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_order",
            "parameters": {"type": "object", "properties": {"id": {"type": "string"}, "größe": {"enum": ["groß"]}}},
        },
    }
]


@pytest.fixture(scope="module")
def server():
    with PracticeServer(
        ["--base-ms", "1", "--prefill-rate", "1e6", "--decode-rate", "1e4", "--context-limit", "9000"]
    ) as it:
        yield it


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        client.post(f"{server.root_url}/reset", cast_to=object)
        yield client


def converse(client, turns, **how):
    """Prompt, cached and reply tokens of each turn of a conversation, the replies sent back as they came."""
    messages = [{"role": "system", "content": OPENING}]
    counts = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn}: where is my order?"})
        reply = client.chat.completions.create(model="practice", messages=messages, max_tokens=20, **how)
        messages.append(reply.choices[0].message.model_dump(exclude_none=True))
        usage = reply.usage
        counts.append((usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens))
    return counts


def test_cached_tokens_are_the_whole_history_in_blocks(client):
    counts = converse(client, 4)
    assert [cached for _, cached, _ in counts] == [
        0,
        *((prompt + reply) // 16 * 16 for prompt, _, reply in counts[:-1]),
    ]


def test_a_stream_is_read_as_the_body_says(client):
    asked = {"model": "practice", "max_tokens": 30, "messages": [{"role": "user", "content": OPENING}]}
    chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    whole = client.chat.completions.create(**asked)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == whole.choices[0].message.content
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens == 30
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 0
    # The last prompt token is computed always, and with it its block.
    assert whole.usage.prompt_tokens_details.cached_tokens == (whole.usage.prompt_tokens - 1) // 16 * 16


def test_tool_calls_streamed_and_not(client):
    asked = {
        "model": "practice",
        "tools": TOOLS,
        "tool_choice": "required",
        "messages": [{"role": "user", "content": "where is it?"}],
    }
    whole = client.chat.completions.create(**asked)
    with client.chat.completions.stream(**asked) as stream:
        streamed = stream.get_final_completion()
    [call], [again] = whole.choices[0].message.tool_calls, streamed.choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("find_order", '{"id": "practice", "größe": "groß"}')
    assert (again.id, again.function.name, again.function.arguments) == (
        call.id,
        call.function.name,
        call.function.arguments,
    )
    assert whole.choices[0].finish_reason == streamed.choices[0].finish_reason == "tool_calls"


def test_errors_are_the_clients_own(client):
    asked = {"messages": [{"role": "user", "content": "hi"}]}
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt", **asked)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as long:
        client.chat.completions.create(model="practice", messages=[{"role": "user", "content": "word " * 9001}])
    assert long.value.code == "context_length_exceeded"
    assert [(model.id, model.context_length) for model in client.models.list()] == [("practice", 9000)]


def test_the_ready_line(server):
    assert next(iter(server.ready)) == "schema_version"
    assert server.ready == {
        "schema_version": 1,
        "base_url": server.base_url,
        "model": "practice",
        "pid": server.ready["pid"],
        "models": ["practice"],
        "rule": "block-chain",
        "block_size": 16,
        "replicas": 1,
        "routing": None,
        "shared": False,
        "as": None,
    }


def test_a_server_that_imitates_tells_the_vendors_base_path():
    with (
        PracticeServer(["--as", "groq", "--base-ms", "1", "--prefill-rate", "1e6"]) as groq,
        openai.OpenAI(base_url=groq.base_url, api_key="any", max_retries=0) as client,
    ):
        assert (groq.ready["as"], groq.base_url) == ("groq", f"{groq.root_url}/openai/v1")
        asked = {"model": groq.model, "messages": [{"role": "user", "content": OPENING}], "max_tokens": 1}
        cached = [client.chat.completions.create(**asked).usage.prompt_tokens_details.cached_tokens for _ in range(2)]
        assert cached == [0, 384]
        state = client.get(f"{groq.root_url}/state", cast_to=object)
        assert (state["options"]["imitates"], state["calls"]) == ("groq", 2)


def test_in_its_own_manner_the_server_speaks_three_wires(client, server):
    response = client.responses.create(model="practice", input=OPENING, max_output_tokens=1)
    with anthropic.Anthropic(base_url=server.root_url, api_key="any", max_retries=0) as claude:
        asked = [{"role": "user", "content": OPENING}]
        message = claude.messages.create(model="practice", messages=asked, max_tokens=1)
    # One cache for all wires: the same prompt, and blocks of 16.
    prompt = response.usage.input_tokens
    assert response.usage.input_tokens_details.cached_tokens == 0
    cached = (prompt - 1) // 16 * 16
    assert (message.usage.cache_read_input_tokens, message.usage.input_tokens) == (cached, prompt - cached)
    assert message.usage.cache_creation_input_tokens is None


def test_a_port_in_use_is_said_in_one_line(server):
    port = server.base_url.split(":")[2].removesuffix("/v1")
    ended = subprocess.run(
        [sys.executable, "-m", "hitrate", "serve", "--port", port], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert (
        ended.stderr == f"error: port {port} on 127.0.0.1 is in use; choose another with --port, or 0 for a free one\n"
    )


def test_a_server_ends_well_when_stopped_and_with_its_parent():
    def exit_code(stop):
        with PracticeServer() as server:
            process = server._process
            if stop is None:
                process.stdin.close()
            else:
                os.kill(server.ready["pid"], stop)
            return process.wait(20)

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(exit_code, (signal.SIGINT, signal.SIGTERM, None))) == [0, 0, 0]


def test_a_child_that_cannot_start_says_why():
    with (
        pytest.raises(UsageError, match="practice server: fault 'fire' is not known"),
        PracticeServer(["--fault", "fire"]),
    ):
        pass
