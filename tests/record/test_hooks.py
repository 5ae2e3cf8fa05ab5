"""The vendors' own clients with a hook: what they are told is what is recorded, and nothing changes for them."""

import asyncio
import contextlib
import json
import sqlite3
import sys
import threading
import warnings

import anthropic
import httpx
import httpx2
import openai
import pytest

import hitrate.record
from hitrate.cli.group import run
from hitrate.errors import HitrateError
from hitrate.logs.store import Store
from hitrate.serve.child import PracticeServer

FAST = ["--prefill-rate", "1000000", "--base-ms", "0", "--decode-rate", "100000"]
LONG = "You are a support agent of a shop for bicycles and their parts. " * 400
PARAMETERS = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
KEY = "sk-planted-0123456789abcdef"
WITH_KEY = {"authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def openai_server():
    with PracticeServer(["--as", "openai", *FAST]) as server:
        yield server


@pytest.fixture(scope="module")
def anthropic_server():
    with PracticeServer(["--as", "anthropic", *FAST]) as server:
        yield server


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite3"


@pytest.fixture
def recording(path):
    with hitrate.record.recording(path) as opened:
        yield opened


def calls_of(recording):
    """All that was recorded, once it is in the store."""
    assert recording.flush()
    with Store.open(recording.store_path) as store:
        return [call for _, call in store.numbered_calls(recording.run, 0)]


def counts(calls):
    return [(call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens) for call in calls]


def chat_counts(usages):
    return [
        (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens) for usage in usages
    ]


def chat(server, tail, **further):
    messages = [{"role": "system", "content": LONG + tail}, {"role": "user", "content": "hello"}]
    return {"model": server.model, "messages": messages, "max_completion_tokens": 8, **further}


TOOL = {"type": "function", "function": {"name": "find", "parameters": PARAMETERS}}
STREAM = {"stream": True, "stream_options": {"include_usage": True}}


def test_openai(openai_server, recording):
    with openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client:
        assert hitrate.record.openai(client) is client
        create = client.chat.completions.create
        client.models.list()
        usages = [create(**chat(openai_server, "sync")).usage]
        usages.append(create(**chat(openai_server, "sync"), tools=[TOOL]).usage)
        usages += [chunk.usage for chunk in create(**chat(openai_server, "sync"), **STREAM) if chunk.usage]
        raw = client.chat.completions.with_raw_response.create(**chat(openai_server, "sync"))
        usages.append(raw.parse().usage)
        with client.chat.completions.with_streaming_response.create(**chat(openai_server, "sync")) as response:
            usages.append(response.parse().usage)
    calls = calls_of(recording)
    assert counts(calls) == chat_counts(usages)
    assert usages[2].prompt_tokens_details.cached_tokens > 1000
    assert {(call.error, call.status, call.dialect, call.target) for call in calls} == {
        (None, 200, "openai-chat", openai_server.base_url)
    }
    assert calls[2].timing.ttft_s > 0 and calls[2].timing.total_s >= calls[2].timing.ttft_s
    assert [call.timing.ttft_s is None for call in calls] == [True, True, False, True, True]
    assert [call.timing.connect_s is None for call in calls[:3]] == [True] * 3  # the list of models opened it


def test_openai_async_many_at_once(openai_server, recording):
    async def one(client, number):
        if number % 2:
            return (await client.chat.completions.create(**chat(openai_server, f"async {number}"))).usage
        stream = await client.chat.completions.create(**chat(openai_server, f"async {number}"), **STREAM)
        usages = [chunk.usage async for chunk in stream if chunk.usage]
        return usages[-1]

    async def main():
        async with openai.AsyncOpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client:
            hitrate.record.openai(client)
            return await asyncio.gather(*(one(client, number) for number in range(16)))

    usages = asyncio.run(main())
    calls = calls_of(recording)
    assert sorted(counts(calls)) == sorted(chat_counts(usages))
    assert {call.error for call in calls} == {None}
    assert sum(call.timing.ttft_s is not None for call in calls) == 8


def test_openai_responses(openai_server, recording):
    with openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client:
        hitrate.record.openai(client)
        asked = {"model": openai_server.model, "input": LONG + "responses", "max_output_tokens": 16}
        usages = [client.responses.create(**asked).usage]
        with client.responses.create(**asked, stream=True) as stream:
            usages += [
                event.response.usage for event in stream if event.type in ("response.completed", "response.incomplete")
            ]
    assert counts(calls_of(recording)) == [
        (usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens) for usage in usages
    ]


def messages(tail, **further):
    return {
        "model": "claude-sonnet-5",
        "max_tokens": 16,
        "system": [{"type": "text", "text": LONG + tail, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "hi"}],
        **further,
    }


def anthropic_counts(usages):
    return [(usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens) for usage in usages]


def test_anthropic(anthropic_server, recording):
    with anthropic.Anthropic(base_url=anthropic_server.root_url, api_key=KEY, max_retries=0) as client:
        hitrate.record.anthropic(client)
        usages = [client.messages.create(**messages("sync")).usage]
        with client.messages.stream(**messages("sync")) as stream:
            usages.append(stream.get_final_message().usage)
        usages.append(
            client.messages.create(**messages("sync"), tools=[{"name": "find", "input_schema": PARAMETERS}]).usage
        )
        with contextlib.suppress(anthropic.NotFoundError):
            client.messages.count_tokens(model="claude-sonnet-5", messages=[{"role": "user", "content": "no call"}])
    calls = calls_of(recording)
    assert [(call.usage.cached_tokens, call.usage.written_tokens, call.usage.output_tokens) for call in calls] == (
        anthropic_counts(usages)
    )
    assert usages[1].cache_read_input_tokens > 1000
    assert {(call.error, call.dialect, call.model) for call in calls} == {
        (None, "anthropic-messages", "claude-sonnet-5")
    }
    assert calls[1].timing.ttft_s > 0


def test_anthropic_async(anthropic_server, recording):
    async def main():
        async with anthropic.AsyncAnthropic(base_url=anthropic_server.root_url, api_key=KEY, max_retries=0) as client:
            hitrate.record.anthropic(client)
            first = await client.messages.create(**messages("async"))
            async with client.messages.stream(**messages("async")) as stream:
                return [first.usage, (await stream.get_final_message()).usage]

    usages = asyncio.run(main())
    calls = calls_of(recording)
    assert [(call.usage.cached_tokens, call.usage.written_tokens, call.usage.output_tokens) for call in calls] == (
        anthropic_counts(usages)
    )
    assert {call.error for call in calls} == {None}


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_plain_clients_and_a_transport_of_ones_own(openai_server, recording, library):
    body = chat(openai_server, library.__name__)
    with hitrate.record.httpx(library.Client(base_url=openai_server.base_url, headers=WITH_KEY)) as client:
        told = [client.post("chat/completions", json=body).json()["usage"]]

    async def main():
        inner = library.AsyncHTTPTransport()
        async with library.AsyncClient(transport=hitrate.record.transport(inner), headers=WITH_KEY) as client:
            sent = json.dumps(body).encode()

            async def pieces():
                yield sent[:100]
                yield sent[100:]

            response = await client.post(f"{openai_server.base_url}/chat/completions", content=pieces())
            told.append(response.json()["usage"])

    asyncio.run(main())
    calls = calls_of(recording)
    assert counts(calls) == [
        (one["prompt_tokens"], one["prompt_tokens_details"]["cached_tokens"], one["completion_tokens"]) for one in told
    ]
    assert json.loads(calls[0].body) == json.loads(calls[1].body) == body
    assert calls[0].timing.connect_s > 0


def test_explain_reads_it(openai_server, recording, path, monkeypatch, capsys):
    with openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client:
        hitrate.record.openai(client)
        for moment in ("09:00:01", "09:00:07"):
            client.chat.completions.create(
                model=openai_server.model,
                messages=[
                    {"role": "system", "content": f"It is 2026-11-29 {moment}. {LONG}"},
                    {"role": "user", "content": "hello"},
                ],
            )
    recording.close()
    monkeypatch.setenv("HITRATE_STORE", str(path))
    assert run(["explain", recording.run]) == 0
    assert "clock-in-prefix" in capsys.readouterr().out


def test_no_key_is_kept(openai_server, path):
    with (
        hitrate.record.recording(path) as recording,
        openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client,
    ):
        hitrate.record.openai(client)
        client.chat.completions.create(**chat(openai_server, f"my key is {KEY}"))
        [call] = calls_of(recording)
        assert b"my key is ***" in call.body
    assert not any(KEY.encode() in file.read_bytes() for file in path.parent.rglob("*") if file.is_file())


def test_without_content(openai_server, path):
    with (
        hitrate.record.recording(path, content=False) as recording,
        openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client,
    ):
        hitrate.record.openai(client)
        told = client.chat.completions.create(**chat(openai_server, "confidential")).usage
        assert counts(calls_of(recording)) == chat_counts([told])
    assert not any(b"bicycles" in file.read_bytes() for file in path.parent.rglob("*") if file.is_file())
    with contextlib.closing(sqlite3.connect(path)) as store:
        assert store.execute("SELECT content FROM runs").fetchall() == [("hashed",)]


def test_each_try_is_a_call(recording):
    statuses = iter((500, 429, 200))
    reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}

    def answer(request):
        return httpx2.Response(next(statuses), json=reply, headers={"retry-after-ms": "1"})

    http_client = openai.DefaultHttpxClient(transport=httpx2.MockTransport(answer))
    with openai.OpenAI(base_url="http://model.test/v1", api_key=KEY, max_retries=2, http_client=http_client) as client:
        hitrate.record.openai(client).chat.completions.create(model="m", messages=[{"role": "user", "content": "a"}])
    assert [call.status for call in calls_of(recording)] == [500, 429, 200]


