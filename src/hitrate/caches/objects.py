"""Named objects: the caller stores a prefix under a name, pays for keeping it, and names it in later requests.

This is the rule of Gemini's CachedContent (https://ai.google.dev/gemini-api/docs/caching): an object has a lifetime
fixed when it is made or updated, no use renews it, and storage is billed by tokens and time until it expires or is
deleted. A request that names an object is served all of it; one that names none is served nothing here, because the
vendor's implicit cache follows rules that it does not publish.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.caches.interface import Lease
from hitrate.errors import UsageError

ONE_HOUR_S = 3600.0


class _Object:
    __slots__ = ("created_at", "expires_at", "tokens")

    def __init__(self, tokens: tuple[int, ...], created_at: float, expires_at: float) -> None:
        self.tokens = tokens
        self.created_at = created_at
        self.expires_at = expires_at

    def token_seconds(self, now: float) -> float:
        return len(self.tokens) * (min(now, self.expires_at) - self.created_at)


class ObjectCache:
    """`minimum_tokens`: shorter objects are refused. `default_ttl_s`: the lifetime of an object made without one."""

    def __init__(self, minimum_tokens: int = 1024, default_ttl_s: float = ONE_HOUR_S) -> None:
        if default_ttl_s <= 0:
            raise ValueError(f"default_ttl_s is {default_ttl_s}, it has to be above 0")
        self.minimum_tokens = minimum_tokens
        self.default_ttl_s = default_ttl_s
        self.reset()

    def reset(self) -> None:
        """Storage is counted from zero again, too."""
        self._objects: dict[tuple[object, str], _Object] = {}
        self._open: set[Lease] = set()
        self._past_token_seconds = 0.0

    def create(
        self,
        name: str,
        tokens: Sequence[int],
        *,
        ttl_s: float | None = None,
        now: float = 0.0,
        namespace: object = None,
    ) -> None:
        """Raises UsageError for too few tokens, for a lifetime that is not above 0 and for a name in use."""
        if len(tokens) < self.minimum_tokens:
            raise UsageError(
                f"a cached object of {len(tokens)} tokens is too small: it has to have {self.minimum_tokens}"
            )
        known = self._objects.get((namespace, name))
        if known is not None and now < known.expires_at:
            raise UsageError(f"there is a cached object {name!r} already: delete it, or take another name")
        self._close(namespace, name, now)
        self._objects[namespace, name] = _Object(tuple(tokens), now, now + self._lifetime(ttl_s))

    def extend(self, name: str, *, ttl_s: float | None = None, now: float = 0.0, namespace: object = None) -> None:
        """Start the lifetime anew; it may become shorter. Raises UsageError as `begin` does."""
        self._live(name, now, namespace).expires_at = now + self._lifetime(ttl_s)

    def delete(self, name: str, *, now: float = 0.0, namespace: object = None) -> None:
        """Storage stops to count. Requests in flight keep what they were served. Raises UsageError as `begin` does."""
        self._live(name, now, namespace)
        self._close(namespace, name, now)

    def stored_token_seconds(self, now: float) -> float:
        """Tokens times seconds stored up to `now`, over all objects ever made; a price is per token-hour."""
        return self._past_token_seconds + sum(each.token_seconds(now) for each in self._objects.values())

    def peek(
        self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None, name: str | None = None
    ) -> int:
        """Raises what `begin` raises."""
        if name is None:
            return 0
        stored = self._live(name, now, namespace).tokens
        if tuple(tokens[: len(stored)]) != stored:
            raise ValueError(f"the prompt does not begin with the {len(stored)} tokens of the object {name!r}")
        return len(stored)

    def begin(
        self, tokens: Sequence[int], *, now: float = 0.0, namespace: object = None, name: str | None = None
    ) -> Lease:
        """`tokens` are the whole prompt, those of the object first. Changes no object.

        Raises UsageError for an object that is not there, was deleted or has expired: the API refuses the request.
        """
        lease = Lease(len(tokens), self.peek(tokens, now=now, namespace=namespace, name=name))
        self._open.add(lease)
        return lease

    def publish(self, lease: Lease, *, now: float = 0.0) -> None:
        """Changes nothing: only `create` stores."""

    def finish(self, lease: Lease, generated: Sequence[int] = (), *, now: float = 0.0) -> None:
        self._open.discard(lease)

    def abort(self, lease: Lease, *, now: float = 0.0) -> None:
        self._open.discard(lease)

    def check_integrity(self) -> None:
        for (_, name), each in self._objects.items():
            assert len(each.tokens) >= self.minimum_tokens, f"object {name!r} is shorter than the minimum"
            assert each.expires_at > each.created_at, f"object {name!r} expired before it was made"
        assert self._past_token_seconds >= 0, "storage was counted backwards"
        for lease in self._open:
            assert 0 <= lease.cached_tokens <= lease.prompt_tokens, "more was served than asked"

    def _lifetime(self, ttl_s: float | None) -> float:
        lifetime = self.default_ttl_s if ttl_s is None else ttl_s
        if not lifetime > 0:
            raise UsageError(f"a cached object with a lifetime of {lifetime:g} s: it has to be above 0")
        return lifetime

    def _live(self, name: str, now: float, namespace: object) -> _Object:
        known = self._objects.get((namespace, name))
        if known is None:
            raise UsageError(f"there is no cached object {name!r}: create it first")
        if now >= known.expires_at:
            raise UsageError(f"the cached object {name!r} expired {now - known.expires_at:g} s ago: create it again")
        return known

    def _close(self, namespace: object, name: str, now: float) -> None:
        closed = self._objects.pop((namespace, name), None)
        if closed is not None:
            self._past_token_seconds += closed.token_seconds(now)
