"""Bounds of what may be asked for, wherever it is asked."""

from __future__ import annotations

MOST_REPLICAS = 10_000
"""More than any fleet of one model; each has a cache of its own in memory."""
