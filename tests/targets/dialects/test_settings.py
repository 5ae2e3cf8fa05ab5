from __future__ import annotations

import pytest

from hitrate.core.prompt import Setting
from hitrate.targets.dialects.settings import header_settings, settings_of

KEY, OTHER, NEITHER = "key", "other", "neither"


@pytest.mark.parametrize(
    ("dialect", "member", "value", "kind", "settings"),
    [
        ("openai-chat", "model", "m", KEY, {"/model": '"m"'}),
        ("bedrock-converse", "modelId", "m", KEY, {"/modelId": '"m"'}),
        ("openai-chat", "cache_salt", "s", KEY, {"/cache_salt": '"s"'}),
        ("openai-responses", "reasoning", {"effort": "low", "summary": "auto"}, KEY, {"/reasoning/effort": '"low"'}),
        ("openai-chat", "reasoning_effort", "low", KEY, {"/reasoning_effort": '"low"'}),
        ("openai-chat", "reasoning_effort", None, NEITHER, {}),
        ("openai-chat", "chat_template_kwargs", {"a": {"b": 1}}, KEY, {"/chat_template_kwargs/a/b": "1"}),
        ("openai-chat", "lora_request", {"lora_name": "x"}, KEY, {"/lora_request/lora_name": '"x"'}),
        ("openai-chat", "service_tier", "flex", KEY, {"/service_tier": '"flex"'}),
        ("anthropic-messages", "service_tier", "auto", OTHER, {"/service_tier": '"auto"'}),
        ("openai-chat", "tool_choice", "none", NEITHER, {}),
        ("anthropic-messages", "tool_choice", {"type": "any"}, KEY, {"/tool_choice/type": '"any"'}),
        ("bedrock-converse", "toolConfig", {"tools": [1], "toolChoice": {"any": {}}}, KEY,
            {"/toolConfig/toolChoice/any": "{}"}),
        ("anthropic-messages", "thinking", {"type": "enabled", "budget_tokens": 5}, KEY,
            {"/thinking/budget_tokens": "5", "/thinking/type": '"enabled"'}),
        ("anthropic-messages", "output_config", {"effort": "low", "format": {"schema": {}}}, KEY,
            {"/output_config/effort": '"low"'}),
        ("anthropic-messages", "cache_control", {"type": "ephemeral", "ttl": "1h"}, NEITHER, {}),
        ("openai-chat", "response_format", {"type": "json_object"}, KEY, {"/response_format/type": '"json_object"'}),
        ("openai-chat", "response_format", {"type": "json_schema", "json_schema": {"a": 1}}, NEITHER, {}),
        ("openai-responses", "text", {"verbosity": "low", "format": {"type": "text"}}, KEY,
            {"/text/format/type": '"text"', "/text/verbosity": '"low"'}),
        ("openai-responses", "text", {"format": {"type": "json_schema", "schema": {}}}, NEITHER, {}),
        ("openai-responses", "prompt", {"id": "p", "variables": {"a": "b"}}, KEY,
            {"/prompt/id": '"p"', "/prompt/variables/a": '"b"'}),
        ("gemini-generate", "generationConfig", {"temperature": 1, "thinkingConfig": {"thinkingBudget": 0}}, KEY,
            {"/generationConfig/thinkingConfig/thinkingBudget": "0"}),
        ("gemini-generate", "generationConfig", {"responseSchema": {"a": 1}, "maxOutputTokens": 5}, NEITHER, {}),
        ("gemini-generate", "generationConfig", {"mediaResolution": "LOW"}, OTHER,
            {"/generationConfig/mediaResolution": '"LOW"'}),
        ("gemini-generate", "cachedContent", "c", KEY, {"/cachedContent": '"c"'}),
        ("openai-chat", "temperature", 0.7, NEITHER, {}),
        ("openai-chat", "metadata", {"trace": "1"}, NEITHER, {}),
        ("openai-chat", "prompt_cache_key", "c", NEITHER, {}),
        ("openai-chat", "stream_options", {"include_usage": True}, NEITHER, {}),
        ("openai-chat", "provider", {"order": ["a"]}, OTHER, {"/provider/order": '["a"]'}),
        ("openai-chat", "a/b", {"c": []}, OTHER, {"/a~1b/c": "[]"}),
        ("llamacpp-completion", "prompt", "text", NEITHER, {}),
        ("llamacpp-completion", "lora", [{"id": 0, "scale": 1.0}], KEY, {"/lora/0/id": "0", "/lora/0/scale": "1.0"}),
        ("openai-chat", "plugins", [1, 2], OTHER, {"/plugins": "[1,2]"}),
    ],
)  # fmt: skip
def test_what_separates_cache_entries(dialect, member, value, kind, settings):
    key, others = settings_of({member: value}, dialect)
    expected = tuple(Setting(pointer, text) for pointer, text in settings.items())
    assert (key, others) == (expected if kind == KEY else (), expected if kind == OTHER else ())


def test_a_long_value_stands_as_its_hash():
    _, (other,) = settings_of({"shiny": "x" * 1000}, "openai-chat")
    assert other.value.startswith("sha256:")
    assert len(other.value) == 71


def test_headers():
    headers = {"anthropic-beta": "b", "anthropic-version": "1", "x-lora-adapter": "l", "x-request-id": "r"}
    assert [setting.pointer for setting in header_settings(headers)] == ["anthropic-beta:", "x-lora-adapter:"]
