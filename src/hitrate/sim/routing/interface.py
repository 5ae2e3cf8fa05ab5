"""What a routing policy is given and has to answer. One file a policy beside this one, named as on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol


class RoutingRequest(NamedTuple):
    """A request as its router sees it. `affinity` is the session's key, None when the client sent none.

    `keywords` are what the replica's cache model takes beside tokens, time and namespace: marks and boundaries, the
    name of an object, a slot.
    """

    tokens: Sequence[int] = ()
    affinity: str | None = None
    namespace: object = None
    keywords: Mapping[str, Any] = MappingProxyType({})


class ReplicaView(Protocol):
    """All that a policy may look at in a replica. Looking changes nothing."""

    @property
    def load(self) -> int:
        """Requests routed here that have not ended."""
        ...

    def peek(self, request: RoutingRequest) -> int:
        """Tokens of the request that this replica would serve from cache now."""
        ...


class RoutingPolicy(Protocol):
    """Each module defines its policy as `POLICY`, a class made with `seed` and its own settings as keywords.

    Equal seed and equal calls give equal choices. `reset` brings back the state after construction.
    """

    def choose(self, request: RoutingRequest, replicas: Sequence[ReplicaView]) -> int:
        """The index of the replica that gets the request. May change the policy's own state, never a replica's."""
        ...

    def reset(self) -> None: ...
