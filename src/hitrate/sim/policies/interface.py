"""What a policy over blocks is given beyond `hitrate.sim.routing.interface`, and has to answer.

A router learns of its own choices alone, unless its docstring says that engines tell it what they hold. So whatever it
keeps it notes in `choose`, and never looks at a replica's cache.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Protocol


class BlockRequest:
    """A request as its router sees it."""

    __slots__ = ("asked", "at_s", "block_tokens", "input_tokens", "number", "output_tokens", "session")

    def __init__(
        self,
        number: int,
        asked: array[int],
        input_tokens: int,
        block_tokens: int,
        *,
        at_s: float = 0.0,
        output_tokens: int = -1,
        session: int = -1,
    ) -> None:
        self.number = number
        """Its place in the trace, from 0."""
        self.asked = asked
        """Its blocks; equal ids are equal text behind equal text."""
        self.input_tokens = input_tokens
        self.block_tokens = block_tokens
        self.at_s = at_s
        """NaN where the trace has no times."""
        self.output_tokens = output_tokens
        """`UNKNOWN` where the trace does not say."""
        self.session = session
        """`UNKNOWN` where the trace knows of none."""

    @property
    def affinity(self) -> str | None:
        """The session's key, as a client would send it."""
        return None if self.session < 0 else str(self.session)

    def blocks_of(self, tokens: int) -> int:
        """How many of its blocks so many tokens are: at least one, where a router counts in smaller steps."""
        return max(1, tokens // self.block_tokens)


class ReplicaView(Protocol):
    """All that a policy may look at in a replica. Looking changes nothing."""

    @property
    def load(self) -> int:
        """Requests in flight. Where requests are replayed one after another none ever is: then `backlog`."""
        ...

    @property
    def in_flight(self) -> int:
        """Requests routed here that have not ended; always 0 where they are replayed one after another."""
        ...

    @property
    def prefill_tokens(self) -> int:
        """Of the requests in flight, what is to be computed until their first tokens; 0 as above."""
        ...

    @property
    def backlog(self) -> int:
        """`prefill_tokens`; where requests are replayed one after another, the tokens computed here so far."""
        ...

    @property
    def held_blocks(self) -> int:
        """Blocks of the requests in flight, each counted once; 0 as above."""
        ...

    def held_with(self, request: BlockRequest) -> int:
        """`held_blocks` if it got this request too."""
        ...

    @property
    def capacity(self) -> int | None:
        """Blocks of its cache."""
        ...

    def peek(self, request: BlockRequest) -> int:
        """Tokens of the request that this replica would serve from cache now."""
        ...


class BlockPolicy(Protocol):
    """Each module defines its policy as `POLICY`, a class made with `seed` and its own settings as keywords.

    Equal seed and equal calls give equal choices. `reset` brings back the state after construction.
    """

    def choose(self, request: BlockRequest, replicas: Sequence[ReplicaView]) -> int:
        """The index of the replica that gets the request. May change the policy's own state, never a replica's."""
        ...

    def reset(self) -> None: ...
