"""The wires that llama.cpp's server speaks, against that server: the same conversation, asked twice on each."""

import http.client
from collections.abc import Iterator

import pytest

from hitrate.core.model import Reading
from hitrate.core.sse import split_events
from hitrate.targets.dialects import dialect

pytest.importorskip("xllamacpp")
pytestmark = pytest.mark.engine

WIRES = {"openai-chat": "/v1", "llamacpp-completion": "", "anthropic-messages": "/v1", "openai-responses": "/v1"}
OPENING = [{"role": "system", "content": "Be brief. " * 30}, {"role": "user", "content": "Where is order 7?"}]
AGAIN = {"role": "user", "content": "And order 8?"}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    from hitrate.engines.llamacpp import LlamaCppEngine

    with LlamaCppEngine() as engine:
        yield engine.port


def ask(port: int, name: str, messages: list, *, stream: bool) -> Reading:
    wire = dialect(name)
    body = wire.build(model="m", messages=messages, stream=stream, max_tokens=6, temperature=0)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", WIRES[name] + wire.path, body, {"Content-Type": "application/json"})
    data = connection.getresponse().read()
    connection.close()
    return wire.read_stream(split_events([(1, 1, data)])) if stream else wire.read_body(data)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", WIRES)
def test_a_reply_sent_back_is_served_whole(port: int, name: str, stream: bool):
    first = ask(port, name, OPENING, stream=stream)
    second = ask(port, name, [*OPENING, first.reply.message, AGAIN], stream=stream)
    for found in (first, second):
        assert (found.fault, found.complete, found.usage.output_tokens) == (None, True, 6)
        assert len(found.token_events) == (6 if stream else 0)
    # The server keeps the prompt and all tokens of the reply but the last, which was never computed on.
    assert second.usage.cached_tokens == first.usage.prompt_tokens + 6 - 1


def test_all_wires_count_the_same_prompt(port: int):
    totals = {name: ask(port, name, OPENING, stream=True).usage.prompt_tokens for name in WIRES}
    assert len(set(totals.values())) == 1
