"""Servers that imitate a vendor, asked by that vendor's own client."""

from __future__ import annotations

import anthropic
import botocore.session
import openai
import pytest
from botocore.exceptions import ClientError
from google import genai
from practice_fakes import FAST, options_as, serving_options, words

TOOL = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def server(name, **given):
    """The root address of a server as `name`."""
    return serving_options(options_as(name, port=0, **FAST, **given))


def root(base_url):
    return "/".join(base_url.split("/")[:3])


@pytest.fixture(scope="module")
def claude():
    with (
        server("anthropic") as base_url,
        anthropic.Anthropic(base_url=root(base_url), api_key="any", max_retries=0) as client,
    ):
        yield client


def system(start, **marker):
    return [{"type": "text", "text": words(2000, start), "cache_control": {"type": "ephemeral", **marker}}]


def ask_claude(client, question="hi", **how):
    return client.messages.create(
        model="claude-sonnet-5",
        **{"max_tokens": 20, "messages": [{"role": "user", "content": question}], **how},
    )


def counts(usage):
    split = usage.cache_creation
    return (
        usage.input_tokens,
        usage.cache_read_input_tokens,
        split.ephemeral_5m_input_tokens,
        split.ephemeral_1h_input_tokens,
        usage.output_tokens,
    )


def test_claude_writes_at_a_marker_and_reads_it_with_another_question(claude):
    # Behind the system prompt: its end, the question of one token between its marks, the opening of the answer.
    assert counts(ask_claude(claude, "first", system=system(0)).usage) == (5, 0, 2001, 0, 20)
    assert counts(ask_claude(claude, "second", system=system(0)).usage) == (5, 2001, 0, 0, 20)
    assert counts(ask_claude(claude, "third", system=system(5000, ttl="1h")).usage) == (5, 0, 0, 2001, 20)
    unmarked = ask_claude(claude, "fourth", system=words(2000)).usage
    assert counts(unmarked) == (2006, 0, 0, 0, 20)


def test_claude_streams_what_its_body_says(claude):
    with claude.messages.stream(
        model="claude-sonnet-5", max_tokens=20, messages=[{"role": "user", "content": "stream"}]
    ) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_message()
    whole = ask_claude(claude, "stream")
    assert (streamed.content[0].text, streamed.stop_reason) == (whole.content[0].text, "max_tokens")
    assert counts(streamed.usage) == counts(whole.usage)
    assert [kind for kind in kinds if kind not in ("text", "content_block_delta")] == [
        "message_start",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_claude_calls_tools_streamed_and_not(claude):
    asked = {
        "model": "claude-sonnet-5",
        "max_tokens": 50,
        "tools": [{"name": "find", "input_schema": TOOL}],
        "tool_choice": {"type": "tool", "name": "find"},
        "messages": [{"role": "user", "content": "where?"}],
    }
    with claude.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    for message in (claude.messages.create(**asked), streamed):
        [block] = message.content
        assert (block.name, block.input, message.stop_reason) == ("find", {"id": "practice"}, "tool_use")


def test_claude_refuses_as_its_client_expects(claude):
    marked = [{"type": "text", "text": f"part {number}", "cache_control": {"type": "ephemeral"}} for number in range(5)]
    for fault, error, says in (
        ({"model": "claude-9"}, anthropic.NotFoundError, "'claude-9' does not exist"),
        ({"system": marked}, anthropic.BadRequestError, "at most 4 blocks may be marked for caching, found 5"),
        (
            {"system": system(0, ttl="2h")},
            anthropic.BadRequestError,
            "the lifetime '2h' is not known; known: '5m', '1h'",
        ),
        ({"tool_choice": {"type": "any"}}, anthropic.BadRequestError, "there are no tools"),
    ):
        with pytest.raises(error, match=says):
            claude.messages.create(
                **{"model": "claude-sonnet-5", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], **fault}
            )
    assert [model.id for model in claude.models.list()] == ["claude-sonnet-5"]


