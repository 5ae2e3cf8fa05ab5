from __future__ import annotations

import pytest

from hitrate.tokens import vllm
from hitrate.tokens.server import EngineServer


@pytest.fixture
def asked(monkeypatch):
    """What was asked, in place of a server."""
    questions = []

    def ask(self, method, path, members=None):
        questions.append((method, path, members))
        return {"tokens": [1, 2], "count": 2}

    monkeypatch.setattr(EngineServer, "ask", ask)
    return questions


def test_of_a_chat_body_goes_what_the_template_sees(asked):
    body = {
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "function"}],
        "stream": True, "max_tokens": 5, "cache_salt": "s", "tool_choice": "auto", "chat_template": None,
    }  # fmt: skip
    assert vllm.prompt_token_ids("http://x/v1", body) == [1, 2]
    wanted = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "function"}]}
    assert asked == [("POST", "/tokenize", wanted)]


@pytest.mark.parametrize(
    ("members", "arguments"),
    [
        ({"reasoning_effort": "none"}, {"reasoning_effort": "none", "enable_thinking": False}),
        (
            {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}},
            {"reasoning_effort": "low", "enable_thinking": False},
        ),
        ({"documents": [{"text": "d"}]}, {"documents": [{"text": "d"}]}),
        ({"chat_template_kwargs": {"a": 1}}, {"a": 1}),
    ],
)
def test_members_that_a_chat_passes_on_to_the_template(asked, members, arguments):
    vllm.prompt_token_ids("http://x/v1", {"model": "m", "messages": [], **members})
    assert asked[0][2] == {"model": "m", "messages": [], "chat_template_kwargs": arguments}


def test_a_text_that_goes_on_has_no_begin_token(asked):
    assert vllm.text_token_ids("http://x/v1", "text", model="m") == [1, 2]
    assert asked == [("POST", "/tokenize", {"model": "m", "prompt": "text", "add_special_tokens": False})]


def line(engine, size="16", blocks="101", layout='a "quoted" {brace}'):
    layout = layout.replace('"', '\\"')
    labels = f'block_size="{size}",engine="{engine}",kv_cache_layout="{layout}",num_gpu_blocks="{blocks}"'
    return f"vllm:cache_config_info{{{labels}}} 1.0\n"


@pytest.mark.parametrize(
    ("metrics", "settings"),
    [
        (line(0), {"block_size": 16, "capacity_blocks": 100}),
        (line(0) + line(1), {"block_size": 16}),
        (line(0) + line(1, size="32"), {}),
        (line(0, size="None", blocks="None"), {}),
        (line(0, blocks="None"), {"block_size": 16}),
        (line(0, blocks="1"), {"block_size": 16}),
        ("# TYPE vllm:cache_config_info gauge\nvllm:num_requests_running 0.0\n", {}),
        ("", {}),
        ("<html>", {}),
    ],
)
def test_what_metrics_tell_of_the_blocks(metrics, settings):
    assert vllm.read_block_settings(metrics) == settings
