from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.explain.visible import excerpt, visible

TABLE = [
    ("plain text", "plain text"),
    ("", ""),
    ("two\nlines\r\n", "two\\nlines\\r\\n"),
    ("a\tb", "a\\tb"),
    ("end  ", "end\\x20\\x20"),
    ("end \nnext", "end\\x20\\nnext"),
    ("in the  middle", "in the  middle"),
    ("no\u00a0break", "no\\xa0break"),
    ("thin\u2009space\u3000wide", "thin\\u2009space\\u3000wide"),
    ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
    ("soft\u00adhyphen", "soft\\xadhyphen"),
    ("\u202eevil\u202c", "\\u202eevil\\u202c"),
    ("\x1b[2Jclear", "\\x1b[2Jclear"),
    ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
    ("\ud83d alone", "\\ud83d alone"),
    ("p\u0430ypal", "p\\u0430ypal"),
    ("\u043f\u0440\u0438\u0432\u0435\u0442", "\u043f\u0440\u0438\u0432\u0435\u0442"),
    ("caf\u00e9 \u4f60\u597d \U0001f600", "caf\u00e9 \u4f60\u597d \U0001f600"),
    ("sign\ufe0f \u3164 \u2800", "sign\\ufe0f \\u3164 \\u2800"),
    ("\U000e0041 tag", "\\U000e0041 tag"),
    ("C:\\new", "C:\\\\new"),
    ("C:\\path", "C:\\path"),
]


@pytest.mark.parametrize(("text", "shown"), TABLE)
def test_what_cannot_be_seen_is_shown(text, shown):
    assert visible(text) == shown


def test_texts_that_differ_in_their_form_alone_are_told_apart():
    assert [visible(text, forms=True) for text in ("caf\u00e9", "cafe\u0301")] == ["caf\\xe9", "cafe\\u0301"]


def test_spaces_before_a_cut_are_not_the_end_of_a_line():
    assert visible("one  ", at_end=False) == "one  "


@pytest.mark.parametrize(
    ("text", "offset", "width", "shown"),
    [
        ("short", 2, 60, "short"),
        ("0123456789" * 3, 15, 9, "\u2026234567890\u2026"),
        ("0123456789", 0, 4, "0123\u2026"),
        ("0123456789", 10, 4, "\u20266789"),
        ("0123456789", 99, 4, "\u20266789"),
        ("a\nb", 1, 60, "a\\nb"),
    ],
)
def test_an_excerpt_lies_around_its_place(text, offset, width, shown):
    assert excerpt(text, offset, width) == shown


@given(
    st.text(
        st.sampled_from(
            ["a", " ", "\n", "\\", "n", "x", "u", "\u202e", "\x1b", "\ud800", "\u0430", "\u00a0", "0", "2", "e"]
        )
    )
)
def test_shown_text_is_printable_and_says_which_text_it_was(text):
    shown = visible(text)
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert unescaped(shown) == text


def unescaped(shown: str) -> str:
    """Read back as the escapes of a Python string; a backslash in front of anything else is one."""
    lengths = {"x": 2, "u": 4, "U": 8}
    text, place = "", 0
    while place < len(shown):
        following = shown[place + 1 : place + 2]
        if shown[place] != "\\" or following not in ("n", "r", "t", "x", "u", "U", "\\") or not following:
            text, place = text + shown[place], place + 1
        elif following in lengths:
            end = place + 2 + lengths[following]
            text, place = text + chr(int(shown[place + 2 : end], 16)), end
        else:
            text, place = text + {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}[following], place + 2
    return text