def test_a_key_and_a_rate_limit_of_claude():
    with server("anthropic", api_key="right", rpm_limit=1) as base_url:
        for key, error in (
            ("wrong", anthropic.AuthenticationError),
            ("right", None),
            ("right", anthropic.RateLimitError),
        ):
            with anthropic.Anthropic(base_url=root(base_url), api_key=key, max_retries=0) as client:
                if error is None:
                    assert ask_claude(client).usage.output_tokens == 20
                else:
                    with pytest.raises(error):
                        ask_claude(client)


def test_claude_thinks_in_a_block_of_its_own():
    from hitrate.serve.practice.faults import parse_fault

    with (
        server("anthropic", faults=(parse_fault("reasoning-first:tokens=4"),)) as base_url,
        anthropic.Anthropic(base_url=root(base_url), api_key="any", max_retries=0) as client,
    ):
        asked = {"model": "claude-sonnet-5", "max_tokens": 20, "messages": [{"role": "user", "content": "think"}]}
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
        thinking, text = client.messages.create(**asked).content
        assert [block.to_dict() for block in streamed.content] == [thinking.to_dict(), text.to_dict()]
        assert (len(thinking.thinking.split()), len(text.text.split())) == (4, 16)


@pytest.fixture(scope="module")
def gpt():
    with server("openai") as base_url, openai.OpenAI(base_url=base_url, api_key="any", max_retries=0) as client:
        yield client


def response_counts(usage):
    details = usage.input_tokens_details
    return usage.input_tokens, details.cached_tokens, details.cache_write_tokens, usage.output_tokens


def test_gpt_reads_the_end_of_an_earlier_message_exactly(gpt):
    history = [{"role": "user", "content": words(2000, 100)}]
    asked = {"model": "gpt-5.6-luna", "max_output_tokens": 20, "instructions": "be brief"}
    first = gpt.responses.create(input=history, **asked)
    # Written is up to the end of the last message; behind it stand its end and the opening of the answer.
    assert response_counts(first.usage) == (2007, 0, 2005, 20)
    history += [*(item.to_dict() for item in first.output), {"role": "user", "content": "go on"}]
    second = gpt.responses.create(input=history, **asked)
    total, cached, written, _ = response_counts(second.usage)
    assert (cached, written) == (2005, total - 2 - 2005)
    split = second.usage.input_tokens_details.cache_write_tokens_details
    assert (split.ttl_30m_tokens, split.ttl_12h_tokens) == (written, 0)
    changed = [{"role": "user", "content": "12:01 " + words(2000, 100)}]
    assert response_counts(gpt.responses.create(input=changed, **asked).usage)[1] == 0


def test_gpt_streams_what_its_body_says(gpt):
    asked = {"model": "gpt-5.6-luna", "input": "hello"}
    with gpt.responses.stream(**asked) as stream:
        numbers = [event.sequence_number for event in stream]
        streamed = stream.get_final_response()
    whole = gpt.responses.create(**asked)
    assert (streamed.output_text, streamed.status) == (whole.output_text, "completed")
    assert [item.id for item in streamed.output] == [item.id for item in whole.output]
    assert response_counts(streamed.usage) == response_counts(whole.usage)
    assert numbers == list(range(len(numbers)))


def test_gpt_calls_functions_streamed_and_not(gpt):
    tool = {"type": "function", "name": "find", "parameters": TOOL, "strict": False}
    asked = {"model": "gpt-5.6-luna", "input": "where?", "tools": [tool], "tool_choice": "required"}
    with gpt.responses.stream(**asked) as stream:
        streamed = stream.get_final_response()
    for response in (gpt.responses.create(**asked), streamed):
        [call] = response.output
        assert (call.type, call.name, call.arguments) == ("function_call", "find", '{"id": "practice"}')


