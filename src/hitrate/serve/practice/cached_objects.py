"""Named objects as a vendor's API handles them: created under a server-given name, listed, extended, deleted.

The cache model keeps the tokens and refuses what has expired; this keeps what the API says about an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hitrate.caches.interface import PrefixCache
from hitrate.caches.objects import ObjectCache
from hitrate.errors import UsageError
from hitrate.serve.practice.wire import Refused


class CachedObject:
    """Times are in seconds on the server's monotonic clock."""

    def __init__(
        self, name: str, model: str, display_name: str | None, tokens: Sequence[int], created_at: float
    ) -> None:
        self.name = name
        self.model = model
        self.display_name = display_name
        self.tokens = tokens
        self.created_at = created_at
        self.updated_at = created_at
        self.expires_at = created_at


class CachedObjects:
    """One store over the caches of all replicas. Objects belong to a model."""

    def __init__(self, caches: Sequence[PrefixCache]) -> None:
        self._caches = tuple(cache for cache in caches if isinstance(cache, ObjectCache))
        self._made = 0
        self.reset()

    def reset(self) -> None:
        self._objects: dict[str, CachedObject] = {}

    def create(
        self, model: str, tokens: Sequence[int], *, ttl_s: float | None, display_name: str | None, now: float
    ) -> CachedObject:
        """Raises Refused where the rule knows no objects, for too few tokens and for a lifetime that cannot be."""
        if not self._caches:
            raise Refused(
                400, "this server's cache rule has no cached objects; serve it with --rule gemini-explicit-2026-11"
            )
        self._made += 1
        name = f"cachedContents/practice-{self._made}"
        made = CachedObject(name, model, display_name, tokens, now)
        try:
            for cache in self._caches:
                cache.create(name, tokens, ttl_s=ttl_s, now=now, namespace=(model,))
        except UsageError as error:
            raise Refused(400, error.message) from None
        made.expires_at = now + self._lifetime(ttl_s)
        self._objects[name] = made
        return made

    def extend(self, name: str, *, ttl_s: float | None, now: float) -> CachedObject:
        """Start the lifetime anew. Raises Refused."""
        found = self.get(name, now)
        try:
            for cache in self._caches:
                cache.extend(name, ttl_s=ttl_s, now=now, namespace=(found.model,))
        except UsageError as error:
            raise Refused(400, error.message) from None
        found.updated_at = now
        found.expires_at = now + self._lifetime(ttl_s)
        return found

    def delete(self, name: str, now: float) -> None:
        found = self.get(name, now)
        for cache in self._caches:
            cache.delete(name, now=now, namespace=(found.model,))
        del self._objects[name]

    def get(self, name: str, now: float) -> CachedObject:
        """Raises Refused for one that is not there, was deleted or has expired."""
        found = self._objects.get(name)
        if found is None or now >= found.expires_at:
            raise Refused(
                404, f"there is no cached content {name!r}; it was never made, was deleted or has expired", "not_found"
            )
        return found

    def tokens(self, name: str, model: str, now: float) -> Sequence[int]:
        """What a prompt that continues the object starts with. Raises Refused, also for an object of another model."""
        found = self.get(name, now)
        if found.model != model:
            raise Refused(400, f"the cached content {name!r} was made for {found.model}, not for {model}")
        return found.tokens

    def living(self, now: float) -> Iterator[CachedObject]:
        return (found for found in self._objects.values() if now < found.expires_at)

    def _lifetime(self, ttl_s: float | None) -> float:
        return self._caches[0].default_ttl_s if ttl_s is None else ttl_s
