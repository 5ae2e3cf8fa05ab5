"""From request bytes to an answer, and what happens when it ended: all of the practice server but HTTP and waiting."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from hmac import compare_digest
from typing import NamedTuple

from hitrate.caches.interface import PrefixCache
from hitrate.errors import ContextTooSmall
from hitrate.serve.practice.caches import prompt_limit
from hitrate.serve.practice.engine import Job, PracticeEngine
from hitrate.serve.practice.faults import ActiveFaults
from hitrate.serve.practice.limits import RateLimit
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.replies import make_reply
from hitrate.serve.practice.wire import Answer, PracticeRequest, Refused, Reply, Wire
from hitrate.sim.routing.interface import RoutingRequest
from hitrate.tokens.interface import Tokenizer
from hitrate.tokens.rendering import prompt_tokens

AFFINITY_HEADERS = (
    "x-session-affinity",
    "x-session-id",
    "x-session-token",
    "x-smg-routing-key",
    "x-routing-key",
    "x-dynamo-session-id",
    "x-claude-code-session-id",
    "x-grok-conv-id",
    "session-id",
    "session_id",
    "conversation-id",
)
"""Headers that name a session, the one that wins first. Members of the body win over all of them."""


class Accepted(NamedTuple):
    """A request that was let in. Its job may have to wait before there is an answer."""

    wire: Wire
    request: PracticeRequest
    reply: Reply
    job: Job
    faults: ActiveFaults


class Service:
    """`accept` → (wait until the job is admitted) → `answer` → `engine.first_token` → `finish`, or `engine.abort`."""

    def __init__(self, options: PracticeOptions, tokenizer: Tokenizer, make_cache: Callable[[], PrefixCache]) -> None:
        self.options = options
        self.engine = PracticeEngine(options, make_cache)
        self.calls = 0
        self.prompt_limit = prompt_limit(options)
        self._tokenizer = tokenizer
        self._limit = RateLimit(options.rpm_limit) if options.rpm_limit is not None else None

    def accept(
        self,
        wire: Wire,
        body: bytes,
        headers: Mapping[str, str],
        *,
        now: Callable[[], float],
        read_at: float,
        admitted: Callable[[], None],
    ) -> Accepted:
        """Count the call, refuse or read it, route it. `headers` have names in lower case. Raises Refused."""
        options = self.options
        self.calls += 1
        faults = ActiveFaults(options.faults, self.calls, options.seed)
        self._check_key(headers)
        self._check_load(faults, now())
        request = wire.read(body)
        if options.model(request.model) is None:
            known = ", ".join(model.name for model in options.models)
            raise Refused(
                404,
                f"The model '{request.model}' does not exist; this server has {known}",
                "model_not_found",
                param="model",
            )
        prompt = array("q", prompt_tokens(request.prompt, self._tokenizer))
        room = self._room(len(prompt))
        reply = make_reply(
            request,
            prompt,
            options,
            room=room,
            reasoning_tokens=faults.get("reasoning-first", {}).get("tokens", 0),
            count_tokens=lambda text: len(self._tokenizer.encode(text)),
        )
        affinity = request.prompt.affinity or next(filter(None, map(headers.get, AFFINITY_HEADERS)), None)
        arriving = RoutingRequest(prompt, affinity, request.prompt.namespace)
        try:
            job = self.engine.arrive(self.calls, arriving, now=now(), read_at=read_at, admitted=admitted)
        except ContextTooSmall as error:
            raise Refused(400, error.message, "context_length_exceeded", param="messages") from None
        return Accepted(wire, request, reply, job, faults)

    def answer(self, accepted: Accepted, *, created: int) -> Answer:
        """What to send for an admitted job; `created` is Unix time."""
        cached = accepted.job.cached_tokens
        assert cached is not None, "the job still waits"
        faults = accepted.faults
        return Answer(
            accepted.request.model,
            created,
            accepted.reply,
            accepted.job.prompt_tokens,
            cached,
            usage="no-usage" not in faults and (accepted.request.include_usage or not accepted.request.stream),
            details="null" if "null-details" in faults else "absent" if "no-details" in faults else "full",
        )

    def finish(self, accepted: Accepted, *, now: Callable[[], float]) -> None:
        """The whole answer left: keep it for the next turn."""
        generated = self.generated(accepted)
        self.engine.finish(accepted.job, generated, len(accepted.reply.pieces), now=now())

    def generated(self, accepted: Accepted) -> Sequence[int]:
        """The reply's tokens as they follow the prompt when the client sends them back, the message's end included.

        What an engine generated helps the next turn only if that turn renders to the same tokens; here it does,
        because both come from one rendering.
        """
        rendered = prompt_tokens(accepted.wire.sent_back(accepted.reply), self._tokenizer)
        # The first id opens the message, as the prompt already did; the last one opens the answer to come.
        return rendered[1:-1]

    def reset(self) -> None:
        self.calls = 0
        self.engine.reset()
        if self._limit is not None:
            self._limit.reset()

    def _check_key(self, headers: Mapping[str, str]) -> None:
        key = self.options.api_key
        if key is not None and not compare_digest(headers.get("authorization", "").encode(), f"Bearer {key}".encode()):
            raise Refused(401, "Incorrect API key provided", "invalid_api_key")

    def _check_load(self, faults: ActiveFaults, now: float) -> None:
        wait = self._limit.take(now) if self._limit is not None else None
        if "429" in faults:
            wait = max(wait or 0, faults["429"]["retry_after"])
        if wait is not None:
            limit = f" of {self.options.rpm_limit} requests per minute" if self.options.rpm_limit is not None else ""
            message = f"Rate limit{limit} reached. Please try again in {wait}s."
            raise Refused(429, message, "rate_limit_exceeded", kind="requests", retry_after=wait)
        if "500" in faults:
            raise Refused(500, "The server had an error, as it was told to", kind="server_error")

    def _room(self, prompt_tokens: int) -> int | None:
        """Tokens that the context has left for a reply, None without a limit. Raises Refused when there are none."""
        limit = self.prompt_limit
        if limit is None:
            return None
        if prompt_tokens >= limit.tokens:
            where_from = f" ({limit.where_from})" if limit.where_from else ""
            raise Refused(
                400,
                f"This model's maximum context length is {limit.tokens} tokens{where_from}. However, your messages"
                f" resulted in {prompt_tokens} tokens. Please reduce the length of the messages.",
                "context_length_exceeded",
                param="messages",
                members={"n_prompt_tokens": prompt_tokens, "n_ctx": limit.tokens},
            )
        return limit.tokens - prompt_tokens
