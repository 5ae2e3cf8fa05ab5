"""Recipes: what bytes are put together from, out of pieces that are stored once each.

A recipe is a JSON array. An integer is the id of a piece, a string is bytes (UTF-8) as they stand. An array is bytes
and then what they stand between: ids, or arrays of the ids of a value that was cut into blocks. In it a negative
integer stands for as many ids that follow on the one before: `[",", 5, -2, 9]` are 5, 6, 7 and 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

ValueIds = int | list[int]
"""Of a value to be stored once: of its bytes, or of its blocks."""

Item = int | str | list[str | ValueIds]
Recipe = list[Item]

_decode = msgspec.json.Decoder(Recipe).decode


def decode_recipe(text: str | bytes) -> Recipe:
    """msgspec.MsgspecError where it is none."""
    return _decode(text)


def encode_recipe(recipe: Recipe) -> bytes:
    return msgspec.json.encode(recipe)


def shorten(short: list[ValueIds], ids: Iterable[ValueIds]) -> list[ValueIds]:
    """Add ids to a list in which those that follow on each other are counted. `short` is changed and given back."""
    last = _last_of(short)
    for one in ids:
        if isinstance(one, int) and last is not None and one == last + 1:
            if isinstance(run := short[-1], int) and run < 0:
                short[-1] = run - 1
            else:
                short.append(-1)
        else:
            short.append(one)
        last = one if isinstance(one, int) else None
    return short


def _last_of(short: list[ValueIds]) -> int | None:
    """The id that the list ends with."""
    last = short[-1] if short else None
    if not isinstance(last, int):
        return None
    return last if last >= 0 else short[-2] - last  # type: ignore[operator]


def values_of(short: Iterable[ValueIds]) -> Iterator[ValueIds]:
    """Every id, or ids of blocks, of such a list."""
    last = 0
    for value in short:
        if isinstance(value, int) and value < 0:
            yield from range(last + 1, last + 1 - value)
            last -= value
        else:
            yield value
            last = value if isinstance(value, int) else 0


def ids_in(recipe: Recipe) -> Iterator[int]:
    for item in recipe:
        if isinstance(item, int):
            yield item
        elif isinstance(item, list):
            for value in values_of(item[1:]):  # type: ignore[arg-type]
                if isinstance(value, int):
                    yield value
                else:
                    yield from value


def made_of(recipe: Recipe, pieces: Mapping[int, bytes]) -> bytes:
    """The bytes. KeyError where a piece is missing."""

    def value_of(ids: ValueIds) -> bytes:
        return pieces[ids] if isinstance(ids, int) else b"".join([pieces[block] for block in ids])

    found = []
    for item in recipe:
        if isinstance(item, int):
            found.append(pieces[item])
        elif isinstance(item, str):
            found.append(item.encode())
        else:
            found.append(str(item[0]).encode().join(map(value_of, values_of(item[1:]))))  # type: ignore[arg-type]
    return b"".join(found)
