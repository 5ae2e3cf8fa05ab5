"""What a practice server can be told. Values come from the command line or from a test; `check` refuses nonsense."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import force_setattr

from hitrate.caches.rules import RULE_SETS
from hitrate.errors import UsageError
from hitrate.serve.practice.faults import Fault
from hitrate.sim.routing.registry import make_policy

NO_RULE = "none"
"""The rule of an engine that caches nothing."""

RULES_OWN = -1
"""Stands for a number that the rule itself says; options never hold it once they are made."""


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
    """A server of one model family on `replicas` engines, all alike, in the manner of the vendor `imitates`.

    `capacity_tokens` is what one replica stores; with `shared`, the cluster-wide store holds `replicas` times that.
    The first token comes `base_ms` plus uncached tokens / `prefill_rate` after the request, times a factor that is
    1 without `jitter` and else log-normal with that sigma and median 1. `write_delay_ms` is how long after its
    first token a prompt becomes readable by others.
    """

    imitates: str | None = None
    """A name in `vendors`; None: the practice server's own manner, on the wires of OpenAI and Anthropic."""
    cache_report: bool = False
    """Report cached tokens also where the imitated engine does so only when started with a flag."""

    rule: str = "block-chain"
    """One of `hitrate.caches.rules`, or NO_RULE."""
    block_size: int = RULES_OWN
    """Tokens in a block or page, the unit in which tokens are credited."""
    minimum_tokens: int = RULES_OWN
    slots: int = RULES_OWN
    context_tokens: int = 16384
    """Context of a slots rule, for all slots together."""
    capacity_tokens: int | None = None
    ttl_s: float | None = None
    write_delay_ms: float = RULES_OWN

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
    """Length of every reply, cut by the request's max_tokens; None: see `replies.make_reply`."""
    tool_calls: bool = False
    api_key: str | None = None
    context_limit: int | None = None
    rpm_limit: int | None = None
    faults: tuple[Fault, ...] = ()
    hide_internals: bool = False

    host: str = "127.0.0.1"
    port: int = 8090

    def __post_init__(self) -> None:
        rule = RULE_SETS.get(self.rule)
        parameters = {} if rule is None else rule.parameters
        own = {
            "block_size": parameters.get("block_size", parameters.get("page_size", 1)),
            "minimum_tokens": parameters.get("minimum_tokens", 0),
            "slots": parameters.get("slots", 1),
            "write_delay_ms": 1000 * parameters.get("write_delay_s", 0.0),
        }
        for name, value in own.items():
            if getattr(self, name) == RULES_OWN:
                force_setattr(self, name, value)

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
        _at_least("context_tokens", self.context_tokens, self.slots)
        if self.rule != NO_RULE and self.rule not in RULE_SETS:
            raise UsageError(f"no cache rule is called {self.rule!r}; known: {', '.join((*RULE_SETS, NO_RULE))}")
        make_policy(self.routing, seed=self.seed)
        if not self.models:
            raise UsageError("a practice server needs at least one --model")


def _at_least(name: str, value: float, least: float) -> None:
    if not value >= least:
        raise UsageError(f"{_option(name)} is {value}, it has to be at least {least}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