def test_gpt_refuses_as_its_client_expects(gpt):
    for fault, error, code in (
        ({"model": "gpt"}, openai.NotFoundError, "model_not_found"),
        ({"previous_response_id": "resp_1"}, openai.BadRequestError, "previous_response_not_found"),
        ({"temperature": 0}, openai.BadRequestError, "unsupported_value"),
    ):
        with pytest.raises(error) as caught:
            gpt.responses.create(**{"model": "gpt-5.6-luna", "input": "x", **fault})
        assert caught.value.code == code
    with pytest.raises(openai.BadRequestError, match="max_completion_tokens"):
        gpt.chat.completions.create(model="gpt-5.6-luna", max_tokens=5, messages=[{"role": "user", "content": "x"}])


def test_chat_with_a_key_kept_apart_by_an_isolation_key():
    with (
        server("fireworks") as base_url,
        openai.OpenAI(base_url=base_url, api_key="any", max_retries=0) as client,
    ):
        assert base_url.endswith("/inference/v1")
        model = client.models.list().data[0].id

        def ask(**extra):
            raw = client.chat.completions.with_raw_response.create(
                model=model, max_tokens=5, messages=[{"role": "user", "content": words(200)}], extra_body=extra
            )
            return raw.headers["fireworks-cached-prompt-tokens"], raw.parse().usage.prompt_tokens_details.cached_tokens

        assert [ask(), ask(), ask(prompt_cache_isolation_key="run 1")] == [("0", 0), ("192", 192), ("0", 0)]


@pytest.fixture(scope="module")
def gemini():
    with server("gemini") as base_url:
        options = genai.types.HttpOptions(base_url=root(base_url))
        yield genai.Client(api_key="any", http_options=options)


GEMINI = "gemini-3-flash-preview"


def test_gemini_streams_what_its_body_says(gemini):
    whole = gemini.models.generate_content(model=GEMINI, contents="hello")
    chunks = list(gemini.models.generate_content_stream(model=GEMINI, contents="hello"))
    assert "".join(chunk.text for chunk in chunks) == whole.text
    assert len(whole.text.split()) == whole.usage_metadata.candidates_token_count == 32
    assert chunks[-1].usage_metadata == whole.usage_metadata
    assert whole.usage_metadata.cached_content_token_count is None
    assert chunks[-1].candidates[0].finish_reason == whole.candidates[0].finish_reason == "STOP"


def test_gemini_calls_functions(gemini):
    types = genai.types
    function = types.FunctionDeclaration(
        name="find",
        parameters=types.Schema(type="OBJECT", properties={"id": types.Schema(type="STRING")}, required=["id"]),
    )
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[function])],
        tool_config=types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY")),
    )
    whole = gemini.models.generate_content(model=GEMINI, contents="where?", config=config)
    chunks = list(gemini.models.generate_content_stream(model=GEMINI, contents="where?", config=config))
    for reply in (whole, chunks[-1]):
        [call] = reply.function_calls
        assert (call.name, call.args) == ("find", {"id": "practice"})


def test_gemini_serves_a_named_object_whole_until_it_is_deleted(gemini):
    types = genai.types
    made = gemini.caches.create(
        model=GEMINI,
        config=types.CreateCachedContentConfig(
            system_instruction=words(1500), contents=words(500), ttl="60s", display_name="opening"
        ),
    )
    stored = made.usage_metadata.total_token_count
    assert stored == 2004
    config = types.GenerateContentConfig(cached_content=made.name)
    for question in ("one", "two"):
        usage = gemini.models.generate_content(model=GEMINI, contents=question, config=config).usage_metadata
        assert (usage.prompt_token_count, usage.cached_content_token_count) == (stored + 4, stored)
    assert gemini.caches.get(name=made.name).display_name == "opening"
    longer = gemini.caches.update(name=made.name, config=types.UpdateCachedContentConfig(ttl="600s"))
    assert 500 < (longer.expire_time - longer.update_time).total_seconds() <= 600
    assert [one.name for one in gemini.caches.list()] == [made.name]
    gemini.caches.delete(name=made.name)
    with pytest.raises(genai.errors.ClientError, match="no cached content"):
        gemini.models.generate_content(model=GEMINI, contents="three", config=config)


