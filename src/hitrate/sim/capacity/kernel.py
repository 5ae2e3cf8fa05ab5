"""Which form of a rule replays: the plain one, or the compiled one of the extra `fast`. Both answer the same.

`auto` is plain until so many blocks came that compiling pays, and stays plain where the extra is missing. What came
until then is replayed by the compiled rule, in a hundredth of the time that compiling takes. Replicas of a fleet take
their requests one by one, which is no quicker compiled: they are plain whatever is chosen, and so are rules that have
no compiled form.
"""

from __future__ import annotations

import importlib
import importlib.util
from array import array
from collections.abc import Callable
from functools import partial
from typing import Literal, ParamSpec, get_args

from hitrate.core.trace import Chunk
from hitrate.errors import UsageError
from hitrate.sim.capacity.interface import BlockCache, SteppedCache

Kernel = Literal["auto", "python", "fast"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)

_PAYS_AFTER = 1 << 21
"""Blocks: two seconds in Python. To import numba and what it compiled before takes one, to compile a rule four."""

Arguments = ParamSpec("Arguments")


def with_kernel(
    kernel: Kernel,
    rule: Callable[Arguments, BlockCache],
    *arguments: Arguments.args,
    **settings: Arguments.kwargs,
) -> BlockCache:
    """`rule` is the plain class; the compiled one has its name and takes the same. UsageError as `check_kernel`."""
    check_kernel(kernel)
    plain = rule(*arguments, **settings)
    if kernel == "python":
        return plain
    compiled = partial(_compiled, rule.__name__, *arguments, **settings)
    after = _PAYS_AFTER if kernel == "auto" else 0
    if isinstance(plain, SteppedCache):
        return SteppedSwitching(plain, compiled, after)
    return Switching(plain, compiled, after)


def check_kernel(kernel: Kernel) -> None:
    """UsageError for `fast` where the extra is missing."""
    if kernel != "fast":
        return
    try:
        importlib.import_module("numba")
    except ImportError as error:
        raise UsageError(
            f"compiled kernels need the extra `fast` ({error}): pip install 'hitrate[fast]', or leave it to auto"
        ) from None


def blocks_in_python(cache: BlockCache, blocks: int) -> int:
    """Of the next so many blocks that come in chunks; the others are replayed compiled."""
    if not isinstance(cache, Switching) or importlib.util.find_spec("numba") is None:
        return blocks
    return min(blocks, cache.plain_blocks)


def _compiled(name: str, *arguments: object, **settings: object) -> BlockCache:
    """ImportError where the extra is missing."""
    rule = getattr(importlib.import_module("hitrate.sim.capacity.fast.caches"), name)
    made: BlockCache = rule(*arguments, **settings)
    return made


class Switching:
    """A cache that is `plain` for the first `after` blocks; from the chunk that goes beyond, what `compiled` makes."""

    def __init__(self, plain: BlockCache, compiled: Callable[[], BlockCache], after: int) -> None:
        self.capacity = plain.capacity
        self._cache = plain
        self._compiled = compiled
        self._left = after
        self._chunks: list[Chunk] | None = []
        """All so far; None when it is settled which one goes on."""

    @property
    def plain_blocks(self) -> int:
        """That may still come until the compiled one goes on."""
        return max(0, self._left)

    @property
    def never_fit(self) -> int | None:
        """Requests that need more blocks than there are; None where the rule takes them."""
        return getattr(self._cache, "never_fit", None)

    def add(self, chunk: Chunk) -> list[int]:
        if self._chunks is not None:
            self._left -= len(chunk.ids)
            if self._left < 0:
                self._switch(self._chunks)
            else:
                self._chunks.append(chunk)
        return self._cache.add(chunk)

    def _switch(self, chunks: list[Chunk]) -> None:
        self._chunks = None
        try:
            cache = self._compiled()
        except ImportError:
            return
        for chunk in chunks:
            cache.add(chunk)
        self._cache = cache

    def check_integrity(self) -> None:
        self._cache.check_integrity()


class SteppedSwitching(Switching, SteppedCache):
    """The same for a rule that a fleet can have: once it was asked one by one it stays plain."""

    def __init__(self, plain: SteppedCache, compiled: Callable[[], BlockCache], after: int) -> None:
        super().__init__(plain, compiled, after)
        self._plain = plain

    def serve(self, asked: array[int], input_tokens: int, now: float) -> int:
        self._chunks = None
        assert self._cache is self._plain, "requests come in chunks or one by one, not both"
        return self._plain.serve(asked, input_tokens, now)

    def peek(self, asked: array[int], input_tokens: int, now: float) -> int:
        return self._plain.peek(asked, input_tokens, now)
