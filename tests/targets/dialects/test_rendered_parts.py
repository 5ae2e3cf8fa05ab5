from __future__ import annotations

import json

import pytest

from hitrate.targets.dialects.sketch import Sketcher

CHATML = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
LLAMA = (
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n"
)


def parts(prompt, name="llamacpp-completion", member="prompt"):
    return Sketcher().sketch(json.dumps({"model": "m", member: prompt}).encode(), name).parts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (CHATML, [("system", 19), ("system", 37), ("user", 35)]),
        (CHATML + "Hello<|im_end|>\n", [("system", 19), ("system", 37), ("user", 35), ("assistant", 16)]),
        (LLAMA, [("user", 59), ("user", 59)]),
        (
            "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo",
            [("user", 25), ("user", 37), ("assistant", 2)],
        ),
        (
            "<s>[INST] Hi [/INST] Yo</s>[INST] More [/INST]",
            [("user", 9), ("user", 11), ("assistant", 13), ("user", 13)],
        ),
        ("<｜begin▁of▁sentence｜>Be brief.<｜User｜>Hi<｜Assistant｜>", [("user", 38), ("user", 15)]),
        ("<|user|>\nHi<|end|>\n<|assistant|>\n", [("user", 9), ("user", 24)]),
        ("", []),
        ("x" * 1100, [("user", 512), ("user", 512), ("user", 76)]),
    ],
)
def test_text_is_cut_at_the_turns_of_its_template(text, found):
    assert [(part.kind, part.characters) for part in parts(text)] == found


@pytest.mark.parametrize("prompt", [CHATML, LLAMA])
def test_the_next_turn_has_all_parts_of_the_one_before(prompt):
    before, after = parts(prompt), parts(prompt + "Hello. And further on it goes.")
    assert after[: len(before)] == before


@pytest.mark.parametrize(
    ("name", "member"),
    [("tokens", "prompt_token_ids"), ("llamacpp-completion", "prompt"), ("llama.cpp-completion", "prompt_token_ids")],
)
def test_token_ids_are_cut_into_pieces_of_64(name, member):
    before, after = parts(list(range(100, 230)), name, member), parts(list(range(100, 300)), name, member)
    assert [part.characters for part in before] == [256, 256, 8]
    assert [part.characters for part in after] == [256, 256, 256, 32]
    assert before[:2] == after[:2]


def test_pictures_are_parts():
    found = parts({"prompt_string": "a <__media__> b", "multimodal_data": ["aGk=", "aGo="]})
    assert [part.kind for part in found] == ["user", "image", "image"]
    assert found[1].digest != found[2].digest
