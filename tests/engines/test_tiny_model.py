from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import jinja2
import pytest

from hitrate.engines import gguf
from hitrate.engines.tiny_model import MODEL_SHA256, chat_template, tiny_model_bytes, tiny_model_path
from hitrate.errors import UsageError

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"n": 1}}}
TOOL = {"type": "function", "function": {"name": "look"}}

CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": " Where?\n"},
    {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL, CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "here\n"},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "ab"},
    {"role": "assistant", "content": " There."},
    {"role": "user", "content": ""},
]


@pytest.fixture(scope="module")
def model() -> bytes:
    return tiny_model_bytes()


def test_the_bytes_are_the_same_everywhere(model: bytes):
    assert hashlib.sha256(model).hexdigest() == "46a7c17b37a86a23ae40bd176397bdd2fa8be81be5f84aa744b113aad7061359"
    assert MODEL_SHA256 == "46a7c17b37a86a23ae40bd176397bdd2fa8be81be5f84aa744b113aad7061359"
    assert len(model) == 7_742_624


def test_the_file_is_written_once_and_mended_when_it_was_damaged(tmp_path: Path, model: bytes):
    path = tiny_model_path(tmp_path / "new")
    written = path.stat().st_mtime_ns
    assert path.read_bytes() == model
    assert tiny_model_path(tmp_path / "new").stat().st_mtime_ns == written
    path.write_bytes(model[:-1])
    assert tiny_model_path(tmp_path / "new").read_bytes() == model
    assert [entry.name for entry in path.parent.iterdir()] == ["hitrate-tiny-46a7c17b37a8.gguf"]


def test_a_folder_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError) as caught:
        tiny_model_path(tmp_path / "file" / "cache")
    assert caught.value.message == (
        f"the tiny model cannot be written to {tmp_path}/file/cache: Not a directory; free it or set XDG_CACHE_HOME"
    )


def test_the_header(tmp_path: Path):
    summary = gguf.read_summary(tiny_model_path(tmp_path))
    assert (summary.architecture, summary.context_length, summary.tensors) == ("llama", 32768, 3 + 4 * 9)
    assert summary.metadata["llama.embedding_length"] == 128
    assert summary.metadata["llama.block_count"] == 4
    assert summary.metadata["tokenizer.ggml.pre"] == "smollm"
    assert summary.metadata["tokenizer.chat_template"] == chat_template()


def render(messages: list[dict], tools: list[dict] | None = None, *, prompt: bool = False) -> str:
    return jinja2.Template(chat_template(), keep_trailing_newline=True).render(
        messages=messages, tools=tools, add_generation_prompt=prompt
    )


def test_what_a_conversation_with_tools_is_rendered_to():
    assert render(CONVERSATION, [TOOL, TOOL], prompt=True) == (
        "<|im_start|>system\nBe brief.\n\nThese tools can be called, one JSON definition a line:\n<tools>\n"
        '{"function": {"name": "look"}, "type": "function"}\n{"function": {"name": "look"}, "type": "function"}\n'
        "</tools>\nTo call one, write its name and arguments as JSON:\n"
        '<tool_call>\n{"name": "...", "arguments": {...}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n Where?\n<|im_end|>\n"
        '<|im_start|>assistant\n Let me look.\n<tool_call>\n{"name": "look", "arguments": {"n": 1}}\n</tool_call>\n'
        '<tool_call>\n{"name": "look", "arguments": {"n": 1}}\n</tool_call><|im_end|>\n'
        "<|im_start|>tool\n<tool_response>\nhere\n\n</tool_response><|im_end|>\n"
        "<|im_start|>tool\n<tool_response>\n\n</tool_response><|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "look", "arguments": {"n": 1}}\n</tool_call><|im_end|>\n'
        "<|im_start|>tool\n<tool_response>\nab\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n There.<|im_end|>\n"
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("tools", [None, [TOOL]])
def test_a_conversation_that_grows_keeps_its_prefix(tools: list[dict] | None):
    renderings = [render(CONVERSATION[:length], tools) for length in range(1, len(CONVERSATION) + 1)]
    for shorter, longer in itertools.pairwise(renderings):
        assert longer.startswith(shorter) and longer != shorter


@pytest.mark.parametrize(
    ("messages", "tools", "expected"),
    [
        ([{"role": "user", "content": "a"}], None, "<|im_start|>user\na<|im_end|>\n"),
        ([], None, ""),
        (
            [{"role": "user", "content": "a"}, {"role": "system", "content": "late"}],
            None,
            "<|im_start|>user\na<|im_end|>\n<|im_start|>system\nlate<|im_end|>\n",
        ),
        ([{"role": "developer", "content": "d"}], None, "<|im_start|>developer\nd<|im_end|>\n"),
    ],
)
def test_odd_conversations(messages: list[dict], tools: list[dict] | None, expected: str):
    assert render(messages, tools) == expected
