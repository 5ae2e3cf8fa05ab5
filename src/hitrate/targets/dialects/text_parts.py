"""Messages that are each a role and a text, as parts of a sketch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hitrate.core.growth import TextMessage
from hitrate.core.prompt import Part
from hitrate.targets.dialects.prompt_parts import text_part


class TextParts:
    """Of one wire. `kind_of` tells the kind of the part that a message of a role and a text is; None where it is not as
    simple as that. It is asked once a role."""

    def __init__(self, kind_of: Callable[[str], str | None]) -> None:
        self._kind_of = kind_of
        self._kinds: dict[str, str | None] = {}

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
            parts.append(text_part(kind, text))
        return tuple(parts)
