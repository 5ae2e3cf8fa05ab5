import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.targets.dialects.openai_chunks import Choice, Chunk, first_choice, parse_chunk


@pytest.mark.parametrize(
    ("data", "chunk"),
    [
        (b"{}", Chunk()),
        (b'{"id":"r","model":"m","created":1,"service_tier":null}', Chunk(id="r", model="m")),
        (b'{"choices":[{"index":0,"delta":{"a":[1]}}]}', Chunk(choices=[Choice(index=0, delta={"a": [1]})])),
        (b'{"__verbose":{"id_slot":1}}', Chunk(verbose={"id_slot": 1})),
        (b'{"usage":null,"choices":null,"error":null}', Chunk()),
        (b'{"id":7,"model":"m"}', Chunk(model="m", choices=[])),
        (b'{"usage":7,"timings":"x","choices":{}}', Chunk(choices=[])),
        (b'{"choices":[7,{"delta":[],"finish_reason":"stop"}]}', Chunk(choices=[Choice(finish_reason="stop")])),
        (rb'{"choices":[{"delta":{"a":"\ud83d"}}]}', Chunk(choices=[Choice(delta={"a": "\ud83d"})])),
        (b'{"error":"over\\nloaded"}', Chunk(choices=[], error="over loaded")),
        (b'{"error":{"message":"m","code":5}}', Chunk(choices=[], error="m (5)")),
        (b'{"object":"error","message":"m"}', Chunk(choices=[], object="error", error="m")),
        (b'{"type":"error","message":"m"}', Chunk(choices=[], type="error", error="m")),
        (b'{"error":{}}', Chunk(choices=[])),
    ],
)
def test_members_of_another_type_are_left_out(data, chunk):
    assert parse_chunk(data) == chunk


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "malformed JSON"),
        (b'{"id":', "malformed JSON"),
        (b"[1]", "not a JSON object (list)"),
        (b"null", "not a JSON object (NoneType)"),
        (b'{"choices":' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply to be read"),
    ],
)
def test_what_is_no_chunk(data, fault):
    with pytest.raises(ValueError, match="^" + re.escape(fault)):
        parse_chunk(data)


def test_the_first_choice_may_lack_its_index():
    first = Choice(delta={"content": "a"})
    assert first_choice(Chunk(choices=[Choice(index=1), first])) is first
    assert first_choice(Chunk(choices=[Choice(index=1)])) is None
    assert first_choice(Chunk()) is None


values = st.sampled_from([None, "", "x", 0, 7, True, [], ["x"], {}, {"message": "x"}, "\ud83d", 1.5])
choices = st.dictionaries(
    st.sampled_from(["index", "delta", "message", "finish_reason", "usage", "token_ids", "logprobs", "x"]), values
)
chunks = st.dictionaries(
    st.sampled_from(["id", "model", "usage", "timings", "x_groq", "__verbose", "tokens", "object", "type", "error"]),
    values | st.just("error"),
)


@given(members=chunks, of_choices=st.lists(choices, max_size=2))
def test_chunks_are_decoded_like_those_of_unforeseen_types(members, of_choices):
    members["message"] = "of an error"
    plain = json.dumps({**members, "choices": of_choices}).encode()
    odd = json.dumps({**members, "choices": [7, *of_choices]}).encode()  # an element that is no object
    assert parse_chunk(plain) == parse_chunk(odd)
