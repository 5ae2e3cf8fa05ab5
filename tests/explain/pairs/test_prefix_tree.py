from hypothesis import given
from hypothesis import strategies as st

from hitrate.explain.pairs.prefix_tree import PrefixTree, common_front


def parts(text: str) -> list[bytes]:
    return [letter.encode() for letter in text]


def tree_of(*prompts: str) -> PrefixTree:
    """A tree of these prompts, one letter a part; a leading "!" marks a call that was not answered."""
    tree = PrefixTree()
    for prompt in prompts:
        tree.insert(tree.walk(parts(prompt.removeprefix("!"))), answered=not prompt.startswith("!"))
        tree.check_integrity()
    return tree


def best(tree: PrefixTree, prompt: str) -> tuple[int, int] | None:
    return tree.walk(parts(prompt)).best


def test_the_longest_agreement_wins_and_of_equals_the_newest():
    tree = tree_of("abc", "abd", "ab", "xy")
    assert best(tree, "abcd") == (0, 3)
    assert best(tree, "abe") == (2, 2)
    assert best(tree, "xyz") == (3, 2)
    assert best(tree, "q") is None
    assert best(tree, "") is None


def test_a_growing_conversation_is_read_back_call_by_call():
    tree = tree_of("ab", "abcd", "abcdef", "abcd", "abx")
    assert [tree.digests_of(call) for call in range(5)] == list(map(parts, ("ab", "abcd", "abcdef", "abcd", "abx")))


def test_a_call_that_was_not_answered_serves_nobody():
    tree = tree_of("ab", "!abcd")
    assert best(tree, "abcd") == (0, 2)
    assert best(tree_of("!ab"), "ab") is None
    assert best(tree_of("!abcd", "ab"), "abcde") == (1, 2)


def test_front_means_the_whole_earlier_prompt():
    tree = tree_of("abc", "abcde", "abx", "!ab")
    walk = tree.walk(parts("abcd"))
    assert [tree.is_front(call, walk) for call in range(4)] == [True, False, False, True]


def test_an_empty_prompt_is_a_prompt():
    tree = tree_of("", "a", "")
    assert tree.digests_of(2) == []
    assert best(tree, "a") == (1, 1)


PROMPTS = st.lists(st.tuples(st.text("abc", max_size=8), st.booleans()), max_size=24)


@given(PROMPTS)
def test_against_every_earlier_prompt_compared_one_by_one(calls):
    tree = PrefixTree()
    for number, (prompt, answered) in enumerate(calls):
        digests = parts(prompt)
        walk = tree.walk(digests)
        earlier = [(common_front(digests, parts(text)), call) for call, (text, ok) in enumerate(calls[:number]) if ok]
        shared, call = max(earlier, default=(0, 0))
        assert walk.best == ((call, shared) if shared else None)
        for before, (text, _) in enumerate(calls[:number]):
            assert tree.is_front(before, walk) == prompt.startswith(text)
        tree.insert(walk, answered)
        tree.check_integrity()
    for number, (prompt, _) in enumerate(calls):
        assert tree.digests_of(number) == parts(prompt)
