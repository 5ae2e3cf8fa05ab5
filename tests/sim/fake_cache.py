"""A cache of whole-prompt prefixes, small enough to be read at a glance."""

from __future__ import annotations

from hitrate.caches.interface import Lease


class HeldLease(Lease):
    __slots__ = ("namespace", "tokens")

    def __init__(self, tokens, namespace, cached):
        super().__init__(len(tokens), cached)
        self.tokens = tuple(tokens)
        self.namespace = namespace


class FakeCache:
    """Serves the longest common prefix with anything stored; admits at most `room` requests at a time."""

    def __init__(self, room=1000):
        self.room = room
        self.stored = []
        self.held = []

    def peek(self, tokens, *, now=0.0, namespace=None):
        return max((_common(tokens, old) for space, old in self.stored if space == namespace), default=0)

    def begin(self, tokens, *, now=0.0, namespace=None):
        if len(self.held) >= self.room:
            return None
        lease = HeldLease(tokens, namespace, self.peek(tokens, namespace=namespace))
        self.held.append(lease)
        return lease

    def publish(self, lease, *, now=0.0):
        if lease in self.held:
            self.stored.append((lease.namespace, lease.tokens))

    def finish(self, lease, generated=(), *, now=0.0):
        if lease in self.held:
            self.stored.append((lease.namespace, lease.tokens + tuple(generated)))
            self.held.remove(lease)

    def abort(self, lease, *, now=0.0):
        if lease in self.held:
            self.held.remove(lease)

    def reset(self):
        self.stored = []
        self.held = []

    def check_integrity(self):
        assert len(self.held) <= self.room


def _common(left, right):
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return length
