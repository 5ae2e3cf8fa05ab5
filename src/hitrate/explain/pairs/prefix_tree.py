"""Which earlier prompt agrees longest with a new one: a radix tree over the digests of prompt parts.

A conversation that only grows is one edge, however many calls it has, so a look-up costs about as many steps as there
are places where prompts part, and the long front that calls share is compared as slices. A call is kept as its node
and its number of parts; its digests are read back from the tree.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple


class _Node:
    """Parts `start` to `end` of all prompts that pass through here.

    `latest` is the newest answered call among them, -1 where there is none. It reaches `end`: a call that stops or
    turns off earlier splits the node first. Calls that were not answered change no `latest` and split only to turn off.
    """

    __slots__ = ("children", "edge", "latest", "parent", "start")

    def __init__(self, parent: _Node | None, start: int, edge: list[int], latest: int) -> None:
        self.parent = parent
        self.start = start
        self.edge = edge
        self.latest = latest
        self.children: dict[int, _Node] | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.edge)


class Walk(NamedTuple):
    """How far a prompt is known: its first `depth` parts, along `path`, whose last node it may share in part only."""

    digests: list[int]
    path: list[_Node]
    depth: int
    best: tuple[int, int] | None
    """The newest of the answered calls that agree longest with the prompt, and how many parts they share."""


class PrefixTree:
    """Calls are numbered from 0 in the order in which they are inserted."""

    def __init__(self) -> None:
        self._root = _Node(None, 0, [], -1)
        self._nodes: list[_Node] = []
        self._depths = array("I")

    def __len__(self) -> int:
        return len(self._nodes)

    def depth_of(self, call: int) -> int:
        """Parts of that call's prompt."""
        return self._depths[call]

    def walk(self, digests: list[int]) -> Walk:
        """Changes nothing. Valid until the next `insert` or `extend`."""
        node, path, depth, total = self._root, [], 0, len(digests)
        while depth < total and node.children is not None:
            child = node.children.get(digests[depth])
            if child is None:
                break
            path.append(child)
            edge = child.edge
            if digests[depth : depth + len(edge)] != edge:
                depth += common_front(edge, digests[depth : depth + len(edge)])
                break
            depth += len(edge)
            node = child
        for node in reversed(path):
            if node.latest >= 0:
                return Walk(digests, path, depth, (node.latest, min(depth, node.end)))
        return Walk(digests, path, depth, None)

    def is_front(self, call: int, walk: Walk) -> bool:
        """Whether that call's whole prompt stands in front of the walked one or equals it."""
        depth = self._depths[call]
        return depth <= walk.depth and (depth == 0 or self._node_of(call) in walk.path)

    def insert(self, walk: Walk, answered: bool) -> int:
        """Add the walked prompt as the next call and return its number. Changes `path`: the walk is used up."""
        call = len(self._nodes)
        digests, path, depth, _ = walk
        node = path[-1] if path else self._root
        more = depth < len(digests)
        if depth < node.end and (more or answered):
            node = path[-1] = self._split(node, depth)
        if answered:
            for passed in path:
                passed.latest = call
        if more:
            rest = digests[depth:]
            if answered and node.children is None and node is not self._root:
                node.edge.extend(rest)
            else:
                child = _Node(node, depth, rest, call if answered else -1)
                if node.children is None:
                    node.children = {}
                node.children[rest[0]] = child
                node = child
        self._nodes.append(node)
        self._depths.append(len(digests))
        return call

    def extend(self, call: int, digests: list[int]) -> int | None:
        """Add, as the next call, an answered one: the prompt of the call with further parts behind it. Returns its
        number; None, with nothing changed, where something was sent behind that prompt, or an answered call since has
        sent it again."""
        nodes, depths = self._nodes, self._depths
        node, depth, number = nodes[call], depths[call], len(nodes)
        edge = node.edge
        if node.children is not None or node.latest != call or node.start + len(edge) != depth:
            return None
        edge += digests
        nodes.append(node)
        depths.append(depth + len(digests))
        passed: _Node | None = node
        while passed is not None:  # up to the root, of which no one asks for the latest
            passed.latest = number
            passed = passed.parent
        return number

    def digests_of(self, call: int) -> list[int]:
        node: _Node | None = self._node_of(call)
        edges = []
        while node is not None:
            edges.append(node.edge)
            node = node.parent
        digests = [digest for edge in reversed(edges) for digest in edge]
        del digests[self._depths[call] :]
        return digests

    def _node_of(self, call: int) -> _Node:
        """The node in which a call ends; splits may have moved it into a parent of the one noted."""
        node, depth = self._nodes[call], self._depths[call]
        while node.parent is not None and node.start >= depth:
            node = node.parent
        return node

    def _split(self, node: _Node, depth: int) -> _Node:
        """Cut a node in two at `depth` and return the new upper half. The lower half keeps its identity."""
        parent, cut = node.parent, depth - node.start
        upper = _Node(parent, node.start, node.edge[:cut], node.latest)
        assert parent is not None and parent.children is not None
        parent.children[node.edge[0]] = upper
        node.parent, node.start, node.edge = upper, depth, node.edge[cut:]
        upper.children = {node.edge[0]: node}
        return upper

    def check_integrity(self) -> None:
        """Raise AssertionError, with what is wrong, unless links, edges and latest calls agree."""
        nodes = [self._root]
        for node in nodes:
            for first, child in (node.children or {}).items():
                assert child.parent is node, f"the node at part {child.start} names another parent"
                assert child.edge and child.edge[0] == first, f"an edge at part {child.start} has a wrong first part"
                assert child.start == node.end, f"a node starts at part {child.start}, its parent ends at {node.end}"
                assert node is self._root or child.latest <= node.latest, f"a call at part {child.start} is not above"
                nodes.append(child)
        known = {id(node) for node in nodes}
        for call in range(len(self)):
            node = self._node_of(call)
            assert id(node) in known, f"call {call} ends outside the tree"
            assert self._depths[call] <= node.end, f"call {call} has more parts than its path"
        for node in nodes[1:]:
            assert node.latest < 0 or self._depths[node.latest] >= node.end, f"call {node.latest} ends before its node"


def common_front(one: list[int], other: list[int]) -> int:
    """How many leading digests two lists have in common."""
    for position, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return position
    return min(len(one), len(other))
