"""Secrets in bodies: members that hold them, and values that are repeated, whole, in pieces or spelled otherwise."""

import json

import pytest

from hitrate.logs.secret_values import SecretValues, mask_members

KEY = "sk-Planted-0123456789"


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        ({"api_key": KEY}, {"api_key": "***"}),
        ({"apiKey": "short"}, {"apiKey": "***"}),
        ({"metadata": {"token": KEY, "cookie": "a=b"}}, {"metadata": {"token": "***", "cookie": "***"}}),
        ({"metadata": {"x-api-key": KEY}}, {"metadata": {"x-api-key": "***"}}),
        ({"aws_secret_access_key": KEY}, {"aws_secret_access_key": "***"}),
        ({"vertex_credentials": '{"private_key":"a\\"b"}'}, {"vertex_credentials": "***"}),
        (
            {"extra_headers": {"X-Token": KEY, "x-session-id": "s"}},
            {"extra_headers": {"X-Token": "***", "x-session-id": "s"}},
        ),
        ({"mcp_servers": [{"authorization_token": KEY}]}, {"mcp_servers": [{"authorization_token": "***"}]}),
        ({"tools": [{"type": "mcp", "authorization": KEY}]}, {"tools": [{"type": "mcp", "authorization": "***"}]}),
        (
            {"tools": [{"type": "mcp", "headers": {"Authorization": f"Bearer {KEY}"}}]},
            {"tools": [{"type": "mcp", "headers": {"Authorization": "***"}}]},
        ),
        (
            {"tools": [{"type": "mcp", "server_url": f"https://me:{KEY}@host/sse?key={KEY}&a=b"}]},
            {"tools": [{"type": "mcp", "server_url": "https://***@host/sse?key=***&a=b"}]},
        ),
    ],
)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" ,\n", " : ")])
def test_members_that_hold_a_key(body, masked, separators):
    rest = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    written = json.dumps(rest | body, separators=separators).encode()
    assert mask_members(written)[0] == json.dumps(rest | masked, separators=separators).encode()


@pytest.mark.parametrize(
    "body",
    [
        {"prompt_cache_key": KEY, "cache_salt": KEY, "safety_identifier": KEY, "user": KEY},
        {"tools": [{"function": {"parameters": {"properties": {"password": {"type": "string"}}}}}]},
        {"tools": [{"name": "call", "input_schema": {"examples": [{"headers": {"x-token": KEY}, "api_key": KEY}]}}]},
        {"messages": [{"content": [{"type": "tool_use", "input": {"password": KEY}}]}]},
        {"input": [{"type": "function_call", "arguments": json.dumps({"api_key": KEY})}]},
        {"metadata": {"note": json.dumps({"api_key": KEY})}},
        {"password_hint": KEY, "secrets_of_the_deep": KEY, "keyboard": KEY, "eos_token": KEY},
    ],
)
def test_what_is_said_stays(body):
    written = json.dumps(body).encode()
    assert mask_members(written) == (written, [])


def test_the_same_member_is_masked_where_it_is_a_setting_and_stays_where_it_is_said():
    body = b'{"messages":[{"content":[{"input":{"api_key":"said-here-and-there"}}]}],"api_key":"said-here-and-there"}'
    masked = b'{"messages":[{"content":[{"input":{"api_key":"said-here-and-there"}}]}],"api_key":"***"}'
    assert mask_members(body) == (masked, [b"said-here-and-there"])


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        (b'{"api_key":"sk-Plan', b'{"api_key":"***'),
        (
            b'{"messages":[{"content":"hi"}],"api_key": "sk-Planted", "x',
            b'{"messages":[{"content":"hi"}],"api_key": "***", "x',
        ),
        (b'{"api_key":"\xff"}', b'{"api_key":"***"}'),
    ],
)
def test_a_body_that_is_no_json_is_searched_as_a_whole(body, masked):
    assert mask_members(body)[0] == masked


@pytest.mark.parametrize(
    ("value", "looked_for"),
    [(KEY, [KEY]), (f"Bearer {KEY}", [KEY]), ("customer", []), ("a phrase of several words", [])],
)
def test_only_what_looks_like_a_key_is_looked_for_elsewhere(value, looked_for):
    assert mask_members(json.dumps({"password": value}).encode())[1] == [text.encode() for text in looked_for]


@pytest.mark.parametrize("spelling", ["ab/cd+ef==gh", "ab\\/cd+ef==gh", "ab%2Fcd%2Bef%3D%3Dgh"])
def test_spellings_of_json_and_of_addresses(spelling):
    assert SecretValues([b"ab/cd+ef==gh"]).mask(f"key {spelling}!".encode()) == b"key ***!"


EVENTS = {
    "chat": '{"choices":[{"delta":{"content":"%s"}}]}',
    "spaced": '{"choices": [{"delta": {"content": "%s"}}]}',
    "responses": '{"type":"response.output_text.delta","delta":"%s"}',
    "messages": '{"type":"content_block_delta","delta":{"type":"text_delta","text":"%s"}}',
    "tool": '{"delta":{"type":"input_json_delta","partial_json":"%s"}}',
    "thinking": '{"delta":{"thinking":"%s"}}',
    "ollama": '{"message":{"role":"assistant","content":"%s"}}',
}


def stream(event, *pieces):
    return "".join(f"data: {event % piece}\n\n" for piece in pieces).encode()


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_a_value_in_pieces(event):
    said = ("the key ", "is sk", "-Planted-012", "345678", "9, and sk-Pla", "nted-0123456789", " again")
    kept = ("the key ", "is ***", "", "", ", and ***", "", " again")
    assert SecretValues([KEY.encode()]).mask_streamed(stream(event, *said)) == stream(event, *kept)


def test_a_value_letter_by_letter():
    masked = SecretValues([KEY.encode()]).mask_streamed(stream(EVENTS["chat"], *KEY))
    assert masked == stream(EVENTS["chat"], "***", *[""] * (len(KEY) - 1))


def test_a_value_behind_a_quote_that_is_said():
    said = ('say \\"sk-Planted', '-0123456789\\"')
    assert SecretValues([KEY.encode()]).mask_streamed(stream(EVENTS["chat"], *said)) == stream(
        EVENTS["chat"], 'say \\"***', '\\"'
    )


def test_a_stream_without_it_stays_as_it_is():
    data = stream(EVENTS["chat"], *"sk-Planted-012345678", "8")
    assert SecretValues([KEY.encode()]).mask_streamed(data) is data
