"""What an engine's steps cost in seconds, and the limits that its scheduler keeps."""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

COSTS = {
    "step_s": "a step",
    "prefill_step_s": "a step that computes prompts, in addition",
    "prefill_token_s": "a prompt token",
    "prefill_context_s": "a prompt token, for each token in front of it",
    "sequence_s": "a request that gets a token",
    "context_token_s": "a token of context that such a request reads",
}
"""The costs of `EngineTiming`: seconds for each of these."""

LIMITS = ("max_running_requests", "max_batched_tokens", "kv_capacity_tokens", "chunked_prefill", "scheduled_ahead")
"""Its other members: how the engine is set up."""


class EngineTiming(Struct, frozen=True, kw_only=True):
    """One replica that batches continuously. A step takes the sum of

        step_s + prefill_step_s (where it computes prompt tokens at all)
        + prefill_token_s x prompt tokens + prefill_context_s x pairs of a prompt token and one in front of it
        + sequence_s x requests that get a token + context_token_s x tokens of context that these read

    The first terms are what reading the weights and starting kernels take, the third is bound by computing, the fourth
    is attention's square, the last two are bound by memory. The limits are vLLM's own defaults for a server with less
    than 70 GiB of memory (https://docs.vllm.ai/en/stable/configuration/engine_args/, vllm/engine/arg_utils.py): set
    those of the engine in question. ValueError for values that no engine has.
    """

    step_s: float
    prefill_token_s: float
    prefill_step_s: float = 0.0
    prefill_context_s: float = 0.0
    sequence_s: float = 0.0
    context_token_s: float = 0.0
    max_running_requests: int = 256
    """vLLM's `max_num_seqs`."""
    max_batched_tokens: int = 2048
    """Tokens of a step, prompts and replies together: vLLM's `max_num_batched_tokens`."""
    kv_capacity_tokens: int | None = None
    """Prompts and replies of all running requests have to fit; None is no limit."""
    chunked_prefill: bool = True
    """Whether a prompt may take several steps. Without, it waits until a step has room for all of it."""
    scheduled_ahead: bool = True
    """Whether a step is decided while the one before it runs (vLLM's asynchronous scheduling, the default since 0.14):
    who arrives in a step, or takes the place of who ends in it, waits for one step more."""

    def __post_init__(self) -> None:
        for name in COSTS:
            value = getattr(self, name)
            if not isfinite(value) or value < 0:
                raise ValueError(f"{name} is {value}; expected a number of seconds, at least 0")
        if not self.step_s:
            raise ValueError("step_s is 0; a step takes some time")
        if self.max_running_requests < 1:
            raise ValueError(f"max_running_requests is {self.max_running_requests}; expected at least 1")
        if self.max_batched_tokens < self.max_running_requests:
            raise ValueError(
                f"max_batched_tokens is {self.max_batched_tokens}; each of the {self.max_running_requests} running "
                "requests takes one a step"
            )
        if self.kv_capacity_tokens is not None and self.kv_capacity_tokens < 1:
            raise ValueError(f"kv_capacity_tokens is {self.kv_capacity_tokens}; expected at least 1, or none at all")

    def fits(self, prompt_tokens: int, output_tokens: int) -> bool:
        """Whether a request can ever be served, alone at least."""
        limits = [self.kv_capacity_tokens, None if self.chunked_prefill else self.max_batched_tokens]
        return all(limit is None or prompt_tokens + output_tokens <= limit for limit in limits)
