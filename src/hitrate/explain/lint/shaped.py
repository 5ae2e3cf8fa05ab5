"""What the checks by shape share: one flaw a text, at the first value, with how many more there are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from hitrate.explain.causes.wording import quoted
from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.lint.volatile import Kind, Volatile, volatile

_SEVERITY_FIRST = {"error": 0, "warning": 1, "note": 2}


def shaped(request: Request, kind: Kind, what: str, advice: str) -> Iterator[Flaw]:
    """`what` names the value, as "The time"."""
    for head in request.head:
        if kind == "counter" and head.kind != "system":
            continue  # a schema counts steps and messages by right
        found = [one for one in _volatile(head.text) if one.kind == kind]
        if not found:
            continue
        worst = min(found, key=lambda one: (_SEVERITY_FIRST[one.severity], one.start))
        more = f", and {len(found) - 1} more in this text" if len(found) > 1 else ""
        value = quoted(head.text[worst.start : worst.end])
        where = {"tools": "a tool definition", "schema": "a schema"}.get(head.kind, "the system prompt")
        yield Flaw(
            worst.severity,
            f"{what} {value} ({worst.shape}) in {where} looks volatile{more}.",
            advice,
            head.pointer,
            worst.start,
            head.text,
            from_shape=True,
        )


@lru_cache(maxsize=256)
def _volatile(text: str) -> tuple[Volatile, ...]:
    return tuple(volatile(text))


def worst_in(text: str) -> Volatile | None:
    """The first value of a text that is worth a warning."""
    return next((one for one in _volatile(text) if one.severity == "warning"), None)
