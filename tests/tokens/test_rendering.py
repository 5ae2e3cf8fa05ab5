import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.prompt import CanonicalPrompt, Segment
from hitrate.tokens.rendering import FIRST_RESERVED_ID, prompt_tokens

TOOLS, SCHEMA, SYSTEM, USER, ASSISTANT, TOOL = range(FIRST_RESERVED_ID, FIRST_RESERVED_ID + 6)
END, NEXT, IMAGE = range(FIRST_RESERVED_ID + 32, FIRST_RESERVED_ID + 35)


class Letters:
    """One token a character."""

    name = "letters"
    exact = False

    def encode(self, text):
        return [ord(character) for character in text]


def prompt(*segments):
    return CanonicalPrompt(tuple(Segment(kind, pointer, 0, 0, text) for kind, pointer, text in segments))


@pytest.mark.parametrize(
    ("segments", "tokens"),
    [
        ([], [ASSISTANT]),
        ([("user", "/messages/0/content", "ab")], [USER, 97, 98, END, ASSISTANT]),
        ([("user", "/messages/0/content/0/text", "ab")], [USER, 97, 98, END, ASSISTANT]),
        ([("assistant", "/messages/0", "")], [ASSISTANT, END, ASSISTANT]),
        (
            [("user", "/messages/0/content", "a"), ("user", "/messages/1/content", "b")],
            [USER, 97, END, USER, 98, END, ASSISTANT],
        ),
        (
            [("tools", "/tools/0", "a"), ("tools", "/tools/1", "b"), ("system", "/messages/0/content", "c")],
            [TOOLS, 97, NEXT, 98, END, SYSTEM, 99, END, ASSISTANT],
        ),
        (
            [("image", "/messages/0/content/0/image_url", "a"), ("tool", "/messages/0/content/1/text", "b")],
            [TOOL, IMAGE, 97, NEXT, 98, END, ASSISTANT],
        ),
        ([("image", "/messages/0/content/0/image_url", "a")], [USER, IMAGE, 97, END, ASSISTANT]),
        (
            [("assistant", "/messages/0/content", ""), ("assistant", "/messages/0/tool_calls/0/function", "b")],
            [ASSISTANT, 98, END, ASSISTANT],
        ),
        (
            [("schema", "/response_format/json_schema", "a"), ("system", "/system/0/text", "b")],
            [SCHEMA, 97, END, SYSTEM, 98, END, ASSISTANT],
        ),
    ],
)
def test_prompt_tokens(segments, tokens):
    assert prompt_tokens(prompt(*segments), Letters()) == tokens


messages = st.lists(
    st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.lists(st.text(max_size=4), min_size=1)),
    max_size=5,
)


def segments_of(conversation):
    return [
        (kind, f"/messages/{number}/content/{part}/text", text)
        for number, (kind, texts) in enumerate(conversation)
        for part, text in enumerate(texts)
    ]


@given(conversation=messages, appended=messages)
def test_an_appended_message_leaves_the_earlier_tokens_a_prefix(conversation, appended):
    before = prompt_tokens(prompt(*segments_of(conversation)), Letters())
    after = prompt_tokens(prompt(*segments_of(conversation + appended)), Letters())
    kept = before[:-1]
    assert after[: len(kept)] == kept
    if appended and appended[0][0] == "assistant":
        assert after[: len(before)] == before


@given(one=messages, other=messages)
def test_different_prompts_have_different_tokens_but_for_empty_texts(one, other):
    tokens = [prompt_tokens(prompt(*segments_of(conversation)), Letters()) for conversation in (one, other)]
    said = [[(kind, [text for text in texts if text]) for kind, texts in conversation] for conversation in (one, other)]
    assert (tokens[0] == tokens[1]) == (said[0] == said[1])
