"""Whether two texts are one text in two states, and whether a prompt carries the text of a conversation.

Asked only for the few calls where hashes cannot tell; each answer reads at most some thousand characters of a text.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitrate.core.lazy_pattern import lazy_pattern

_READ = 4_000
"""Code points of a text that are looked at for likeness."""

_SHINGLE = 12
_SHARED_SHINGLES = 0.3
_SHARED_ENDS = 0.4

_PROBE = 48
_SHORTEST_PROBE = 16
_MOST_PROBES = 64
_CARRIED = 0.4
"""Of a conversation's messages, whose text has to be in a prompt that carries it: transcripts leave out or shorten."""

_PLAIN_RUN = lazy_pattern(r'[^\n\r\t"\\<>&]+')
"""Text that stands in a transcript as it stood in the message, even where it is quoted as JSON or XML."""


def alike(was: str, now: str) -> bool:
    """Whether one of them is likely made from the other: much of the shorter one, in order, is in the longer one."""
    was, now = was[:_READ], now[:_READ]
    shorter = min(len(was), len(now))
    if shorter == 0:
        return False
    front = _common_front(was, now)
    back = _common_front(was[front:][::-1], now[front:][::-1])
    if front + back >= shorter * _SHARED_ENDS:
        return True
    if shorter < 2 * _SHINGLE:
        return False
    one, other = ({text[place : place + _SHINGLE] for place in range(len(text) - _SHINGLE + 1)} for text in (was, now))
    return len(one & other) >= _SHARED_SHINGLES * min(len(one), len(other))


def resumes(was: str, now: str) -> bool:
    """Whether the end of one text stands in the other behind the place where they part: something changed inside it.
    Where nothing of it is found again, another text begins there."""
    front = _common_front(was, now)
    end = was[front:][-_PROBE:]
    end = end[len(end) // 2 :]
    return len(end) >= _SHINGLE and end in now[front:]


def carries(prompt: str, messages: Sequence[str]) -> bool:
    """Whether the text of a good part of `messages`, two at least, stands in `prompt` word by word."""
    step = max(1, len(messages) // _MOST_PROBES)
    probes = [probe for message in messages[::step] if (probe := _probe(message)) is not None]
    found = sum(probe in prompt for probe in probes)
    return found >= 2 and found >= _CARRIED * len(probes)


def _probe(message: str) -> str | None:
    """The start of the longest plain run near the message's start, which a shortened transcript keeps."""
    runs = (run.strip() for run in _PLAIN_RUN.findall(message[:_READ]))
    longest = max(runs, key=len, default="")
    return longest[:_PROBE] if len(longest) >= _SHORTEST_PROBE else None


def _common_front(one: str, other: str) -> int:
    """By halves: comparing slices is much faster than comparing characters."""
    same, most = 0, min(len(one), len(other))
    while same < most:
        middle = (same + most + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same
