from __future__ import annotations

import pytest
from breaks import divergence, evidence, named, place, recognised

EDITED = "history-edited"


@pytest.mark.parametrize(
    ("was", "now", "kind", "pointer"),
    [
        ("The rose is red.", "The rose is white.", "user", "/messages/1/content"),
        ("Ich komme morgen.", "Ich komme heute Abend.", "assistant", "/messages/2/content"),
        ("Je viens demain.", "Je ne viens pas.", "assistant", "/contents/1/parts/0/text"),
        ("明日行きます。", "今夜行きます。", "assistant", "/input/1/content/0/text"),
        ("我明天来。", "我今晚来。", "user", "/messages/1/content/0/text"),
        ('{"lane":"A"}', '{"lane":"B"}', "assistant", "/messages/2/tool_calls/0/function/arguments"),
        ("two tests failed", "one test failed", "tool", "/messages/3/content"),
        ("search", "find", "assistant", "/messages/2/tool_calls/0/function/name"),
    ],
)
def test_another_text(was, now, kind, pointer):
    name, said = recognised(evidence(divergence(was, now, kind=kind, pointer=pointer)))
    assert (name, said.confidence) == (EDITED, "certain")


@pytest.mark.parametrize(
    ("pointer", "change", "words"),
    [
        ("/messages/9/content", "messages dropped", "2 messages were dropped"),
        ("/messages/3/role", "role", 'was sent as "user" and is now sent as "tool"'),
        ("/messages/2", "member added", 'gained the member "name"'),
        ("/messages/2/content/0", "block type", 'was of type "tool_use" and is now of type "text"'),
    ],
)
def test_other_changes(pointer, change, words):
    name, said = recognised(evidence(place(pointer, change, kind="assistant", names=("name",), words=words)))
    assert name == EDITED
    assert said.summary.endswith(f"is not as it was sent before: {words}.")


@pytest.mark.parametrize(
    ("was", "now", "kind", "pointer", "name"),
    [
        ("a ", "a", "user", "/messages/1/content", "text-form-changed"),
        ("At 09:13:53.", "At 09:14:07.", "user", "/messages/1/content", "clock-in-prefix"),
        ("The rose is red.", "The rose is white.", "system", "/messages/0/content", "system-text-changed"),
        ("The rose is red.", "The rose is white.", "user", "/prompt", "prompt-changed"),
    ],
)
def test_what_has_a_name_of_its_own(was, now, kind, pointer, name):
    assert named(was, now, kind=kind, pointer=pointer) == name


@pytest.mark.parametrize("change", ["messages dropped", "messages inserted", "list order", "role"])
def test_numbers_of_two_different_messages_are_not_compared(change):
    found = divergence("Question 3", "Question 4", kind="user", pointer="/messages/9/content", change=change)
    assert recognised(evidence(found))[0] in (EDITED, "block-not-persisted", "order-not-kept")
