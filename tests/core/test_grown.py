from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core.grown import Grown


@pytest.mark.parametrize(
    ("later", "found"),
    [
        (b'[1, "a", 2]', b"[ 2]"),
        (b'[1, "a" ,2,{"b": 3}]', b'[2,{"b": 3}]'),
        (b'[1, "a"]', b"[]"),
        (b'[1, "a" ]', b"[]"),
        (b'[1, "a", ]', None),
        (b'[1, "a",]', None),
        (b'[1, "a",\t \n]', None),
        (b'[1, "a"\n,\t2 \n]', b"[\t2]"),
        (b'[1, "a"}', None),
        (b'[1, "a", 2}', None),
        (b'[1, "ab"]', None),
        (b'[1,"a", 2]', None),
        (b"[1]", None),
        (b"[]", None),
    ],
)
def test_what_is_new_in_an_array(later, found):
    grown: Grown[str] = Grown()
    grown.keep(b'x[1, "a"]', 1, 9, "value")
    assert grown.find(b"--" + later, 2, 2 + len(later)) == (None if found is None else ("value", found))


@pytest.mark.parametrize(
    ("later", "found"),
    [
        (b'{"n": 1, "m": [1, "a", 2], "z": 3}', b"[ 2]"),
        (b'{"n": 1, "m": [1, "a" , 2 ,3], "z": 3}', b"[ 2 ,3]"),
        (b'{"n": 1, "m": [1, "a"], "z": 3}', b"[]"),
        (b'{"n": 1, "m": [1, "a" ], "z": 3}', b"[]"),
        (b'{"n": 1, "m": [1, "a", ], "z": 3}', None),
        (b'{"n": 1, "m": [1, "a",], "z": 3}', None),
        (b'{"n": 1, "m": [1, "a", "z": 3}', None),
        (b'{"n": 1, "m": [1, "a"] , "z": 3}', None),
        (b'{"n": 1, "m": [1, "a" 2], "z": 3}', None),
        (b'{"n": 1, "m": [1, "a"\x0b, 2], "z": 3}', None),
        (b'{"n": 2, "m": [1, "a", 2], "z": 3}', None),
        (b'{"n": 1, "m": [1, "a", 2], "z": 4}', None),
        (b'{"n": 1, "m": [1, "a", 2], "z": [], "z": 3}', b'[ 2], "z": []'),
        (b'{"n": 1, "m": [1, "ab"], "z": 3}', None),
        (b'{"n": 1, "m": [1, "a"', None),
    ],
)
def test_what_is_new_in_a_text_that_is_the_same_around_its_array(later, found):
    """What is given as new need not be an array: that shows when it is decoded."""
    front = b" " * 128  # texts are found by how they begin
    grown: Grown[str] = Grown()
    first = front + b'{"n": 1, "m": [1, "a"], "z": 3}'
    grown.keep(first, first.index(b"["), first.index(b"]") + 1, "value")
    assert grown.find_whole(front + later) == (None if found is None else ("value", found))


@given(st.data())
def test_a_text_goes_on_from_what_it_went_on_to(data):
    """An array below `_START` bytes becomes one that is found by its start, too."""
    grown: Grown[int] = Grown()
    front, elements = b'{"%s": 1, "m": [' % (b"x" * 120), [b"0"]
    text = front + b"0], 5]}"
    grown.keep(text, len(front) - 1, len(front) + 2, 0)
    for number in range(1, 5):
        elements += data.draw(st.lists(st.sampled_from([b"1", b'"ab"', b"[2, 3]", b'{"c": "]"}']), max_size=30))
        text = front + b", ".join(elements) + data.draw(st.sampled_from([b"", b" "])) + b"], 5]}"
        found = grown.find_whole(text)
        assert found is not None and found[0] == number - 1
        grown.go_on(text, number)
        end = len(text) - len(b", 5]}")
        assert grown.find(text, len(front) - 1, end) == (number, b"[]")


def test_one_number_is_not_the_start_of_another():
    grown: Grown[str] = Grown()
    grown.keep(b"[1]", 0, 3, "value")
    assert grown.find(b"[12]", 0, 4) is None


VALUES = st.lists(st.sampled_from([1, 12, "a", 'b",', [], [1], {"c": "]"}, None]), max_size=6)


@given(st.lists(VALUES, min_size=1, max_size=6))
def test_what_was_there_and_what_is_new_are_the_whole(arrays):
    grown: Grown[list] = Grown(most=3)
    for array in arrays:
        data = json.dumps(array).encode()
        found = grown.find(data, 0, len(data))
        if found is not None:
            assert found[0] + json.loads(found[1]) == array
        if array:
            grown.keep(data, 0, len(data), array)


def test_number_and_bytes_are_bounded():
    grown: Grown[int] = Grown(most=2, most_bytes=20)
    for number, data in enumerate([b"[1]", b"[2]", b"[3]"]):
        grown.keep(data, 0, 3, number)
    assert [grown.find(data, 0, 3) for data in (b"[1]", b"[2]", b"[3]")] == [None, (1, b"[]"), (2, b"[]")]
    assert grown.find(b"[4]", 0, 3) is None
    grown.keep(b"[" + b"4" * 17 + b"]", 0, 19, 3)
    assert grown.find(b"[2]", 0, 3) is None
    grown.keep(b"[" + b"5" * 30 + b"]", 0, 32, 4)
    assert grown.find(b"[" + b"5" * 30 + b"]", 0, 32) is None
