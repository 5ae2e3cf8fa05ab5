"""What holds for all wires alike."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitrate.core.model import StreamEvent
from hitrate.core.spans import resolve
from hitrate.errors import UsageError
from hitrate.targets.dialects import dialect, names

OTHERS = [name for name in names() if name != "openai-chat"]

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"b":1,"a":[2]}'}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is order 7?"},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "in Ghent"},
    {"role": "assistant", "content": "In Ghent."},
    {"role": "user", "content": [{"type": "text", "text": "And this?"}, PICTURE]},
    {"role": "assistant", "content": "A cat."},
    {"role": "user", "content": "Thanks."},
]
TOOLS = [{"type": "function", "function": {"name": "find", "description": "Find.", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize(
    ("name", "model", "stream", "path"),
    [
        ("openai-responses", "gpt-5.4", True, "/responses"),
        ("anthropic-messages", "claude-x", True, "/messages"),
        ("gemini-generate", "gemini-x", True, "/models/gemini-x:streamGenerateContent?alt=sse"),
        ("gemini-generate", "models/gemini-x", False, "/models/gemini-x:generateContent"),
        ("gemini-generate", "tunedModels/mine", False, "/tunedModels/mine:generateContent"),
        ("bedrock-converse", "us.anthropic.claude-x-v1:0", True, "/model/us.anthropic.claude-x-v1%3A0/converse-stream"),
        ("bedrock-converse", "arn:aws:bedrock:x/y", False, "/model/arn%3Aaws%3Abedrock%3Ax%2Fy/converse"),
        ("llamacpp-completion", "any", True, "/completion"),
    ],
)
def test_request_path(name, model, stream, path):
    assert dialect(name).request_path(model, stream) == path


@pytest.mark.parametrize(
    ("name", "headers"),
    [
        ("openai-responses", {"Authorization": "Bearer k"}),
        ("anthropic-messages", {"x-api-key": "k", "anthropic-version": "2023-06-01"}),
        ("gemini-generate", {"x-goog-api-key": "k"}),
        ("bedrock-converse", {"Authorization": "Bearer k"}),
        ("llamacpp-completion", {"Authorization": "Bearer k"}),
    ],
)
def test_auth_headers(name, headers):
    assert dialect(name).auth_headers("k") == headers


def test_an_unknown_name():
    with pytest.raises(UsageError, match="no wire format called 'smoke-signals'; known: openai-chat, openai-"):
        dialect("smoke-signals")


def test_one_is_imported_without_the_others():
    program = (
        "import sys; from hitrate.targets.dialects import dialect; dialect('gemini-generate');"
        "print([one for one in ('openai_chat', 'anthropic_messages', 'bedrock_converse', 'openai_responses')"
        " if 'hitrate.targets.dialects.' + one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", names())
def test_a_longer_conversation_extends_the_prompt(name):
    wire = dialect(name)
    prompts = []
    for end in (2, 4, 6, 8):
        body = wire.build(model="m", messages=CONVERSATION[:end], tools=TOOLS, max_tokens=9, temperature=0.5)
        text = body.decode()
        found = wire.canonical(body)
        for segment in found.segments:  # each stands where it says, in the text as sent
            assert json.loads(text[segment.start : segment.end]) == resolve(json.loads(text), segment.pointer)
        prompts.append([segment.text for segment in found.segments])
    if name == "llamacpp-completion":
        for shorter, longer in pairwise(prompts):
            assert longer[0].startswith(shorter[0])
    else:
        for shorter, longer in pairwise(prompts):
            assert longer[: len(shorter)] == shorter
            assert len(longer) > len(shorter)
    assert "Be brief." in "".join(prompts[0])
    assert all(said in "".join(prompts[-1]) for said in ("Where is order 7?", "in Ghent", '"b":1', "A cat.", "Thanks."))


@pytest.mark.parametrize("name", OTHERS)
def test_extra_members_go_last_and_none_removes_one(name):
    wire = dialect(name)
    body = wire.build(model="m", messages=CONVERSATION[:2], extra={"zeta": 1, "stream": None})
    assert list(json.loads(body))[-1] == "zeta"
    assert "stream" not in json.loads(body)


# --- odd input ---------------------------------------------------------------------------------------------------

MEMBER_NAMES = """
type index content text thinking delta message messages usage input output role model name arguments tool_calls start
content_block partial_json signature stop_reason response item output_index status error code candidates parts args
functionCall usageMetadata promptTokenCount cachedContentTokenCount contentBlockDelta contentBlockStart toolUse prompt
reasoningContent reasoningText metadata messageStop metrics cacheDetails ttl inputTokens input_tokens tools system
cache_read_input_tokens cache_creation input_tokens_details cached_tokens timings cache_n prompt_n tokens contents
systemInstruction toolConfig cache_control cachePoint source data url id call_id
"""
KIND_NAMES = """
message_start message_delta message_stop content_block_start content_block_delta text_delta thinking_delta image
input_json_delta signature_delta citations_delta error ping text tool_use tool_result thinking message reasoning
function_call function_call_output response.completed response.output_text.delta response.failed assistant user
response.output_item.added response.output_item.done response.function_call_arguments.delta
"""
MEMBERS = st.sampled_from(MEMBER_NAMES.split())
KINDS = st.sampled_from(KIND_NAMES.split())
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=4) | KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=5),
    max_leaves=15,
)
JSON_BYTES = st.dictionaries(MEMBERS, JSON_VALUES, max_size=6).map(lambda value: json.dumps(value).encode())
ANY_BYTES = st.binary(max_size=40) | JSON_BYTES | st.just(b"[DONE]")


@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=50, deadline=None)
@given(bodies=st.lists(ANY_BYTES, max_size=4))
def test_readers_never_raise(name, bodies):
    wire = dialect(name)
    for body in bodies:
        found = wire.read_body(body)
        assert found.reply is not None or found.fault is not None
    found = wire.read_stream([StreamEvent(i, i, body) for i, body in enumerate(bodies)])
    assert list(found.token_events) == sorted(set(found.token_events))
    assert found.first_token == (found.token_events[0] if found.token_events else None)
    rate = found.usage.hit_rate
    assert rate is None or 0 <= rate <= 1


@pytest.mark.parametrize("name", OTHERS)
def test_a_reply_nested_without_end(name):
    wire = dialect(name)
    body = b'{"a":' * 100_000
    assert wire.read_body(body).fault == "the reply is nested too deeply to be read"
    assert wire.read_stream([StreamEvent(0, 0, body)]).fault == "event 1 is nested too deeply to be read"


@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=50, deadline=None)
@given(members=st.dictionaries(MEMBERS, JSON_VALUES, max_size=6), turns=st.lists(JSON_VALUES, max_size=3))
def test_a_body_of_another_shape_is_a_value_error(name, members, turns):
    lists = dict.fromkeys(("messages", "input", "contents", "prompt"), turns)
    for body in ({**members, **lists}, members):
        try:
            found = dialect(name).canonical(json.dumps(body).encode())
        except ValueError as error:
            assert "\n" not in str(error)
        else:
            assert all(marker.after < len(found.segments) for marker in found.markers)
            assert all(isinstance(segment.text, str) for segment in found.segments)
