"""`Call` and its parts: the one noun that every command, log and report works on.

Values have no identity; a store adds ids. Units stand in the names (`ttft_s`, `prompt_tokens`). What an engine
reported (`cached_tokens`), what a cache rule predicts (`expected_cached_tokens`, see `results`) and what was
estimated never share a field. `None` is "not known"; it is never 0.

What is made of every call, here and elsewhere, has `gc=False`: nothing in it refers back to it, so the collector of
cycles, for which there would be ever more to look through, need not know of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct

REPEATED_TOTALS = "repeated_totals"
"""Key of `Usage.sources` that is there where a stream reported its input counters more than once: the events, in words.
Who adds them up counts the prompt twice."""


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Token counts of one call as the engine reported them, brought to one meaning.

    `prompt_tokens` are all input tokens, whatever the vendor's accounting. Each of them was read from the cache
    (`cached_tokens`), written to it (`written_tokens`) or computed and not kept (`fresh_tokens`). `cached_source` is
    the JSON path that `cached_tokens` was read from, or "null" (the field was there, without a value) or "absent".
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    written_tokens: int | None = None
    """All tokens written to the cache, of every lifetime."""
    written_5m_tokens: int | None = None
    """Those of them that are kept for five minutes, where the vendor splits the writes by lifetime."""
    written_1h_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_source: str = "absent"
    sources: dict[str, str] = {}
    """Per figure above, by its name, the JSON paths of the reply that it was computed from."""

    @property
    def accounting_fault(self) -> bool:
        """More cached and written than prompt tokens, or a negative count: the figures contradict each other."""
        prompt, cached, written = self.prompt_tokens, self.cached_tokens or 0, self.written_tokens or 0
        if cached < 0 or written < 0:
            return True
        return prompt is not None and (prompt < 0 or cached + written > prompt)

    @property
    def fresh_tokens(self) -> int | None:
        """Prompt tokens neither read from the cache nor written to it; None unless all three counts are known."""
        if self.prompt_tokens is None or self.cached_tokens is None or self.written_tokens is None:
            return None
        return None if self.accounting_fault else self.prompt_tokens - self.cached_tokens - self.written_tokens

    @property
    def hit_rate(self) -> float | None:
        """cached / prompt in 0..1, or None when either is unknown or the accounting is at fault."""
        if self.cached_tokens is None or not self.prompt_tokens or self.accounting_fault:
            return None
        return self.cached_tokens / self.prompt_tokens


class Timing(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """When things happened, in seconds after the request was written to the socket, by a monotonic clock.

    `sent_at_s` is that moment on the run's own monotonic clock, so that calls of a run can be put in order;
    `at` is the same moment as Unix time. `connect_s` is None when the connection was already open.
    """

    at: float
    sent_at_s: float
    connect_s: float | None = None
    tls_s: float | None = None
    headers_s: float | None = None
    ttft_s: float | None = None
    """First generated token: text, reasoning or tool-call delta, never an empty role chunk."""
    first_content_s: float | None = None
    """First visible text, after any reasoning."""
    total_s: float | None = None
    first_read_tokens: int = 0
    """Token events in the socket read that held the first one; above 1 the TTFT is an upper bound."""

    @property
    def ttft_is_upper_bound(self) -> bool:
        return self.first_read_tokens > 1


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the model answered. `message` is the assistant message exactly as it has to be sent back."""

    message: dict[str, Any]
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[dict[str, Any], ...] = ()
    finish_reason: str | None = None
    model: str | None = None
    response_id: str | None = None
    token_ids: tuple[int, ...] | None = None
    """Generated token ids where the engine gives them."""
    slot: int | None = None
    """The slot that answered, where the engine names it (llama.cpp)."""
    server_timings: dict[str, Any] | None = None
    """The engine's own timing block (llama.cpp `timings`, Groq `x_groq`, ...), untouched."""


class Happening(Struct, frozen=True, kw_only=True, gc=False):
    """Something a log says happened in a session between two calls.

    `kind` is "compaction", "setting" (model, thinking level, tools; `detail` names it with both values) or "aborted" (a
    call that ended before its usage came).
    """

    kind: str
    detail: str = ""
    at: float | None = None


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One request to a model: what was asked, what came back, how long it took, and from which target.

    `session` and `turn` (from 1) are hitrate's own labels. `body` holds the bytes as sent. `headers` and
    `response_headers` hold those that matter for caching and diagnosis; keys and cookies never.
    """

    target: str
    dialect: str
    body: bytes
    model: str | None = None
    session: str = ""
    turn: int = 0
    label: str = ""
    headers: dict[str, str] = {}
    status: int | None = None
    usage: Usage = Usage()
    timing: Timing | None = None
    reply: Reply | None = None
    response_headers: dict[str, str] = {}
    waits: tuple[float, ...] = ()
    """Seconds waited before each repeated try (429, 503 with Retry-After)."""
    error: str | None = None
    """Why the reply is missing or not whole; what came before the fault is kept."""
    raw_usage: dict[str, Any] | None = None
    happenings: tuple[Happening, ...] = ()
    """What the log says happened since the session's call before this one."""
    line: int | None = None
    """The line, from 1, of the log that it was read from, where that has lines."""
    rebuilt: bool = False
    """The log does not hold the request: `body` was put together from what it has of the conversation. A member that is
    not there may have been sent, and how things were written down is not known."""
    diagnosis: dict[str, Any] | None = None
    """What the vendor itself says about a missed cache (Anthropic's cache diagnostics), untouched."""


class StreamEvent(NamedTuple):
    """One server-sent event, with the moment its last byte was read.

    `stamp_ns` is monotonic; `read` numbers the socket read it ended in, so events of one read can be told.
    """

    stamp_ns: int
    read: int
    data: bytes


class Reading(Struct, frozen=True, kw_only=True, gc=False):
    """What a dialect made of a body or a stream.

    `first_token` and `first_content` are indices into the events that were read, None if there was none.
    `token_events` are the indices of all events that carried generated tokens.
    `complete` is False for a stream that ended without its end mark. `fault` says what was malformed or which
    error the server sent after status 200.
    """

    reply: Reply | None
    usage: Usage
    raw_usage: dict[str, Any] | None = None
    first_token: int | None = None
    first_content: int | None = None
    token_events: tuple[int, ...] = ()
    complete: bool = True
    fault: str | None = None
