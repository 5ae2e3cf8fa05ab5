"""Faults of a reply on every wire, as hitrate's own client reads them."""

from __future__ import annotations

import pytest
from practice_fakes import Caller, options_as

from hitrate.core.model import StreamEvent
from hitrate.core.sse import split_events
from hitrate.serve.practice.faults import parse_fault
from hitrate.serve.practice.framing import AWS_EVENTSTREAM, SSE, Event
from hitrate.targets.dialects import aws_eventstream, dialect

VENDOR_OF = {
    "openai-chat": "deepseek",
    "openai-responses": "azure",
    "anthropic-messages": "anthropic",
    "gemini-generate": "gemini",
    "bedrock-converse": "bedrock",
    "llamacpp-completion": "llamacpp",
}


def reading(wire, *faults, streamed=True):
    caller = Caller(options_as(VENDOR_OF[wire], faults=tuple(map(parse_fault, faults))))
    spoken = dialect(wire)
    model = caller.service.options.models[0].name
    body = spoken.build(model=model, messages=[{"role": "user", "content": "hi"}], stream=streamed, max_tokens=6)
    _, data = caller.send(spoken.request_path(model, streamed), body, {"anthropic-version": "x"})
    if not streamed:
        return spoken.read_body(data)
    split = aws_eventstream.split_events if spoken.framing == "aws-eventstream" else split_events
    return spoken.read_stream(split([(0, 0, data)]))


@pytest.mark.parametrize("fault", ["crlf", "no-space", "comment", "split", "merge", "early-role"])
@pytest.mark.parametrize("wire", VENDOR_OF)
def test_a_stream_in_another_form_is_the_same_stream(wire, fault):
    plain, bent = reading(wire), reading(wire, fault)
    assert (bent.reply.text, bent.usage, bent.complete) == (plain.reply.text, plain.usage, True)
    assert bent.fault is None
    assert len(bent.token_events) == 6


@pytest.mark.parametrize("wire", VENDOR_OF)
def test_an_event_that_is_no_json_is_told_and_the_rest_is_read(wire):
    broken = reading(wire, "malformed:after=2")
    assert "malformed JSON" in broken.fault
    assert (broken.reply.text, broken.usage) == (reading(wire).reply.text, reading(wire).usage)


@pytest.mark.parametrize("wire", VENDOR_OF)
def test_a_cut_stream_is_not_complete(wire):
    cut = reading(wire, "cut:after=2")
    assert not cut.complete
    assert reading(wire).reply.text.startswith(cut.reply.text)
    assert cut.usage.output_tokens != 6


@pytest.mark.parametrize("streamed", [False, True], ids=["body", "stream"])
@pytest.mark.parametrize("wire", VENDOR_OF)
def test_an_error_after_status_200_is_one_for_the_client(wire, streamed):
    broken = reading(wire, "error-after-200:after=2", streamed=streamed)
    assert not broken.complete
    if streamed or wire != "bedrock-converse":  # a body of Bedrock's is an error by its status alone
        assert "the engine broke off, as it was told to" in broken.fault


@pytest.mark.parametrize("streamed", [False, True], ids=["body", "stream"])
@pytest.mark.parametrize("wire", VENDOR_OF)
def test_usage_that_is_left_out_stays_unknown(wire, streamed):
    assert reading(wire, "no-usage", streamed=streamed).usage.cached_tokens is None


@pytest.mark.parametrize("fault", ["null-details", "no-details"])
@pytest.mark.parametrize("wire", [wire for wire in VENDOR_OF if wire != "llamacpp-completion"])
def test_counts_that_are_not_told_leave_the_prompt_whole(wire, fault):
    usage = reading(wire, fault).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.output_tokens) == (
        reading(wire).usage.prompt_tokens,
        None,
        6,
    )


@pytest.mark.parametrize("streamed", [False, True], ids=["body", "stream"])
@pytest.mark.parametrize("wire", [wire for wire in VENDOR_OF if wire != "llamacpp-completion"])
def test_reasoning_stands_apart_from_the_text(wire, streamed):
    found = reading(wire, "reasoning-first:tokens=4", streamed=streamed)
    assert (len(found.reply.reasoning.split()), len(found.reply.text.split())) == (4, 2)
    assert found.usage.output_tokens == 6


def test_frames():
    events = [Event(b'{"a":1}'), Event(b"{}", b"ping")]
    assert SSE.frames(events, {}) == b'data: {"a":1}\n\nevent: ping\ndata: {}\n\n'
    assert SSE.frames(events, {"crlf": {}, "no-space": {}}) == b'data:{"a":1}\r\n\r\nevent:ping\r\ndata:{}\r\n\r\n'
    framed = AWS_EVENTSTREAM.frames([Event(b'{"a":1}', b"ping"), Event(b"{}", b"throttlingException")], {})
    messages, fault = aws_eventstream.decode(framed)
    assert fault is None
    assert [(message.headers, message.payload) for message in messages] == [
        ({":event-type": "ping", ":content-type": "application/json", ":message-type": "event"}, b'{"a":1}'),
        (
            {
                ":exception-type": "throttlingException",
                ":content-type": "application/json",
                ":message-type": "exception",
            },
            b"{}",
        ),
    ]
    [half] = aws_eventstream.split_events([(7, 1, AWS_EVENTSTREAM.broken(framed, {}))])
    assert half == StreamEvent(7, 1, b'{"ping":{"a}')
