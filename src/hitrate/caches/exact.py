"""Exact breakpoints: a prefix is reused only if it ends at a breakpoint, with no fall-back to a shorter unmarked one.

This is OpenAI's rule from GPT-5.6 on (https://developers.openai.com/api/docs/guides/prompt-caching, September 2026, and
`PromptCacheOptions` in the openai package 3.57):

- mode "implicit": the end of the latest message is a breakpoint of itself; with it the latest 3 marked ones are written
- mode "explicit": the latest 4 marked ones are written; with nothing marked the request uses no cache at all
- a request looks at its marks and, in implicit mode, at where its messages end, longest first; the boundary is not
  rounded. The number of places is limited: the reference says the latest 80 breakpoints, the guide 20 earlier messages
- writes are counted: from the hit to the last breakpoint written

The lifetime is a *minimum* that a write or a reuse starts anew; the service may keep an entry longer. When an entry
becomes readable is not documented; here at the first token of the reply that wrote it, as elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.caches.breakpoints import BreakpointCache, BreakpointLease, Mark, Plan, block_ends, marked_ends
from hitrate.errors import UsageError

THIRTY_MINUTES_S = 1800.0
TWELVE_HOURS_S = 43200.0
IMPLICIT, EXPLICIT = "implicit", "explicit"


class ExactCache(BreakpointCache):
    """`latest_breakpoints` limits the places looked at, `earlier_messages` those among them where messages before the
    latest one end (None: no limit of their own). `ttls_s`: lifetimes a request may ask for, the default first.
    """

    def __init__(
        self,
        minimum_tokens: int = 1024,
        latest_breakpoints: int = 80,
        earlier_messages: int | None = 20,
        ttls_s: Sequence[float] = (THIRTY_MINUTES_S, TWELVE_HOURS_S),
        *,
        most_writes: int = 4,
    ) -> None:
        if latest_breakpoints < 1 or most_writes < 1:
            raise ValueError("latest_breakpoints and most_writes have to be at least 1")
        if earlier_messages is not None and earlier_messages < 0:
            raise ValueError(f"earlier_messages is {earlier_messages}, it has to be at least 0")
        if not ttls_s:
            raise ValueError("ttls_s is empty, it has to name at least one lifetime")
        self.latest_breakpoints = latest_breakpoints
        self.earlier_messages = earlier_messages
        self.ttls_s = tuple(ttls_s)
        self.most_writes = most_writes
        super().__init__(minimum_tokens, readable_at_end=False)

    def peek(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        boundaries: Sequence[int] | None = None,
        marks: Sequence[Mark] = (),
        messages: Sequence[int] | None = None,
        mode: str = IMPLICIT,
        ttl_s: float | None = None,
    ) -> int:
        """Raises what `begin` raises."""
        return self._peek(tokens, self._plan(len(tokens), boundaries, marks, messages, mode, ttl_s), now, namespace)

    def begin(
        self,
        tokens: Sequence[int],
        *,
        now: float = 0.0,
        namespace: object = None,
        boundaries: Sequence[int] | None = None,
        marks: Sequence[Mark] = (),
        messages: Sequence[int] | None = None,
        mode: str = IMPLICIT,
        ttl_s: float | None = None,
    ) -> BreakpointLease:
        """`boundaries` are the token positions at which content blocks end, ascending; None: the prompt is one block.

        `messages` are the boundaries (indices, ascending) at which a message ends that implicit mode may use: a user
        message, the last of neighbouring tool results, the last of the opening developer messages. None: all of them.
        `ttl_s` is the request's lifetime, for the implicit breakpoint and for marks without their own.
        Renews the entry found. Raises UsageError for a mode or lifetime that the API does not have.
        """
        return self._begin(tokens, self._plan(len(tokens), boundaries, marks, messages, mode, ttl_s), now, namespace)

    def _plan(
        self,
        prompt_tokens: int,
        boundaries: Sequence[int] | None,
        marks: Sequence[Mark],
        messages: Sequence[int] | None,
        mode: str,
        ttl_s: float | None,
    ) -> Plan:
        if mode not in (IMPLICIT, EXPLICIT):
            raise UsageError(f"a prompt cache mode {mode!r}; known: {IMPLICIT}, {EXPLICIT}")
        ends = block_ends(prompt_tokens, boundaries)
        default_ttl_s = self.ttls_s[0] if ttl_s is None else ttl_s
        if default_ttl_s not in self.ttls_s:
            known = ", ".join(f"{each:g} s" for each in self.ttls_s)
            raise UsageError(f"a cache lifetime of {default_ttl_s:g} s; this rule has {known}")
        marked = marked_ends(ends, marks, self.ttls_s, default_ttl_s)
        if mode == EXPLICIT:
            return Plan([self._latest(marked)], dict(list(marked.items())[-self.most_writes :]))
        message_ends = self._message_ends(ends, messages)
        slots = self.most_writes - len(message_ends[-1:])
        writes = dict(list(marked.items())[len(marked) - min(slots, len(marked)) :])
        for implicit in message_ends[-1:]:
            writes.setdefault(implicit, default_ttl_s)
        return Plan([self._latest({*marked, *message_ends})], writes)

    def _message_ends(self, ends: Sequence[int], messages: Sequence[int] | None) -> list[int]:
        if messages is None:
            messages = range(len(ends))
        elif any(not 0 <= index < len(ends) for index in messages) or list(messages) != sorted(set(messages)):
            raise ValueError(f"messages have to ascend from 0 to below {len(ends)}: {list(messages)[:10]}")
        message_ends = [ends[index] for index in messages]
        return message_ends if self.earlier_messages is None else message_ends[-1 - self.earlier_messages :]

    def _latest(self, places: Sequence[int] | set[int] | dict[int, float]) -> list[int]:
        """The places looked at, longest first."""
        return sorted(places, reverse=True)[: self.latest_breakpoints]
