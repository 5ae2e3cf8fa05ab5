from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from diff_bodies import WIRES, compared, request
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hitrate.core.spans import resolve
from hitrate.explain.diff import CHANGES, Request, changes, first_divergence
from hitrate.explain.diff.texts import common_prefix, common_suffix
from hitrate.explaining import pieces_of, request_of
from hitrate.targets.dialects import dialect

PLANTED = "\u2318"
"""No text below holds it."""

texts = st.text(st.sampled_from('ab \n"\\{é\u0301\u00a0\U0001f600\ud800'), max_size=12)
words = st.text(st.sampled_from("abc"), min_size=1, max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def conversations(draw) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Messages and tools in the shape of chat completions, from which every wire builds its body."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": draw(texts)}] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(texts)})
        if draw(st.booleans()):
            arguments = json.dumps(draw(st.dictionaries(words, values, max_size=3)))
            function = {"name": "f", "arguments": arguments}
            named = {"id": f"call_{turn}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": draw(st.none() | texts), "tool_calls": [named]})
            messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": draw(texts)})
        messages.append({"role": "assistant", "content": draw(texts)})
    messages.append({"role": "user", "content": draw(texts)})
    tools = [
        {
            "type": "function",
            "function": {
                "name": f"tool_{number}",
                "description": draw(texts),
                "parameters": {"type": "object", "properties": draw(st.dictionaries(words, st.just({}), max_size=3))},
            },
        }
        for number in range(draw(st.integers(0, 3)))
    ]
    return messages, tools


def built(wire: str, conversation: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> dict[str, Any]:
    messages, tools = conversation
    return json.loads(dialect(wire).build(model="m", messages=messages, tools=tools, markers=None))


def strings(value: Any, pointer: str) -> list[str]:
    """Pointers of all strings in a value, types left out."""
    if isinstance(value, str):
        return [pointer]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in items if key != "type" for found in strings(one, f"{pointer}/{key}")]


def replaced(body: dict[str, Any], pointer: str, text: str) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    parent, _, last = pointer.rpartition("/")
    container = resolve(changed, parent)
    container[int(last) if isinstance(container, list) else last] = text
    return changed


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=20, deadline=None)
@given(conversation=conversations())
def test_a_prompt_does_not_differ_from_itself(wire, conversation):
    body = dialect(wire).build(model="m", messages=conversation[0], tools=conversation[1])
    prompt = dialect(wire).canonical(body)
    assert first_divergence(prompt, prompt, body, body) is None


def as_compared(request: Request) -> list[Any]:
    """All that a comparison looks at, and the rest of the prompt but for places in the body."""
    units = [
        (unit.group, unit.kind, unit.pointer, piece.kind, piece.text, piece.pointer, piece.characters)
        for unit in request.units
        for piece in unit.pieces
    ]
    segments = [(one.kind, one.pointer, one.text) for one in request.prompt.segments]
    return [units, request.characters, segments, request.prompt.markers, request.prompt.namespace]


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=40, deadline=None)
@given(conversation=conversations(), markers=st.sampled_from(["auto", None]), escapes=st.booleans())
def test_a_request_is_read_as_with_all_its_places(wire, conversation, markers, escapes):
    body = dialect(wire).build(model="m", messages=conversation[0], tools=conversation[1], markers=markers)
    if escapes:
        body = json.dumps(json.loads(body)).encode()
    assert as_compared(request_of(body, wire)) == as_compared(Request(pieces_of(body, wire), body))


LONG = "Q2Fi/" * 200


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ("anthropic-messages", {"role": "assistant", "content": [{"type": "thinking", "signature": LONG}]}),
        ("anthropic-messages", {"role": "assistant", "content": [{"type": "redacted_thinking", "data": LONG}]}),
        ("openai-responses", {"type": "reasoning", "id": "r", "encrypted_content": LONG}),
        ("openai-chat", {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:{LONG}"}}]}),
        ("openai-chat", {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f"}}]}),
        ("openai-chat", {"role": "user", "content": {}}),
        ("gemini-generate", {"role": "user", "parts": [{"text": ""}, {"inlineData": {"data": LONG}}]}),
        ("bedrock-converse", {"role": "user", "content": [{"text": "q"}, {"cachePoint": {"type": "default"}}]}),
    ],
)
@pytest.mark.parametrize(("written", "in_its_place"), [("", ""), ("/", "\\/"), ('"m"', "1e999")])
def test_odd_messages_are_read_as_with_all_their_places(wire, message, written, in_its_place):
    listed = {"gemini-generate": "contents", "openai-responses": "input"}.get(wire, "messages")
    body = json.dumps({"model": "m", listed: [message]}).replace(written, in_its_place).encode()
    assert as_compared(request_of(body, wire)) == as_compared(Request(pieces_of(body, wire), body))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"messages": 1, "input": 1, "contents": 1}', b"\xff", b'"\\ud800"']
)
def test_who_cannot_read_a_request_says_why(wire, body):
    with pytest.raises(ValueError) as slow:
        pieces_of(body, wire)
    with pytest.raises(ValueError) as fast:
        request_of(body, wire)
    assert str(fast.value) == str(slow.value)


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=30, deadline=None)
@given(conversation=conversations(), data=st.data())
def test_a_planted_change_is_found_at_its_very_place(wire, conversation, data):
    body = built(wire, conversation)
    prompt = dialect(wire).canonical(json.dumps(body).encode())
    places = [
        place
        for segment in prompt.segments
        for place in strings(resolve(body, segment.pointer), segment.pointer)
        if segment.text
    ]
    places = [place for place in places if resolve(body, place)]
    assume(places)
    pointer = data.draw(st.sampled_from(places))
    text = resolve(body, pointer)
    offset = data.draw(st.integers(0, len(text) - 1))
    changed = replaced(body, pointer, text[:offset] + PLANTED + text[offset + 1 :])
    for was, now in ((body, changed), (changed, body)):
        found = compared(wire, was, now)
        assert found is not None
        assert (found.pointer, found.offset) == (pointer, offset)
        assert found.change in CHANGES
        assert 0 <= found.cacheable_share <= 1
        assert found.words.isprintable()


