from __future__ import annotations

import pytest

from hitrate.logs.providers import model_of_url, target_of_provider, target_of_url, wire_of_url
from hitrate.targets.presets import all_names, load

SHARED = {"openai-responses": "openai", "gemini-openai": "gemini"}
"""Presets at the address of another."""


def test_the_hosts_are_those_of_the_presets():
    bases = {name: load(name).base_url for name in all_names()}
    hosted = {name: base for name, base in bases.items() if base is not None and base.startswith("https://")}
    found = {name: target_of_url(base) for name, base in hosted.items()}
    assert {name: target for name, target in found.items() if target} == {
        name: SHARED.get(name, name) for name in hosted if found[name]
    }
    assert sum(map(bool, found.values())) >= 20


@pytest.mark.parametrize(
    ("name", "target"),
    [("OPENAI", "openai"), ("AWS", "bedrock"), ("X", "xai"), ("vertex_ai", "gemini"), ("together-ai", "together"),
     ("google-ai-studio", "gemini"), ("CUSTOM", ""), ("openai_like", ""), ("groq", "groq"), (None, "")],
)  # fmt: skip
def test_providers(name, target):
    assert target_of_provider(name) == target
    assert target in ("", *all_names())


@pytest.mark.parametrize(
    ("url", "wire", "model"),
    [
        ("https://x/v1/chat/completions?a=1", "openai-chat", None),
        ("/v1/messages/", "anthropic-messages", None),
        ("https://x/v1/messages/count_tokens", None, None),
        ("https://x/v1/responses", "openai-responses", None),
        ("https://x/v1/responses/resp_1", None, None),
        ("https://x/v1beta/models/gemini-3-pro:generateContent", "gemini-generate", "gemini-3-pro"),
        ("https://x/model/anthropic.claude-v1%3A0/converse-stream", "bedrock-converse", "anthropic.claude-v1:0"),
        ("https://x/v1/completions", "llamacpp-completion", None),
        ("https://x/completion", "llamacpp-completion", None),
        ("https://x/v1/embeddings", None, None),
        ("https://[x/v1/messages", None, None),
        ("", None, None),
    ],
)
def test_wires_and_models(url, wire, model):
    assert (wire_of_url(url), model_of_url(url)) == (wire, model)
