"""The vendors' own clients through the proxy to a practice server: what they are told is what is recorded."""

import asyncio
import contextlib
import threading

import anthropic
import openai
import pytest
from proxy_rig import ListSink

from hitrate.record.reading import call_of
from hitrate.serve.child import PracticeServer
from hitrate.serve.listening import listen
from hitrate.serve.proxy.proxy import Proxy
from hitrate.serve.proxy.routes import Routes
from hitrate.serve.proxy.server import serve
from hitrate.serve.proxy.upstreams import parse_upstreams

FAST = ["--prefill-rate", "1000000", "--base-ms", "0", "--decode-rate", "100000"]
LONG = "You are a support agent of a shop for bicycles and their parts. " * 400
TOOL_PARAMETERS = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


@contextlib.contextmanager
def proxy_to(*upstreams, **routes):
    """The address of a proxy in a thread of its own, and its sink."""
    asked, started = asyncio.Event(), threading.Event()
    sink = ListSink()
    proxy = Proxy(Routes(parse_upstreams(upstreams), **routes), sink=sink)
    listening = listen("127.0.0.1", 0)
    loops = []

    async def main():
        loops.append(asyncio.get_running_loop())
        await serve(proxy, listening, started.set, stop=asked, hurry=asyncio.Event())

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    started.wait()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", sink
    finally:
        loops[0].call_soon_threadsafe(asked.set)
        thread.join()


@pytest.fixture(scope="module")
def openai_server():
    with PracticeServer(["--as", "openai", *FAST]) as server:
        yield server


@pytest.fixture(scope="module")
def anthropic_server():
    with PracticeServer(["--as", "anthropic", *FAST]) as server:
        yield server


@pytest.mark.parametrize("suffix", ["", "/v1"], ids=["upstream-without-v1", "upstream-with-v1"])
def test_openai(openai_server, suffix):
    with (
        proxy_to(openai_server.root_url + suffix) as (address, sink),
        openai.OpenAI(base_url=f"{address}/v1", api_key="sk-planted-0123456789", max_retries=0) as client,
    ):
        model = openai_server.model
        assert [one.id for one in client.models.list()] == openai_server.ready["models"]
        messages = [{"role": "system", "content": LONG + suffix}, {"role": "user", "content": "hello"}]
        asked = {"model": model, "messages": messages, "max_completion_tokens": 8}
        tool = {"type": "function", "function": {"name": "find", "parameters": TOOL_PARAMETERS}}
        usages = [client.chat.completions.create(**asked).usage]
        usages.append(client.chat.completions.create(**asked, tools=[tool]).usage)
        stream = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
        usages += [chunk.usage for chunk in stream if chunk.usage]
        calls = [call_of(exchange) for exchange in sink.exchanges]
        assert [(call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) for call in calls] == [
            (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens)
            for usage in usages
        ]
        assert usages[2].prompt_tokens_details.cached_tokens > 1000
        assert {(call.model, call.status, call.error, call.dialect) for call in calls} == {
            (model, 200, None, "openai-chat")
        }
        assert calls[2].timing.ttft_s > 0
        assert [call.timing.connect_s is None for call in calls] == [True] * 3  # the list of models opened it
        assert not any(b"sk-planted" in repr(exchange).encode() for exchange in sink.exchanges)


def test_openai_responses(openai_server):
    with (
        proxy_to(openai_server.base_url) as (address, sink),
        openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client,
    ):
        asked = {"model": openai_server.model, "input": LONG + "responses", "max_output_tokens": 16}
        usages = [client.responses.create(**asked).usage]
        with client.responses.create(**asked, stream=True) as stream:
            usages += [
                event.response.usage for event in stream if event.type in ("response.completed", "response.incomplete")
            ]
        calls = [call_of(exchange) for exchange in sink.exchanges]
        assert [(call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) for call in calls] == [
            (usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens) for usage in usages
        ]


def test_anthropic(anthropic_server):
    with (
        proxy_to(anthropic_server.base_url) as (address, sink),
        anthropic.Anthropic(base_url=address, api_key="sk-ant-planted-0123456789", max_retries=0) as client,
    ):
        asked = {
            "model": "claude-sonnet-5",
            "max_tokens": 16,
            "system": [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": "hi"}],
        }
        tool = {"name": "find", "input_schema": TOOL_PARAMETERS}
        usages = [client.messages.create(**asked).usage]
        with client.messages.stream(**asked) as stream:
            usages.append(stream.get_final_message().usage)
        usages.append(client.messages.create(**asked, tools=[tool]).usage)
        calls = [call_of(exchange) for exchange in sink.exchanges]
        assert [(call.usage.cached_tokens, call.usage.written_tokens, call.usage.output_tokens) for call in calls] == [
            (usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens) for usage in usages
        ]
        assert usages[1].cache_read_input_tokens > 1000
        assert {(call.model, call.status, call.error, call.dialect) for call in calls} == {
            ("claude-sonnet-5", 200, None, "anthropic-messages")
        }


def test_both_by_path_and_by_key(openai_server, anthropic_server):
    upstreams = [f"gpt={openai_server.base_url}", f"claude={anthropic_server.base_url}"]
    with proxy_to(*upstreams, key_upstreams={"sk-ant-": "claude"}) as (address, sink):
        with openai.OpenAI(base_url=f"{address}/gpt/v1", api_key="any", max_retries=0) as client:
            client.chat.completions.create(model=openai_server.model, messages=[{"role": "user", "content": "a"}])
        with anthropic.Anthropic(base_url=address, api_key="sk-ant-0", max_retries=0) as client:
            client.messages.create(model="claude-sonnet-5", max_tokens=5, messages=[{"role": "user", "content": "b"}])
        with (
            openai.OpenAI(base_url=f"{address}/v1", api_key="neither", max_retries=0) as client,
            pytest.raises(openai.InternalServerError, match="neither path nor key"),
        ):
            client.models.list()
        assert [one.upstream for one in sink.exchanges] == [openai_server.base_url, anthropic_server.base_url]


def test_a_token_in_the_path_is_enough_for_a_client_that_cannot_set_headers(openai_server):
    with proxy_to(openai_server.base_url, token="s3cret-token") as (address, sink):
        with openai.OpenAI(base_url=f"{address}/t/s3cret-token/v1", api_key="any", max_retries=0) as client:
            client.chat.completions.create(model=openai_server.model, messages=[{"role": "user", "content": "a"}])
        headers = {"x-hitrate-token": "s3cret-token"}
        with openai.OpenAI(base_url=f"{address}/v1", api_key="any", default_headers=headers) as client:
            client.models.list()
        with (
            openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client,
            pytest.raises(openai.AuthenticationError, match="this proxy needs its token"),
        ):
            client.models.list()
        assert [one.path for one in sink.exchanges] == ["/v1/chat/completions"]


def test_a_stream_left_by_its_reader_is_recorded_as_abandoned(openai_server):
    with (
        proxy_to(openai_server.base_url) as (address, sink),
        openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client,
    ):
        asked = {"model": openai_server.model, "messages": [{"role": "user", "content": "a"}]}
        client.chat.completions.create(**asked)
        stream = client.chat.completions.create(**asked, max_completion_tokens=100_000, stream=True)
        next(iter(stream))
        stream.close()
        client.close()
        for _ in range(2):
            with openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as other:
                other.chat.completions.create(**asked)
        assert sorted(one.end for one in sink.exchanges) == ["abandoned", "complete", "complete", "complete"]
