"""Messages that are each a role and a text, as parts of a sketch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hitrate.core.growth import TextMessage
from hitrate.core.prompt import Part
from hitrate.core.recent import Recent
from hitrate.targets.dialects.prompt_parts import text_part

_LEAST, _MOST, _REMEMBERED = 2_000, 20_000, 64
"""Code points of a text that is worth being kept in mind with its part, and how many are: instructions come again with
each conversation, and to look one up takes a third of the time that its digest does."""


class TextParts:
    """Of one wire. `kind_of` tells the kind of the part that a message of a role and a text is; None where it is not as
    simple as that. It is asked once a role."""

    def __init__(self, kind_of: Callable[[str], str | None]) -> None:
        self._kind_of = kind_of
        self._kinds: dict[str, str | None] = {}
        self._long: Recent[tuple[str, str], Part] = Recent(_REMEMBERED)

    def kind_of(self, role: str) -> str | None:
        if role not in self._kinds:
            self._kinds[role] = self._kind_of(role)
        return self._kinds[role]

    def parts_of(self, messages: Sequence[TextMessage]) -> tuple[Part, ...] | None:
        """None where a message is more than a part of one text."""
        kinds = self._kinds
        parts = []
        for one in messages:
            role, text = one.role, one.content
            kind = kinds.get(role) or self.kind_of(role)
            if kind is None:
                return None
            part_of = self._long_part if len(text) >= _LEAST else text_part
            parts.append(part_of(kind, text))
        return tuple(parts)

    def _long_part(self, kind: str, text: str) -> Part:
        if len(text) > _MOST:
            return text_part(kind, text)
        part = self._long.get((kind, text))
        if part is None:
            self._long.put((kind, text), part := text_part(kind, text))
        return part
