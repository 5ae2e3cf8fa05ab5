"""The newest call with a message, told by owners, is the one that a plain dict has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hitrate.explain.pairs.newest_with import NewestWith, Owner

MESSAGES = st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b"e"]), max_size=5)


@given(st.lists(st.tuples(st.integers(0, 3), MESSAGES), max_size=12))
def test_owners_against_a_dict(steps):
    newest = NewestWith()
    plain: dict[bytes, int] = {}
    running: dict[int, tuple[Owner, list[bytes]]] = {}
    for call, (conversation, messages) in enumerate(steps):
        owner, before = running.get(conversation, (None, []))
        new = [message for message in messages if newest(message) is None]
        prompt = [*before, *new] if owner is not None else messages
        if owner is None or not newest.go_on(owner, call, new):
            owner = newest.note(prompt, call)
        running[conversation] = (owner, prompt)
        plain.update(dict.fromkeys(prompt, call))
        newest.check_integrity()
        assert dict(newest) == plain
        assert [newest(message) for message in (b"a", b"b", b"z")] == [plain.get(one) for one in (b"a", b"b", b"z")]


def test_going_on_is_refused_where_another_call_has_one_of_the_messages():
    newest = NewestWith()
    owner = newest.note([b"a", b"b"], 0)
    assert newest.go_on(owner, 1, [b"c"])
    newest.note([b"b"], 2)
    assert not newest.go_on(owner, 3, [b"d"])
    assert dict(newest) == {b"a": 1, b"b": 2, b"c": 1}