def test_a_stream_left_early_and_a_server_that_is_gone(openai_server, recording):
    with openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client:
        hitrate.record.openai(client)
        asked = {**chat(openai_server, "early"), "max_completion_tokens": 100_000}
        with client.chat.completions.create(**asked, stream=True) as stream:
            next(iter(stream))
        with pytest.raises(openai.APIConnectionError):
            client.with_options(base_url="http://127.0.0.1:9/v1").chat.completions.create(**chat(openai_server, "gone"))
    left, gone = calls_of(recording)
    assert (left.error, left.status) == ("the caller closed the response before its end", 200)
    assert gone.status is None and gone.error.startswith("ConnectError")


class Broken:
    """A response body that ends in an error."""

    def __iter__(self):
        yield b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
        raise httpx.ReadError("reset by peer")


def test_what_a_client_is_told_is_not_altered(recording):
    class Stream(Broken, httpx.SyncByteStream):
        pass

    def answer(request):
        assert request.extensions["trace"]("own", {}) == "seen"
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream())

    client = hitrate.record.httpx(httpx.Client(transport=httpx.MockTransport(answer)))
    extensions = {"trace": lambda event, info: "seen"}
    with (
        pytest.raises(httpx.ReadError, match="reset by peer"),
        client.stream("POST", "http://m/v1/chat/completions", json={"messages": []}, extensions=extensions) as response,
    ):
        assert response.request.extensions["trace"] is extensions["trace"]
        assert response.read()
    [call] = calls_of(recording)
    assert call.error == "ReadError: reset by peer"


