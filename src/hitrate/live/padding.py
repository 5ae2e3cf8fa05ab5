"""The `--pad` part of a test: the same prompt twice at several lengths."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hitrate.core.model import Call
from hitrate.live.asker import Asker
from hitrate.live.conversation import nonce
from hitrate.live.multi_turn import until_stopped

_FILLER = [
    "river",
    "stone",
    "window",
    "market",
    "garden",
    "letter",
    "bridge",
    "winter",
    "paper",
    "silver",
    "morning",
    "yellow",
    "garden",
    "station",
    "copper",
    "forest",
    "island",
    "summer",
    "button",
    "candle",
    "basket",
    "orange",
    "ladder",
    "mirror",
    "pocket",
    "ribbon",
    "saddle",
    "tunnel",
    "valley",
    "wagon",
]
"""Common words that most vocabularies hold as one token each, so that a length in words is one in tokens."""


def padded(system: str | None, pad_tokens: int, random_source: random.Random) -> str:
    """The system prompt behind a unique line and about `pad_tokens` tokens of filler."""
    return f"Run {nonce(random_source)}.\n{filler(pad_tokens, random_source)}\n{system or ''}"


def filler(words: int, random_source: random.Random) -> str:
    return " ".join(random_source.choices(_FILLER, k=words))


def apart(number: int) -> int:
    """A few tokens more for the `number`-th length: lengths that lie whole steps apart, as 512 and 1,024 do, would hide
    the step."""
    return 3 * number * (number - 1) // 2


async def run_padding(
    asker: Asker,
    system: str | None,
    pads: Sequence[int],
    random_source: random.Random,
    session_prefix: str,
    pairs: list[tuple[int, Call, Call]],
) -> list[str]:
    """Adds to `pairs`, for each length, the two calls of one identical prompt, the second after the first has ended.

    Gives warnings, as `run_multi_turn` does when it stops early.
    """
    return await until_stopped(asker, _pairs(asker, system, pads, random_source, session_prefix, pairs))


async def _pairs(
    asker: Asker,
    system: str | None,
    pads: Sequence[int],
    random_source: random.Random,
    session_prefix: str,
    pairs: list[tuple[int, Call, Call]],
) -> None:
    for number, pad in enumerate(pads, start=1):
        messages = [
            {"role": "system", "content": padded(system, pad + apart(number), random_source)},
            {"role": "user", "content": "Say yes."},
        ]
        session = f"{session_prefix}-pad-{number}"
        first = await asker.ask(messages, session=session, label=f"pad {pad}", max_tokens=1)
        second = await asker.ask(messages, session=session, label=f"pad {pad}", max_tokens=1)
        pairs.append((pad, first, second))
