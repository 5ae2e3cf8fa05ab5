from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

PRUNED = "tool-output-pruned"
LONG = "F    tests/test_tide.py::test_neap AssertionError: 3.14 != 3.1\n" * 30


@pytest.mark.parametrize(
    ("now", "confidence"),
    [
        ("[result removed to save room]", "certain"),
        ("[Old tool result content cleared]", "certain"),
        ("[Ergebnis entfernt]", "certain"),
        ("[résultat tronqué]", "certain"),
        ("[resultado omitido]", "certain"),
        ("[結果は省略されました]", "certain"),
        ("[结果已清除]", "certain"),
        ("[результат удалён]", "certain"),
        (LONG[:200] + "\n[truncated, 1,690 characters]", "certain"),
        (LONG[:200], "likely"),
        ("ok", "likely"),
        ("", "likely"),
    ],
)
def test_an_old_result(now, confidence):
    name, said = recognised(evidence(divergence(LONG, now, kind="tool", pointer="/messages/3/content")))
    assert (name, said.confidence) == (PRUNED, confidence)


@pytest.mark.parametrize(
    ("was", "now", "kind", "name"),
    [
        ("ok", LONG, "tool", "history-edited"),
        ("exit 0", "exit 1", "tool", "counter-in-prefix"),
        ("two tests failed", "one test failed", "tool", "history-edited"),
        ("done at 09:13:53", "done at 09:14:07", "tool", "clock-in-prefix"),
        ("ok\n", "ok", "tool", "text-form-changed"),
        ("Write this file: " + LONG, "[file content removed]", "assistant", PRUNED),
        ("My question is long. " * 20, "[message truncated]", "user", PRUNED),
        ("My question is long. " * 20, "My question.", "user", "history-edited"),
        ("Removed nothing yet.", "Removed two files.", "assistant", "history-edited"),
    ],
)
def test_other_texts(was, now, kind, name):
    assert named(was, now, kind=kind, pointer="/messages/3/content") == name


def test_a_block_of_the_result_became_a_pointer():
    found = place(
        "/messages/3/content/0/content/0",
        "block type",
        kind="tool",
        was="type search_result",
        now="type text",
        value_now='{"type":"text","text":"[stored in /tmp/1]"}',
    )
    assert recognised(evidence(found))[0] == PRUNED


def test_smaller_but_dearer():
    found = evidence(
        divergence(LONG, "[result removed]", kind="tool", pointer="/messages/3/content"),
        before={"characters": 9000},
        call={"characters": 7000},
        lost_tokens=1800,
    )
    assert recognised(found)[1].summary == (
        'An earlier tool result (/messages/3/content, character 0) was replaced by "[result removed]"; the prompt got '
        "2,000 characters smaller, and 1,800 tokens were read anew for it."
    )
