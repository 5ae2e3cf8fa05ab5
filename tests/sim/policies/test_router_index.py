"""What a router remembers of its choices."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from hitrate.sim.policies.router_index import RouterIndex, bits


def index_of(*sent: tuple[int, list[int]], leaves_first: bool = True, replicas: int = 3) -> RouterIndex:
    index = RouterIndex(replicas, leaves_first=leaves_first)
    for replica, asked in sent:
        index.insert(replica, array("q", asked))
    index.check_integrity()
    return index


def test_who_has_what() -> None:
    index = index_of((1, [1, 2, 3]), (0, [1, 2, 4]), (2, [9]))

    assert index.matched([1, 2, 3, 8]) == (3, 0b010)
    assert index.matched([1, 2, 8]) == (2, 0b011)
    assert index.matched([7]) == (0, 0)
    assert index.leading([1, 2, 3]) == [2, 3, 0]
    assert index.first_holder[1] == 1
    assert index.sizes() == [3, 3, 1]


def test_counts_go_on_where_another_has_the_block() -> None:
    index = index_of((0, [1, 2, 3]), (1, [2, 3]))

    assert index.counts([1, 2, 3, 4]) == [3, 2, 0]
    assert index.leading([1, 2, 3, 4]) == [3, 0, 0]


def test_a_tree_loses_its_leaves_first_a_table_its_oldest_entries() -> None:
    sent = ((0, [1, 2, 3]), (0, [1, 5]))
    tree, table = index_of(*sent), index_of(*sent, leaves_first=False)
    for index in (tree, table):
        index.trim(0, 3)
        index.check_integrity()

    assert [block for block in (1, 2, 3, 5) if tree.holders(block)] == [1, 2, 5]
    assert [block for block in (1, 2, 3, 5) if table.holders(block)] == [1, 3, 5]


def test_the_next_holder_is_first_when_the_first_has_lost_it() -> None:
    index = index_of((2, [1]), (1, [1]))
    index.trim(2, 0)

    assert index.first_holder == {1: 1}
    assert index.holders(1) == 0b010


@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 9), max_size=5, unique=True), st.integers(0, 6))))
def test_it_stays_whole(sent: list[tuple[int, list[int], int]]) -> None:
    index = RouterIndex(3, leaves_first=False)
    for replica, asked, capacity in sent:
        index.insert(replica, array("q", asked))
        index.trim(replica, capacity)
        index.check_integrity()
        assert len(index.leading(asked)) == 3 and index.sizes()[replica] <= capacity


def test_bits() -> None:
    assert [bits(mask) for mask in (0, 1, 0b1010)] == [[], [0], [1, 3]]
