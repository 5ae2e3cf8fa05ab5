import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hitrate.core.model import StreamEvent
from hitrate.targets.dialects.chunk_pattern import MAX_UNUSED, ChunkPattern
from hitrate.targets.dialects.openai_chat import OpenAIChat
from hitrate.targets.dialects.openai_chunks import parse_chunk

PLAIN = b'{"id":"r","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}'


def text_of(pattern: ChunkPattern, data: bytes) -> str | None:
    texts = pattern.texts([StreamEvent(0, 0, PLAIN), StreamEvent(1, 1, data)], 1)
    return texts[0] if texts else None


def learnt(data: bytes) -> ChunkPattern:
    pattern = ChunkPattern()
    pattern.learn(data, parse_chunk(data))
    return pattern


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (PLAIN.replace(b'"a"', b'"b"'), "b"),
        (PLAIN.replace(b'"a"', b'""'), ""),
        (PLAIN.replace(b'"a"', rb'"\"content\":\"c\" \u20ac\ud83d\ude00"'), '"content":"c" €😀'),
        (PLAIN.replace(b'"a"', '"é"'.encode()), "é"),
        (PLAIN.replace(b'"a"', rb'"\ud83d"'), None),  # half a surrogate pair: for the lenient decoder
        (PLAIN.replace(b'"a"', b'"\xff"'), None),
        (PLAIN.replace(b'"a"', b'"a\n"'), None),
        (PLAIN.replace(b'"a"', b'"b","content":"c"'), None),
        (PLAIN.replace(b'"a"', b"null"), None),
        (PLAIN.replace(b'"a"', b'["b"]'), None),
        (PLAIN.replace(b'"a"', b""), None),
        (PLAIN.replace(b'"r"', b'"other"'), None),
        (PLAIN.replace(b"null", b'"stop"'), None),
        (PLAIN + b" ", None),
        (PLAIN[:-1], None),
        (b"[DONE]", None),
        (b"", None),
    ],
)
def test_the_text_of_a_chunk_that_differs_from_the_learnt_one_in_nothing_else(data, text):
    assert text_of(learnt(PLAIN), data) == text


@pytest.mark.parametrize(
    ("literals", "texts"),
    [
        ([b'"b"'] * 40, ["b"] * 40),
        ([b'"b"', b'"c","d"', b'"e"'], ["b"]),
        ([b'"b"', b'"c","d"', b""], ["b"]),
        ([b'"b', b'c"'], []),
        ([b'"b\\"', b'"c"'], []),
        ([b'"b"', b' "c" '], ["b", "c"]),
        ([b'"b"]', b'["c"'], []),
        ([*[b'"b"'] * 20, b'"c","d"', b'"e"'], ["b"] * 20),
    ],
)
def test_no_text_has_a_part_in_another_one(literals, texts):
    chunks = [PLAIN, *(PLAIN.replace(b'"a"', literal) for literal in literals)]
    assert learnt(PLAIN).texts([StreamEvent(0, 0, chunk) for chunk in chunks], 1) == texts


def test_texts_are_read_up_to_the_first_chunk_that_is_not_alike():
    chunks = [PLAIN.replace(b'"a"', text) for text in (b'"a"', b'"b"', b'""', b"null", b'"c"')]
    assert learnt(PLAIN).texts([StreamEvent(0, 0, chunk) for chunk in chunks], 1) == ["b", ""]


@pytest.mark.parametrize(
    "chunk",
    [
        b'{"choices":[{"delta":{"content": "a"}}]}',
        b'{"choices":[{"delta":{"role":"assistant","content":"a","refusal":null,"tool_calls":[]}}],"usage":null}',
        b'{"choices":[{"delta":{"content":"a"},"logprobs":null}],"x":{"content":[]}}',
        rb'{"note":"\"content\":\"x\"","choices":[{"delta":{"content":"a"}}]}',
    ],
)
def test_a_pattern_is_learnt(chunk):
    assert text_of(learnt(chunk), chunk.replace(b'"a"', b'"b"')) == "b"


