"""Every preset: hitrate's own reading of its replies is what the server did, and its knobs, lists and refusals."""

from __future__ import annotations

import json

import pytest
from practice_fakes import Caller, options_as, words

from hitrate.caches.breakpoints import BreakpointLease
from hitrate.core.sse import split_events
from hitrate.serve.practice.caches import cache_maker, cache_model
from hitrate.serve.practice.figures import TEXT, figure_names
from hitrate.serve.practice.model_lists import SPELLINGS
from hitrate.serve.practice.options import PracticeModel
from hitrate.serve.practice.vendors import vendor, vendor_names
from hitrate.serve.practice.wires import wire_names
from hitrate.targets.dialects import aws_eventstream, dialect
from hitrate.targets.models import parse_models
from hitrate.targets.presets import all_names

ALL = vendor_names()
WIRES = [(name, wire) for name in ALL for wire in vendor(name).wires]
MARKER = {"cache_control": {"type": "ephemeral"}}


def read(wire, data, streamed):
    """The reading of hitrate's client side."""
    spoken = dialect(wire)
    if not streamed:
        return spoken.read_body(data)
    split = aws_eventstream.split_events if spoken.framing == "aws-eventstream" else split_events
    return spoken.read_stream(split([(0, 0, data)]))


def ask(caller, wire, messages, *, streamed=False, headers=(), **how):
    """What the server did, and what the client reads of it."""
    spoken = dialect(wire)
    model = caller.service.options.models[0].name
    refused = {refusal.member for refusal in caller.service.vendor.refuses}
    extra = {"stream_options": None} if "stream_options" in refused else {}
    body = spoken.build(
        model=model, messages=messages, stream=streamed, **{"extra": extra or None, "max_tokens": None, **how}
    )
    path = spoken.request_path(model, streamed)
    job, data = caller.send(path, body, {"anthropic-version": "2023-06-01", **dict(headers)})
    return job, read(wire, data, streamed)


def opening(name, wire):
    """A long first message, marked where the wire has no marks of its own but the rule wants them."""
    content = words(3000)
    if wire == "openai-chat" and cache_model(options_as(name)) == "marked":
        content = [{"type": "text", "text": content, **MARKER}]
    return {"role": "user", "content": content}


@pytest.mark.parametrize("streamed", [False, True], ids=["body", "stream"])
@pytest.mark.parametrize(("name", "wire"), WIRES)
def test_hitrate_reads_back_what_the_server_did(name, wire, streamed):
    caller = Caller(options_as(name, cache_report=True))
    messages = [opening(name, wire)]
    found = []
    for question in ("first", "second"):
        # Some vendors cache for a session with a key alone.
        key = {"prompt_cache_key": "s"} if "body:prompt_cache_key" in vendor(name).affinity else {}
        extra = {**key, **({"stream_options": None} if name in ("mistral", "cohere") else {})}
        job, reading = ask(caller, wire, messages, streamed=streamed, extra=extra)
        assert (reading.fault, reading.complete) == (None, True)
        usage = reading.usage
        is_told = wire != "openai-chat" or vendor(name).details == "full" or vendor(name).details_flag
        cached = job.cached_tokens if is_told else None
        if wire == "gemini-generate" and not cached:
            cached = None  # the API leaves the field out
        if wire == "openai-chat" and not vendor(name).usage:
            cached = None
        writes = wire != "openai-chat" or "written" in vendor(name).usage.values()
        written = job.lease.written_tokens if writes and isinstance(job.lease, BreakpointLease) else None
        assert (usage.prompt_tokens, usage.cached_tokens, usage.written_tokens) == (job.prompt_tokens, cached, written)
        assert usage.output_tokens == 32
        assert not usage.accounting_fault
        found.append(job.cached_tokens)
        messages += [reading.reply.message, {"role": "user", "content": question}]
        caller.now += 60.0
    # The whole rule is held elsewhere; here it must be one that caches at all.
    only_objects = cache_model(caller.service.options) == "objects"
    assert found[0] == 0
    assert found[1] == 0 if only_objects else found[1] > 2000


@pytest.mark.parametrize("streamed", [False, True], ids=["body", "stream"])
@pytest.mark.parametrize(("name", "wire"), [pair for pair in WIRES if pair[1] != "llamacpp-completion"])
def test_tool_calls_and_reasoning_come_back_on_every_wire(name, wire, streamed):
    tool = {"type": "function", "function": {"name": "find", "parameters": {"properties": {"id": {"type": "string"}}}}}
    options = options_as(name, tool_calls=True)
    caller = Caller(options)
    messages = [{"role": "user", "content": "where?"}]
    _, reading = ask(caller, wire, messages, streamed=streamed, tools=[tool])
    [call] = reading.reply.tool_calls
    assert call["function"] == {"name": "find", "arguments": call["function"]["arguments"]}
    assert json.loads(call["function"]["arguments"]) == {"id": "practice"}
    messages += [reading.reply.message, {"role": "tool", "tool_call_id": call["id"], "content": "here"}]
    _, reading = ask(caller, wire, messages, streamed=streamed, tools=[tool])
    # A tool's result is answered with text.
    assert reading.reply.tool_calls == ()
    assert len(reading.reply.text.split()) == 32


@pytest.mark.parametrize("name", ALL)
def test_presets_are_whole(name):
    found = vendor(name)
    assert set(found.wires) <= set(wire_names())
    assert found.source.startswith("https://") and len(found.date) == 10
    assert found.model_list in SPELLINGS
    figures = [
        *found.usage.values(),
        *found.headers.values(),
        *(f for t in found.usage_when_asked.values() for f in t.values()),
    ]
    assert {figure.removesuffix(TEXT) for figure in figures} <= figure_names()
    assert all(knob.partition(":")[0] in ("body", "header") and knob == knob.lower() for knob in found.affinity)
    options = options_as(name)
    options.check()
    cache_maker(options)
    # Rules that are the practice server's own stand in for one that is not published, and the note says so.
    assert options.rule not in ("block-chain", "longest-prefix") or found.note


def test_every_target_can_be_imitated(tmp_path):
    other_wires_of_a_vendor = {"openai-responses", "gemini-openai"}
    assert set(all_names(tmp_path / "none.toml")) - {"practice"} - other_wires_of_a_vendor <= set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_model_lists_are_read_back_with_their_prices(name):
    from starlette.testclient import TestClient

    from hitrate.serve.practice.app import PracticeApp

    options = options_as(name, models=(PracticeModel("m", 3.0, 0.3, 3.75, 15.0),))
    client = TestClient(PracticeApp(options, None, cache_maker(options)))
    listed = "language-models" if vendor(name).model_list == "xai" else "models"
    reply = client.get(
        f"{vendor(name).base_path}/{listed}", headers={"authorization": "Bearer any", "x-api-key": "any"}
    )
    [model] = parse_models(reply.content)
    assert model.id.removeprefix("models/") == "m"
    price = model.price
    prices = (price.input_usd_per_mtok, price.cached_usd_per_mtok, price.output_usd_per_mtok)
    is_priced = vendor(name).model_list in ("crusoe", "openrouter", "together", "baseten", "xai")
    assert prices == ((3.0, 0.3, 15.0) if is_priced else (None, None, None))
