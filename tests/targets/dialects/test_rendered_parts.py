from __future__ import annotations

import json

import pytest

from hitrate.targets.dialects import dialect
from hitrate.targets.dialects.rendered_parts import pieced
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
        (CHATML, [("system", 56), ("user", 35)]),
        (CHATML + "Hello<|im_end|>\n", [("system", 56), ("user", 35), ("assistant", 16)]),
        (LLAMA, [("user", 118)]),
        (
            "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo",
            [("user", 62), ("assistant", 2)],
        ),
        (
            "<s>[INST] Hi [/INST] Yo</s>[INST] More [/INST]",
            [("user", 20), ("assistant", 13), ("user", 13)],
        ),
        ("<｜begin▁of▁sentence｜>Be brief.<｜User｜>Hi<｜Assistant｜>", [("system", 38), ("user", 15)]),
        ("<|user|>\nHi<|end|>\n<|assistant|>\n", [("user", 33)]),
        ("<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Yo", [("system", 38), ("user", 10), ("assistant", 3)]),
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


@pytest.mark.parametrize(
    ("prompt", "segments"),
    [
        ("plain", [("user", "/prompt", "plain")]),
        (
            CHATML,
            [("system", "/prompt", CHATML[:56]), ("user", "/prompt", CHATML[56:])],
        ),
        (["a", "b", 1], [("user", "/prompt/0", "a"), ("user", "/prompt/1", "b"), ("user", "/prompt/2", "1 ")]),
        (
            {"prompt_string": CHATML[:60], "multimodal_data": ["aGk="]},
            [
                ("system", "/prompt/prompt_string", CHATML[:56]),
                ("user", "/prompt/prompt_string", CHATML[56:60]),
                ("image", "/prompt/multimodal_data/0", ""),
            ],
        ),
    ],
)
def test_a_prompt_in_pieces_shows_whose_turn_it_is(prompt, segments):
    whole = dialect("llamacpp-completion").canonical(json.dumps({"prompt": prompt}).encode())
    found = pieced(whole).segments
    assert [(one.kind, one.pointer, "" if one.kind == "image" else one.text) for one in found] == segments
    assert {(one.start, one.end) for one in found} == {(one.start, one.end) for one in whole.segments}
