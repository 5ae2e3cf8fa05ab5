"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """ "1 request", "12,031 requests"; of nouns whose plural ends in s alone."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
