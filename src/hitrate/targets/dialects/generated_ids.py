"""Generated token ids, where an engine gives them beside the text."""

from __future__ import annotations

from typing import Any

UNNAMED_END = -1
"""Stands for an end-of-turn token that a stream leaves unnamed. No cache holds it, because it is never computed on."""


class GeneratedIds:
    """Collects ids over the objects of a reply.

    vLLM puts them into the choice with `return_token_ids`. llama.cpp puts them into `__verbose.tokens` of a whole body
    with `verbose` and `return_tokens`; in a stream that list is empty, and `n_probs: 1` puts each id into
    `choices[].logprobs.content[]` instead, but drops those whose text was held back (half a character, the marks of a
    tool call) and the end of the turn. (llama.cpp, tools/server/server-task.cpp, October 2026)
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._texts: list[bytes] = []

    def take(self, answer: dict[str, Any], choice: dict[str, Any] | None) -> None:
        verbose = answer.get("__verbose")
        for holder, name in ((choice, "token_ids"), (verbose, "tokens"), (answer, "tokens")):
            ids = holder.get(name) if isinstance(holder, dict) else None
            if isinstance(ids, list) and ids and all(type(one) is int for one in ids):
                self._ids.extend(ids)
                return
        logprobs = choice.get("logprobs") if choice is not None else None
        entries = logprobs.get("content") if isinstance(logprobs, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and type(entry.get("id")) is int:
                self._ids.append(entry["id"])
                self._texts.append(_bytes(entry.get("bytes")))

    def all(self, output_tokens: int | None, finish_reason: str | None, text: str) -> tuple[int, ...] | None:
        """All ids of a reply of that many tokens, or None when some are missing.

        Lists of ids are whole by their engines' word; ids beside log probabilities are so only if their number fits.
        """
        if not self._ids or (output_tokens is None and self._texts):
            return None
        if output_tokens is None:
            return tuple(self._ids)
        missing = output_tokens - len(self._ids)
        if missing == 0:
            return tuple(self._ids)
        spelled = b"".join(self._texts).decode("utf-8", "replace")
        if missing == 1 and finish_reason == "stop" and spelled.strip() == text.strip():
            return (*self._ids, UNNAMED_END)
        return None


def _bytes(value: Any) -> bytes:
    if isinstance(value, list) and all(type(one) is int and 0 <= one < 256 for one in value):
        return bytes(value)
    return b""