def test_gemini_refuses_as_its_client_expects(gemini):
    with pytest.raises(genai.errors.ClientError) as missing:
        gemini.models.generate_content(model="gemini-0", contents="x")
    assert (missing.value.code, missing.value.status) == (404, "NOT_FOUND")
    with pytest.raises(genai.errors.ClientError, match="too small: it has to have 1024"):
        gemini.caches.create(model=GEMINI, config=genai.types.CreateCachedContentConfig(contents="short"))


@pytest.fixture(scope="module")
def bedrock():
    with server("bedrock") as base_url:
        yield botocore.session.get_session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=base_url,
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )


BEDROCK = "global.anthropic.claude-sonnet-5-v1:0"


def converse(question, start=0):
    return {
        "modelId": BEDROCK,
        "system": [{"text": words(2000, start)}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        "messages": [{"role": "user", "content": [{"text": question}]}],
        "inferenceConfig": {"maxTokens": 20},
    }


def test_bedrock_writes_at_a_cache_point_and_reads_it_with_another_question(bedrock):
    first = bedrock.converse(**converse("first"))["usage"]
    assert first == {
        "inputTokens": 5,
        "outputTokens": 20,
        "totalTokens": 2026,
        "cacheReadInputTokens": 0,
        "cacheWriteInputTokens": 2001,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 2001}],
    }
    second = bedrock.converse(**converse("second"))["usage"]
    assert (second["cacheReadInputTokens"], second["cacheWriteInputTokens"]) == (2001, 0)


def test_bedrock_streams_what_its_body_says(bedrock):
    bedrock.converse(**converse("stream", 9000))
    whole = bedrock.converse(**converse("stream", 9000))
    events = list(bedrock.converse_stream(**converse("stream", 9000))["stream"])
    texts = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
    assert "".join(texts) == whole["output"]["message"]["content"][0]["text"]
    assert len(texts) == 20
    assert events[0] == {"messageStart": {"role": "assistant"}}
    assert events[-2] == {"messageStop": {"stopReason": "max_tokens"}}
    assert events[-1]["metadata"]["usage"] == whole["usage"]


def test_bedrock_calls_tools_streamed_and_not(bedrock):
    asked = {
        **converse("where?"),
        "inferenceConfig": {"maxTokens": 50},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "find", "inputSchema": {"json": TOOL}}}],
            "toolChoice": {"any": {}},
        },
    }
    [block] = bedrock.converse(**asked)["output"]["message"]["content"]
    assert (block["toolUse"]["name"], block["toolUse"]["input"]) == ("find", {"id": "practice"})
    events = list(bedrock.converse_stream(**asked)["stream"])
    pieces = [
        event["contentBlockDelta"]["delta"]["toolUse"]["input"] for event in events if "contentBlockDelta" in event
    ]
    assert "".join(pieces) == '{"id": "practice"}'
    [start] = [event["contentBlockStart"]["start"]["toolUse"] for event in events if "contentBlockStart" in event]
    assert start == {name: block["toolUse"][name] for name in ("toolUseId", "name")}


def test_bedrock_refuses_as_its_client_expects(bedrock):
    points = [part for number in range(5) for part in ({"text": f"part {number}"}, {"cachePoint": {"type": "default"}})]
    for fault, code in (
        ({"modelId": "claude"}, "ResourceNotFoundException"),
        ({"system": points}, "ValidationException"),
    ):
        with pytest.raises(ClientError) as caught:
            bedrock.converse(**{**converse("x"), **fault})
        assert caught.value.response["Error"]["Code"] == code


def test_an_error_within_a_bedrock_stream():
    from botocore.exceptions import EventStreamError

    from hitrate.serve.practice.faults import parse_fault

    with server("bedrock", faults=(parse_fault("error-after-200:after=2"),)) as base_url:
        client = botocore.session.get_session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=base_url,
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        with pytest.raises(EventStreamError, match="the engine broke off"):
            list(client.converse_stream(**converse("x"))["stream"])