@settings(max_examples=30, deadline=None)
@given(ids=st.lists(st.integers(0, 300), min_size=1, max_size=40), data=st.data())
def test_a_planted_token_id_is_found(ids, data):
    position = data.draw(st.integers(0, len(ids) - 1))
    other = [*ids[:position], 301, *ids[position + 1 :]]
    found = compared("llamacpp-completion", {"prompt_token_ids": ids}, {"prompt_token_ids": other})
    assert found is not None
    assert (found.pointer, found.was, found.now) == (f"/prompt_token_ids/{position}", str(ids[position]), "301")


MARKER = {
    "openai-chat": ("cache_control", {"type": "ephemeral"}),
    "openai-responses": ("prompt_cache_breakpoint", {"mode": "explicit"}),
    "anthropic-messages": ("cache_control", {"type": "ephemeral"}),
}


def with_markers(wire: str, body: dict[str, Any], data: Any) -> dict[str, Any]:
    """The same prompt, written otherwise: strings as blocks, markers here and there, other settings, another order."""
    other = copy.deepcopy(body)
    blocks = {"openai-responses": "input_text"}.get(wire, "text")
    for message in other.get("messages", []) + (other["input"] if isinstance(other.get("input"), list) else []):
        content = message.get("content")
        if isinstance(content, str) and data.draw(st.booleans()):
            message["content"] = content = [{"type": blocks, "text": content}]
        for block in content if isinstance(content, list) else ():
            if wire in MARKER and data.draw(st.booleans()):
                block[MARKER[wire][0]] = MARKER[wire][1]
        if wire == "bedrock-converse" and data.draw(st.booleans()):
            content.append({"cachePoint": {"type": "default"}})
    if isinstance(other.get("system"), str) and data.draw(st.booleans()):
        other["system"] = [{"type": "text", "text": other["system"], "cache_control": {"type": "ephemeral"}}]
    for tool in other.get("tools", []) if wire in MARKER else ():
        if data.draw(st.booleans()):
            tool[MARKER[wire][0]] = MARKER[wire][1]
    other["temperature"] = data.draw(st.sampled_from([0, 1]))
    return dict(data.draw(st.permutations(list(other.items()))))


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=20, deadline=None)
@given(conversation=conversations(), data=st.data())
def test_markers_blocks_settings_and_order_at_the_top_never_differ(wire, conversation, data):
    body = built(wire, conversation)
    assert compared(wire, with_markers(wire, body, data), with_markers(wire, body, data)) is None


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=20, deadline=None)
@given(one=conversations(), other=conversations())
def test_any_two_requests_can_be_compared(wire, one, other):
    was, now = built(wire, one), built(wire, other)
    forth, back = compared(wire, was, now), compared(wire, now, was)
    assert (forth is None) == (back is None)
    if forth is not None and back is not None:
        assert (forth.offset, forth.was) == (back.offset, back.now)
        assert 0 <= forth.cacheable_chars <= request(wire, now).characters
        assert 0 <= back.cacheable_chars <= request(wire, was).characters


@given(start=texts, one=texts, other=texts, end=texts)
def test_common_ends_are_those_that_a_loop_finds(start, one, other, end):
    was, now = start + one + end, start + other + end
    prefix = common_prefix(was, now)
    assert was[:prefix] == now[:prefix]
    assert was[prefix : prefix + 1] != now[prefix : prefix + 1] or was == now
    suffix = common_suffix(was, now, prefix)
    assert was[len(was) - suffix :] == now[len(now) - suffix :]
    longest = min(len(was), len(now)) - prefix
    assert suffix == longest or was[len(was) - suffix - 1] != now[len(now) - suffix - 1]


@given(texts, texts, texts, texts)
def test_how_two_strings_begin_to_differ_spares_work_and_changes_nothing(front, old, new, end):
    was, now = front + old + end, front + new + end
    assume(was != now)
    offset = common_prefix(was, now)
    found = changes.change_of_strings(was, now, offset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes, "_begins_unlike", lambda old, new: False)
        assert changes.change_of_strings(was, now, offset) == found