def test_hooked_twice_is_recorded_once(openai_server, recording, tmp_path):
    with (
        hitrate.record.recording(tmp_path / "other.sqlite3") as other,
        openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client,
    ):
        hitrate.record.openai(hitrate.record.openai(client, recording=other), recording=recording)
        client.chat.completions.create(**chat(openai_server, "twice"))
        assert len(calls_of(recording)) == 1
        assert other.run is None


def test_the_recording_opened_last_takes_calls_and_a_closed_one_none(openai_server, path, tmp_path):
    with openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client:
        bound = hitrate.record.recording(path)
        hitrate.record.openai(client, recording=bound)
        bound.close()
        client.chat.completions.create(**chat(openai_server, "closed"))
        assert bound.run is None and not bound.state().recorded
        hitrate.record.openai(client)
        with hitrate.record.recording(path) as outer:
            with hitrate.record.recording(tmp_path / "inner.sqlite3") as inner:
                client.chat.completions.create(**chat(openai_server, "inner"))
            client.chat.completions.create(**chat(openai_server, "outer"))
            assert (inner.state().recorded, outer.state().recorded) == (1, 1)
            assert 'outcome="answered"} 1' in hitrate.record.metrics() if outer.flush() else False


def test_threads(openai_server, recording):
    with openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client:
        hitrate.record.openai(client)
        threads = [
            threading.Thread(target=client.chat.completions.create, kwargs=chat(openai_server, f"thread {number}"))
            for number in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({call.body for call in calls_of(recording)}) == 12


def test_trouble_is_said_once_and_calls_go_on(openai_server, recording, monkeypatch):
    def broken(self, *_):
        raise RuntimeError("planted")

    monkeypatch.setattr("hitrate.record.passing.Passing.exchange", broken)
    with openai.OpenAI(base_url=openai_server.base_url, api_key=KEY, max_retries=0) as client:
        hitrate.record.openai(client)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(3):
                assert client.chat.completions.create(**chat(openai_server, "trouble")).usage.prompt_tokens > 1000
    assert [str(one.message) for one in said if "hitrate" in str(one.message)] == [
        "hitrate: an exchange cannot be recorded (RuntimeError: planted); calls go on, and are not recorded"
    ]


@pytest.mark.parametrize(
    ("hook", "thing", "message"),
    [
        (
            hitrate.record.openai,
            anthropic.Anthropic(api_key="x"),
            "takes a client of the package openai, not anth",
        ),
        (hitrate.record.openai, openai, "takes a client of the package openai, not builtins.module"),
        (hitrate.record.anthropic, anthropic.Anthropic, "not the class Anthropic"),
        (hitrate.record.httpx, object(), "takes a Client or AsyncClient of httpx or httpx2, not builtins.object"),
        (hitrate.record.transport, 5, "takes a transport of httpx's kind, not builtins.int"),
    ],
)
def test_what_is_no_client_is_refused(hook, thing, message):
    with pytest.raises(HitrateError, match=message):
        hook(thing)


def test_nothing_is_imported_before_it_is_asked_for():
    import subprocess

    heavy = "{'openai', 'anthropic', 'httpx', 'httpx2', 'sqlite3', 'asyncio', 'opentelemetry'}"
    code = f"import sys, hitrate.record; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
