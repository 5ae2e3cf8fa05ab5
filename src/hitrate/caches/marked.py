"""Explicit breakpoints with a look-back: a request reads and writes only where the caller marked a block.

This is Anthropic's rule (https://platform.claude.com/docs/en/build-with-claude/prompt-caching), also that of Claude on
Bedrock and, with other numbers, of the explicit caches of DashScope and MiniMax:

- a mark writes one entry, the prefix that ends with its block; no mark, no write and no read
- each mark looks at its own block and back, block by block, at `look_back` blocks in all; the longest find is served
- a read starts an entry's lifetime anew, counted from the start of the request that read or wrote it
- an entry is readable from the first token of the reply that wrote it, so calls sent at once all miss and all write
- written tokens reach from the hit to the last mark; where lifetimes differ, each counts from the mark before it

Anthropic does not say whether a read of a long prefix also renews the shorter ones in it. Here every entry that one of
the request's marks finds is renewed.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.caches.breakpoints import BreakpointCache, BreakpointLease, Mark, Plan, block_ends, marked_ends
from hitrate.errors import UsageError

FIVE_MINUTES_S = 300.0
ONE_HOUR_S = 3600.0


class MarkedCache(BreakpointCache):
    """`ttls_s` are the lifetimes a mark may ask for, the first one being the default.

    `refuses_more_marks` False: of more than `most_marks` marks the last ones count, instead of an error.
    `writes_every_block`: a mark also makes every block before it an entry. `readable_at_end`: entries appear, and their
    lifetime starts, when the reply has ended.
    """

    def __init__(
        self,
        minimum_tokens: int = 1024,
        look_back: int = 20,
        ttls_s: Sequence[float] = (FIVE_MINUTES_S, ONE_HOUR_S),
        *,
        most_marks: int = 4,
        refuses_more_marks: bool = True,
        writes_every_block: bool = False,
        readable_at_end: bool = False,
    ) -> None:
        if look_back < 1:
            raise ValueError(f"look_back is {look_back}, it has to be at least 1: the marked block itself")
        if not ttls_s:
            raise ValueError("ttls_s is empty, it has to name at least one lifetime")
        self.look_back = look_back
        self.ttls_s = tuple(ttls_s)
        self.most_marks = most_marks
        self.refuses_more_marks = refuses_more_marks
        self.writes_every_block = writes_every_block
        super().__init__(minimum_tokens, readable_at_end)

    def peek(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        boundaries: Sequence[int] | None = None,
        marks: Sequence[Mark] = (),
    ) -> int:
        """Raises what `begin` raises."""
        return self._peek(tokens, self._plan(len(tokens), boundaries, marks), now, namespace)

    def begin(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        boundaries: Sequence[int] | None = None,
        marks: Sequence[Mark] = (),
    ) -> BreakpointLease:
        """`boundaries` are the token positions at which content blocks end, ascending; None: the prompt is one block.

        A run of blocks that the vendor counts as one (Anthropic's own API: neighbouring `tool_use`, or `tool_result`,
        blocks) is given by its end only. A marker for the whole request is a mark on the last block.
        Renews the entries found. Raises UsageError for what the API answers with status 400: too many marks, a longer
        lifetime behind a shorter one, a lifetime that it does not have.
        """
        return self._begin(tokens, self._plan(len(tokens), boundaries, marks), now, namespace)

    def _plan(self, prompt_tokens: int, boundaries: Sequence[int] | None, marks: Sequence[Mark]) -> Plan:
        ends = block_ends(prompt_tokens, boundaries)
        places = marked_ends(ends, marks, self.ttls_s, self.ttls_s[0])
        if len(places) > self.most_marks:
            if self.refuses_more_marks:
                raise UsageError(f"at most {self.most_marks} blocks may be marked for caching, found {len(places)}")
            places = dict(list(places.items())[-self.most_marks :])
        lifetimes = list(places.values())
        if lifetimes != sorted(lifetimes, reverse=True):
            raise UsageError("a marker with a longer lifetime may not come after one with a shorter lifetime")
        index_of = {end: index for index, end in enumerate(ends)}
        lookups = []
        writes: dict[int, float] = {}
        written_to = 0
        for place, ttl_s in places.items():
            index = index_of[place]
            lookups.append(ends[max(0, index + 1 - self.look_back) : index + 1][::-1])
            first = written_to if self.writes_every_block else index
            writes.update(dict.fromkeys(ends[first : index + 1], ttl_s))
            written_to = index + 1
        return Plan(lookups, writes)
