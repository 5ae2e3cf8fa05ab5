"""What counts as a call of a model, by path and body."""

from __future__ import annotations

import pytest

from hitrate.record.endpoints import endpoint_of, wire_of

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GEMINI, BEDROCK, RENDERED = "gemini-generate", "bedrock-converse", "llamacpp-completion"
MESSAGE = {"messages": [{"role": "user", "content": "Hi"}]}


def found(path, body=None, method="POST"):
    endpoint = endpoint_of(method, path)
    return None if endpoint is None else (wire_of(endpoint, body), endpoint.model)


@pytest.mark.parametrize(
    ("path", "wire", "model"),
    [
        ("/v1/chat/completions", CHAT, None),
        ("/chat/completions?api-version=2024-10-21", CHAT, None),
        ("/openai/deployments/gpt-5/chat/completions?api-version=1", CHAT, None),
        ("/api/v1/chat/completions/", CHAT, None),
        ("/v1/responses", RESPONSES, None),
        ("/backend-api/codex/responses", RESPONSES, None),
        ("/v1/messages", MESSAGES, None),
        ("/v1/messages?beta=true", MESSAGES, None),
        ("/v1/completions", RENDERED, None),
        ("/completion", RENDERED, None),
        ("/v1beta/models/gemini-3-pro:generateContent", GEMINI, "gemini-3-pro"),
        ("/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", GEMINI, "gemini-3-pro"),
        ("/v1/projects/p/locations/l/publishers/google/models/g:generateContent", GEMINI, "g"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict", MESSAGES, "c"),
        ("/model/us.anthropic.claude-x-v1%3A0/converse-stream", BEDROCK, "us.anthropic.claude-x-v1:0"),
        ("/model/m/converse", BEDROCK, "m"),
    ],
)
def test_wires_by_path(path, wire, model):
    assert found(path) == (wire, model)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages/count_tokens?beta=true",
        "/v1/messages/batches",
        "/v1/embeddings",
        "/v1/moderations",
        "/v1/rerank",
        "/tokenize",
        "/v1/audio/speech",
        "/v1/files",
        "/v1/responses/resp_1/cancel",
        "/v1/responses/input_tokens",
        "/v1beta/models/g:countTokens",
        "/v1beta/models/g:embedContent",
        "/v1beta/cachedContents",
        "/apply-template",
    ],
)
def test_what_takes_a_prompt_and_is_no_call(path):
    assert found(path, {**MESSAGE, "input": "x"}) is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_other_methods(method):
    assert found("/v1/chat/completions", MESSAGE, method) is None


@pytest.mark.parametrize(
    ("path", "body", "wire"),
    [
        ("/my/gateway", MESSAGE, CHAT),
        ("/my/gateway", {**MESSAGE, "system": "s"}, MESSAGES),
        ("/my/gateway", {"contents": []}, GEMINI),
        ("/my/gateway", {"prompt": "Once"}, RENDERED),
        ("/my/gateway", {"input": "x"}, None),
        ("/my/gateway", {"query": "x"}, None),
        ("/my/gateway", None, None),
        ("/model/m/invoke", {**MESSAGE, "system": "s", "anthropic_version": "bedrock-2023-05-31"}, MESSAGES),
        ("/model/m/invoke-with-response-stream", {"inputText": "x"}, None),
    ],
)
def test_wires_by_body(path, body, wire):
    assert found(path, body)[0] == wire
