"""The tokens and settings that an engine tells about itself, for predictions that are exact."""

from __future__ import annotations

import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hitrate.core.model import Call
from hitrate.errors import TargetError
from hitrate.live.expectation import CallTokens
from hitrate.targets.presets import Target
from hitrate.tokens import llamacpp, vllm


class EngineTokens(ABC):
    """The engine's template and tokeniser for the prompt, the ids it generated for the reply.

    A reply whose ids are not all known is tokenised again, and `exact` is False from then on. Everything here raises
    Unreachable and TargetError where the engine does not answer.
    """

    stands_in = False
    rule_models: ClassVar[tuple[str, ...]]
    """The cache models whose parameters `rule_settings` are."""
    tells_user_starts = False
    """Whether `tokens` says where user messages start, for rules that keep what is before them."""

    def __init__(self, base_url: str, key: str | None = None) -> None:
        self.exact = True
        self.base_url = base_url
        self.key = key

    def tokens(self, call: Call) -> CallTokens:
        body = json.loads(call.body)
        return CallTokens(self._prompt(body), self._generated(call), self._namespace(body))

    @abstractmethod
    def rule_settings(self) -> dict[str, int]:
        """Parameters of the cache as the server tells them; empty where it tells none."""

    def model_file(self) -> str | None:
        """Path of the model on the engine's machine, None where it tells none."""
        return None

    @abstractmethod
    def _prompt(self, body: Mapping[str, Any]) -> Sequence[int]: ...

    @abstractmethod
    def _tokenized(self, text: str, call: Call) -> Sequence[int]: ...

    def _namespace(self, body: Mapping[str, Any]) -> object:
        return None

    def _generated(self, call: Call) -> Sequence[int]:
        if call.reply is None:
            return ()
        if call.reply.token_ids is not None:
            return call.reply.token_ids
        self.exact = False
        return self._tokenized(call.reply.reasoning + call.reply.text, call)


class LlamaCppTokens(EngineTokens):
    rule_models = ("slots", "checkpoints")

    def rule_settings(self) -> dict[str, int]:
        return llamacpp.slot_sizes(self.base_url, key=self.key)

    def _prompt(self, body: Mapping[str, Any]) -> Sequence[int]:
        return llamacpp.prompt_token_ids(self.base_url, body, key=self.key)

    def _tokenized(self, text: str, call: Call) -> Sequence[int]:
        return llamacpp.tokenize(self.base_url, text, add_special=False, key=self.key)

    def tokens(self, call: Call) -> CallTokens:
        found = super().tokens(call)
        if not self.tells_user_starts:
            return found
        return found._replace(places={"user_starts": llamacpp.places_of(self._user_delimiter, found.prompt)})

    @functools.cached_property
    def _user_delimiter(self) -> list[int]:
        return llamacpp.user_delimiter(self.base_url, key=self.key)

    def model_file(self) -> str | None:
        return llamacpp.model_file(self.base_url, key=self.key)


class VllmTokens(EngineTokens):
    rule_models = ("block chain",)

    def rule_settings(self) -> dict[str, int]:
        try:
            return vllm.block_settings(self.base_url, key=self.key)
        except TargetError:  # a proxy in between may keep the metrics to itself
            return {}

    def _prompt(self, body: Mapping[str, Any]) -> Sequence[int]:
        return vllm.prompt_token_ids(self.base_url, body, key=self.key)

    def _tokenized(self, text: str, call: Call) -> Sequence[int]:
        return vllm.text_token_ids(self.base_url, text, model=call.model, key=self.key)

    def _namespace(self, body: Mapping[str, Any]) -> object:
        """The model can be an adapter, whose blocks are its own."""
        return body.get("model"), body.get("cache_salt")


_BY_ENGINE: dict[str, type[EngineTokens]] = {"llamacpp": LlamaCppTokens, "vllm": VllmTokens}


def engine_tokens(target: Target, key: str | None) -> EngineTokens | None:
    """None for a target that tells no tokens."""
    kind = _BY_ENGINE.get(target.tokenizer or "")
    return None if kind is None or target.base_url is None else kind(target.base_url, key)
