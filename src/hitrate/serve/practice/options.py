"""What a practice server can be told. Values come from the command line or from a test; `check` refuses nonsense."""

from __future__ import annotations

from msgspec import Struct

from hitrate.errors import UsageError
from hitrate.serve.practice.faults import Fault


class PracticeModel(Struct, frozen=True):
    """A model id and its prices in USD per million tokens; None is "not listed"."""

    name: str
    input_usd_per_mtok: float | None = None
    cached_usd_per_mtok: float | None = None
    write_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None


DEFAULT_MODEL = PracticeModel("practice", 0.30, 0.006, 0.0, 1.20)
"""Input and cached price are those genai-prices lists for DeepSeek V4.1 Flash at Fireworks: a 98 % discount."""


class PracticeOptions(Struct, frozen=True, kw_only=True):
    """A server of one model family on `replicas` engines, all alike.

    `capacity_tokens` is what one replica stores; with `shared`, the cluster-wide store holds `replicas` times that.
    The first token comes `base_ms` plus uncached tokens / `prefill_rate` after the request, times a factor that is
    1 without `jitter` and else log-normal with that sigma and median 1. `write_delay_ms` is how long after its
    first token a prompt becomes readable by others.
    """

    rule: str = "block-chain"
    block_size: int = 16
    minimum_tokens: int = 0
    slots: int = 4
    context_tokens: int = 16384
    """Context of the slots rule, in equal parts for all slots, as llama.cpp has it."""
    capacity_tokens: int | None = None
    ttl_s: float | None = None
    write_delay_ms: float = 0.0

    replicas: int = 1
    routing: str = "random"
    shared: bool = False

    prefill_rate: float = 2500.0
    decode_rate: float = 100.0
    base_ms: float = 15.0
    jitter: float = 0.0
    seed: int = 0

    models: tuple[PracticeModel, ...] = (DEFAULT_MODEL,)
    reply_tokens: int | None = None
    """Length of every reply, cut by the request's max_tokens; None: as long as max_tokens allows, else 32."""
    tool_calls: bool = False
    api_key: str | None = None
    context_limit: int | None = None
    rpm_limit: int | None = None
    faults: tuple[Fault, ...] = ()
    hide_internals: bool = False

    host: str = "127.0.0.1"
    port: int = 8090

    @property
    def prompt_limit(self) -> int | None:
        """The most tokens that prompt and reply of one request may have together, None without a limit."""
        limits = [self.context_limit]
        if self.rule == "slots":
            limits.append(self.context_tokens // self.slots)
        if self.capacity_tokens is not None and self.rule != "none":
            limits.append(self.store_tokens)
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def store_tokens(self) -> int | None:
        """Tokens that fit into one replica's cache, or into the shared one; None without a limit."""
        if self.capacity_tokens is None:
            return None
        tokens = self.capacity_tokens * (self.replicas if self.shared else 1)
        return tokens - tokens % self.block_size if self.rule == "block-chain" else tokens

    def model(self, name: str) -> PracticeModel | None:
        return next((model for model in self.models if model.name == name), None)

    def check(self) -> None:
        """Raise UsageError with the first value that cannot be."""
        for name in ("block_size", "slots", "replicas"):
            _at_least(name, getattr(self, name), 1)
        for name in ("minimum_tokens", "write_delay_ms", "base_ms", "jitter"):
            _at_least(name, getattr(self, name), 0)
        for name in ("capacity_tokens", "reply_tokens", "context_limit", "rpm_limit"):
            if getattr(self, name) is not None:
                _at_least(name, getattr(self, name), 1)
        for name in ("prefill_rate", "decode_rate", "ttl_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{_option(name)} is {value}, it has to be above 0")
        if self.rule == "slots":
            _at_least("context_tokens", self.context_tokens, self.slots)
            if self.shared:
                raise UsageError("--shared cannot go with --rule slots: a slot's context is its engine's own memory")
        if not self.models:
            raise UsageError("a practice server needs at least one --model")


def _at_least(name: str, value: float, least: float) -> None:
    if not value >= least:
        raise UsageError(f"{_option(name)} is {value}, it has to be at least {least}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
