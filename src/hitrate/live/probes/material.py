"""Prompts that were never sent before, of a wanted length in the target's own tokens."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hitrate.live.conversation import Message, nonce
from hitrate.live.padding import filler

FIRST_OVERHEAD = 24.0
"""Tokens of a prompt beside its words (template, nonce), until two lengths have shown them."""


class Material:
    """Words are drawn from a list that most vocabularies hold as one token each; how many tokens a word and a prompt
    around it really take is learnt from what the target counts."""

    def __init__(self, random_source: random.Random) -> None:
        self._random = random_source
        self._words_of: dict[str, int] = {}
        self._shortest: tuple[int, int] | None = None
        self._longest: tuple[int, int] | None = None

    def session(self) -> str:
        return f"hitrate-{nonce(self._random).replace(' ', '')}"

    def text(self, tokens: float) -> str:
        """Text that makes a prompt of about that many tokens, unlike every other from its first token on."""
        return self.text_of_words(round((tokens - self._overhead) / self._per_word))

    def text_of_words(self, words: int) -> str:
        words = max(1, words)
        text = f"{nonce(self._random)}. {filler(words, self._random)}"
        self._words_of[text] = words
        return text

    def prompt(self, tokens: float) -> list[Message]:
        """One user message."""
        return [{"role": "user", "content": self.text(tokens)}]

    def about(self, messages: Sequence[Mapping[str, Any]]) -> int:
        """Tokens that the messages should come to, a word being one."""
        return round(FIRST_OVERHEAD) + sum(len(str(message["content"]).split()) for message in messages)

    def learn(self, messages: list[Message], prompt_tokens: int) -> None:
        """What the target counted for a prompt made by `prompt`; anything else is ignored."""
        content = messages[0]["content"] if len(messages) == 1 else None
        words = self._words_of.get(content) if isinstance(content, str) else None
        if words is None:
            return
        point = (words, prompt_tokens)
        self._shortest = min(self._shortest or point, point)
        self._longest = max(self._longest or point, point)

    @property
    def _per_word(self) -> float:
        if self._shortest is None or self._longest is None or self._longest[0] < 2 * self._shortest[0]:
            # One length only: all of it but the usual overhead is words.
            return 1.0 if self._longest is None else max(0.5, (self._longest[1] - FIRST_OVERHEAD) / self._longest[0])
        return (self._longest[1] - self._shortest[1]) / (self._longest[0] - self._shortest[0])

    @property
    def _overhead(self) -> float:
        if self._longest is None:
            return FIRST_OVERHEAD
        return self._longest[1] - self._per_word * self._longest[0]


def marked(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """The messages with a cache marker at the end of the system prompt and of the last one, as vendors of explicit
    caching take it on the chat-completions wire (DashScope, MiniMax, OpenRouter)."""
    made = [dict(message) for message in messages]
    for place in {index for index, message in enumerate(made) if message["role"] == "system"} | {len(made) - 1}:
        content = made[place]["content"]
        parts: list[dict[str, Any]]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else [dict(part) for part in content]
        parts[-1]["cache_control"] = {"type": "ephemeral"}
        made[place]["content"] = parts
    return made
