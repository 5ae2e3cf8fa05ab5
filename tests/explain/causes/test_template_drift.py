from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, recognised

DRIFT = "template-drift"
CHATML = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nDim it.<|im_end|>\n<|im_start|>assistant\n"
LLAMA = "<|start_header_id|>user<|end_header_id|>\n\nDim it.<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
MISTRAL = "<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT]"
GEMMA = "<start_of_turn>user\nDim it.<end_of_turn>\n<start_of_turn>model\n"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (CHATML + "<think>\n\n</think>\n\n", CHATML + "It is dim.<|im_end|>\n"),
        (CHATML + "<think>\n", CHATML + "It is dim.<|im_end|>\n"),
        (CHATML + "<think>\nI dim it.\n</think>\n\nDone.<|im_end|>\n", CHATML + "Done.<|im_end|>\n<|im_start|>user\n"),
        (GEMMA + "<|channel>thought\n<channel|>", GEMMA + "It is dim.<end_of_turn>\n"),
        ("<|start|>assistant<|channel|>analysis<|message|>I dim", "<|start|>assistant<|channel|>final<|message|>Dim"),
        (
            MISTRAL + '[AVAILABLE_TOOLS][{"a":1}][/AVAILABLE_TOOLS][INST]Dim it.[/INST]',
            MISTRAL + "[INST]Dim it.[/INST] Done.</s>",
        ),
        (LLAMA + "<tool_call>", LLAMA + "It is dim.<|eot_id|>"),
        (
            "<|im_start|>system\nCutting Knowledge Date: 2023\nToday Date: 26 Jul<|im_end|>",
            "<|im_start|>system\nCutting Knowledge Date: 2023\nToday Date: next<|im_end|>",
        ),
        (
            "<|im_start|>user\nDim it.<|im_end|>\n<|im_start|>assistant",
            "<|im_start|>user\nDim it. <|im_end|>\n<|im_start|>assistant\nIt",
        ),
    ],
)
def test_what_a_template_adds(was, now):
    assert named(was, now, kind="user", pointer="/prompt") == DRIFT


@pytest.mark.parametrize(
    ("was", "now", "pointer", "name"),
    [
        (CHATML.replace("Dim", "Raise"), CHATML, "/prompt", "prompt-changed"),
        (
            "<|im_start|>system\nIt is 09:13:53.<|im_end|>",
            "<|im_start|>system\nIt is 09:14:07.<|im_end|>",
            "/prompt",
            "clock-in-prefix",
        ),
        (
            "<|im_start|>system\nid: a8f3c2d1e9<|im_end|>",
            "<|im_start|>system\nid: b7e4d3c2f8<|im_end|>",
            "/prompt",
            "nonce-in-prefix",
        ),
        ("<think>a</think>Yes.", "Yes.", "/messages/2/content", "reasoning-not-replayed"),
        ("Once upon a time", "Once in a while", "/prompt", "prompt-changed"),
    ],
)
def test_what_it_does_not_add(was, now, pointer, name):
    assert named(was, now, kind="assistant" if "messages" in pointer else "user", pointer=pointer) == name


def test_what_it_says():
    found = divergence(CHATML + "<think>\n\n</think>\n\n", CHATML + "Done.<|im_end|>", kind="user", pointer="/prompt")
    _, said = recognised(evidence(found))
    assert said.confidence == "certain"
    assert said.summary == (
        "The template prints a think block at one time and not at another in the rendered prompt (/prompt, character "
        "96): "
        '"<think>\\n\\n</think>\\n\\n" became "Done.<|im_end|>".'
    )
