"""The figures of an answer by name, and how they are laid out by JSON paths in a vendor's spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hitrate.serve.practice.wire import Answer

Figure = Callable[[Answer], int | float | None]

_FIGURES: dict[str, Figure] = {
    "prompt": lambda answer: answer.prompt_tokens,
    "cached": lambda answer: answer.cached_tokens,
    "missed": lambda answer: answer.prompt_tokens - answer.cached_tokens,
    "written": lambda answer: None if answer.written is None else answer.written_tokens,
    "written_5m": lambda answer: None if answer.written is None else answer.written.get("5m", 0),
    "written_1h": lambda answer: None if answer.written is None else answer.written.get("1h", 0),
    "output": lambda answer: len(answer.reply.pieces),
    "reasoning": lambda answer: answer.reply.reasoning_tokens,
    "total": lambda answer: answer.prompt_tokens + len(answer.reply.pieces),
    "nothing": lambda answer: 0,
    "prefill_s": lambda answer: answer.prefill_s,
    "decode_s": lambda answer: answer.decode_s,
    "total_s": lambda answer: answer.prefill_s + answer.decode_s,
    "prefill_ms": lambda answer: 1000 * answer.prefill_s,
    "decode_ms": lambda answer: 1000 * answer.decode_s,
}
"""Token counts and the times of the engine's contract; None where there is no such figure."""

_OF_THE_CACHE = frozenset({"cached", "missed", "written", "written_5m", "written_1h"})

TEXT = ":text"
"""Behind a figure's name: the number as text."""


def figure_names() -> frozenset[str]:
    return frozenset(_FIGURES)


def figure(name: str, answer: Answer) -> int | float | str | None:
    value = _FIGURES[name.removesuffix(TEXT)](answer)
    value = round(value, 6) if isinstance(value, float) else value
    return str(value) if name.endswith(TEXT) and value is not None else value


def lay_out(paths: Mapping[str, str], answer: Answer, into: dict[str, Any]) -> None:
    """Put each figure at its path; what the answer's `details` hold back is null, or not there."""
    for path, name in paths.items():
        value = figure(name, answer)
        if value is None:
            continue
        parts = path.split(".")
        if name.removesuffix(TEXT) in _OF_THE_CACHE and answer.details != "full":
            # A null stands for the details as a whole, as vLLM and SGLang send it.
            if answer.details == "absent" or not parts[-2].endswith("_details"):
                continue
            parts, value = parts[:-1], None
        holder = into
        for part in parts[:-1]:
            holder = holder.setdefault(part, {})
        holder[parts[-1]] = value