@pytest.mark.parametrize(
    "chunk",
    [
        b'{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0}]}}]}',
        b'{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}',
        b'{"choices":[{"delta":{"content":"a"},"token_ids":[1]}]}',
        b'{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"id":1}]}}]}',
        b'{"choices":[{"delta":{"content":"a"}}],"tokens":[1]}',
        b'{"choices":[{"delta":{"content":"a"}}],"__verbose":{"tokens":[1]}}',
        b'{"choices":[{"delta":{"content":"a"}}],"error":"overloaded"}',
        b'{"choices":[{"delta":{"content":"a"}}],"object":"error"}',
        b'{"choices":[{"message":{"content":"a"}}]}',
        b'{"x":{"content":"a"},"choices":[{"delta":{"content":"a"}}]}',  # which of the two is the text?
        b'{"x":{"content":"a"},"choices":[{"delta":{"content":"the text of this chunk"}}]}',
        b'{"choices":[{"delta":{"content":"a","content":"b"}}]}',
        b'{"choices":[{"delta":{"content":""}}]}',
        b'{"choices":[]}',
        b'{"choices":[7]}',
    ],
)
def test_a_chunk_that_may_bring_more_than_its_text_is_decoded_each_time(chunk):
    pattern = learnt(PLAIN)
    pattern.learn(chunk, parse_chunk(chunk))
    assert (text_of(pattern, chunk), text_of(pattern, PLAIN)) == (None, None)


def test_a_stream_whose_chunks_all_differ_is_given_up():
    pattern = ChunkPattern()
    chunks = [PLAIN.replace(b'"r"', b'"r%d"' % number) for number in range(MAX_UNUSED + 1)]
    for chunk in chunks[:-1]:
        pattern.learn(chunk, parse_chunk(chunk))
    assert text_of(pattern, chunks[MAX_UNUSED - 1]) == "a"
    for chunk in chunks:  # that one fitted: from here it is tried again
        pattern.learn(chunk, parse_chunk(chunk))
    assert text_of(pattern, chunks[-1]) is None


TEXTS = ["a", " é", '"content":"x"', "\n", "", "\ud83d", "\ude00", "the text of this chunk"]
ODDITIES = {
    "chunk": {
        "id": "x",
        "model": "x",
        "usage": {"completion_tokens": 2},
        "error": "x",
        "object": "error",
        "tokens": [5],
    }
    | {"__verbose": {"tokens": [5]}, "timings": {"cache_n": 5}, "content": "x"},
    "choice": {
        "finish_reason": "stop",
        "index": 1,
        "token_ids": [5],
        "logprobs": {"content": [{"id": 5}]},
        "content": "x",
    },
    "delta": {
        "role": "assistant",
        "reasoning": "x",
        "refusal": "x",
        "tool_calls": [{"id": "c"}],
        "note": {"content": "x"},
    },
}
MEMBERS = [(place, name, value) for place, members in ODDITIES.items() for name, value in members.items()]
oddities = st.builds(
    lambda member, in_front, other: (*member[:2], in_front, other[0] if other else member[2]),
    st.sampled_from(MEMBERS),
    st.booleans(),
    st.sampled_from([(), (), (None,), ("",), (0,), ([],), ({},), (7,), ("x",)]),
)
spellings = st.sampled_from([{}, {"separators": (",", ":")}, {"ensure_ascii": False}])


def chunk_of(text: str, odd: list[tuple[str, str, bool, object]]) -> dict[str, object]:
    chunk, choice, delta = {"choices": []}, {"delta": None}, {"content": text}
    for place, name, in_front, value in odd:
        holder = {"chunk": chunk, "choice": choice, "delta": delta}[place]
        members = {name: value} | holder if in_front else holder | {name: value}
        holder.clear()
        holder.update(members)
    choice["delta"] = delta
    chunk["choices"] = [choice]
    return chunk


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Runs of chunks that differ in their text alone, as real servers send, most with something odd in all of a run."""
    stream: list[bytes] = []
    shapes = draw(st.lists(st.lists(oddities, max_size=2), min_size=1, max_size=3))
    for odd in draw(st.lists(st.sampled_from(shapes), min_size=1, max_size=4)):
        spelling = draw(spellings)
        chunks = [chunk_of(text, odd) for text in draw(st.lists(st.sampled_from(TEXTS), min_size=2, max_size=4))]
        stream += [json.dumps(chunk, **spelling).encode("utf-8", "surrogatepass") for chunk in chunks]
    return [*stream, *draw(st.sampled_from([[], [b"[DONE]"], [b"{"], [PLAIN]]))]


@given(stream=streams())
@example(stream=[PLAIN, b"[DONE]", PLAIN])
def test_streams_are_read_as_if_there_were_no_patterns(stream):
    def read(data: list[bytes]):
        return OpenAIChat().read_stream([StreamEvent(number, number, one) for number, one in enumerate(data)])

    assert read(stream) == read([one + b" " for one in stream])  # white space behind a chunk fits no pattern
