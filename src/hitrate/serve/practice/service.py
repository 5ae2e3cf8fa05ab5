"""From request bytes to an answer, and what happens when it ended: all of the practice server but HTTP and waiting."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from hmac import compare_digest
from typing import NamedTuple

from msgspec.structs import replace

from hitrate.caches.breakpoints import BreakpointLease
from hitrate.caches.interface import PrefixCache
from hitrate.core.prompt import CanonicalPrompt
from hitrate.errors import ContextTooSmall, UsageError
from hitrate.serve.practice.breakpoints import cache_keywords
from hitrate.serve.practice.cached_objects import CachedObjects
from hitrate.serve.practice.caches import cache_model, lifetimes, prompt_limit
from hitrate.serve.practice.engine import Job, PracticeEngine
from hitrate.serve.practice.faults import ActiveFaults
from hitrate.serve.practice.knobs import affinity_of, namespace_of, with_settings
from hitrate.serve.practice.limits import RateLimit
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.reading import TOO_DEEP
from hitrate.serve.practice.replies import make_reply
from hitrate.serve.practice.vendors import Vendor, vendor
from hitrate.serve.practice.wire import Answer, PracticeRequest, Refused, Reply, Wire
from hitrate.sim.routing.interface import RoutingRequest
from hitrate.tokens.interface import Tokenizer
from hitrate.tokens.rendering import prompt_tokens, rendered

NOTHING: Mapping[str, str] = {}

SETTINGS_PART_MESSAGES = ("anthropic-2026-11",)
"""Rules under which a changed setting makes the messages new to the cache, but not tools and system."""


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
        self.vendor: Vendor | None = None if options.imitates is None else vendor(options.imitates)
        self.engine = PracticeEngine(options, make_cache)
        self.calls = 0
        self.prompt_limit = prompt_limit(options)
        self.objects = CachedObjects(self.engine.caches)
        self._tokenizer = tokenizer
        self._cache_model = cache_model(options)
        self._lifetimes = lifetimes(options)
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
        place: Mapping[str, str] = NOTHING,
        query: Mapping[str, str] = NOTHING,
    ) -> Accepted:
        """Count the call, refuse or read it, route it. `headers` have names in lower case, `place` are the parts of
        the path that the wire names. Raises Refused."""
        options = self.options
        self.calls += 1
        faults = ActiveFaults(options.faults, self.calls, options.seed)
        self.check_key(wire, headers, query)
        self._check_load(faults, now())
        request = _read(wire, body, {**query, **place})
        if not request.model:
            request = replace(request, model=options.models[0].name)
        self.check_model(request.model)
        self._check_members(request, headers)
        arriving = self._arriving(request, headers, now())
        reply = make_reply(
            request,
            arriving.tokens,
            options,
            room=self._room(len(arriving.tokens)),
            reasoning_tokens=faults.get("reasoning-first", {}).get("tokens", 0),
            count_tokens=self.count_tokens,
        )
        try:
            job = self.engine.arrive(self.calls, arriving, now=now(), read_at=read_at, admitted=admitted)
        except ContextTooSmall as error:
            raise Refused(400, error.message, "context_length_exceeded", param="messages") from None
        except UsageError as error:
            raise Refused(400, error.message) from None
        return Accepted(wire, request, reply, job, faults)

    def answer(self, accepted: Accepted, *, created: int) -> Answer:
        """What to send for an admitted job; `created` is Unix time."""
        job, faults, request = accepted.job, accepted.faults, accepted.request
        assert job.cached_tokens is not None, "the job still waits"
        return Answer(
            request.model,
            created,
            accepted.reply,
            job.prompt_tokens,
            job.cached_tokens,
            usage="no-usage" not in faults and (request.include_usage or not request.stream),
            details=self._details(accepted),
            written=self._written(job),
            prefill_s=job.expected_ttft_s or 0.0,
            decode_s=(len(accepted.reply.pieces) - 1) / self.options.decode_rate,
            sent=request.sent,
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
        self.objects.reset()
        if self._limit is not None:
            self._limit.reset()

    def check_key(self, wire: Wire, headers: Mapping[str, str], query: Mapping[str, str] = NOTHING) -> None:
        """Raises Refused without the server's key, or, where the vendor wants one, without any."""
        wanted = self.options.api_key
        if wanted is None and (self.vendor is None or not self.vendor.key_required):
            return
        key = wire.key(headers, query)
        if key is None or (wanted is not None and not compare_digest(key.encode(), wanted.encode())):
            message = "No API key provided" if key is None and wanted is None else "Incorrect API key provided"
            raise Refused(401, message, "invalid_api_key")

    def check_model(self, name: str) -> None:
        if self.options.model(name) is None:
            known = ", ".join(model.name for model in self.options.models)
            message = f"The model '{name}' does not exist; this server has {known}"
            raise Refused(404, message, "model_not_found", param="model")

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text))

    def object_tokens(self, prompt: CanonicalPrompt) -> array[int]:
        """What a prompt that continues this one starts with."""
        # The last id opens an answer.
        return array("q", prompt_tokens(prompt, self._tokenizer)[:-1])

    def _check_members(self, request: PracticeRequest, headers: Mapping[str, str]) -> None:
        """Raises Refused for what the imitated vendor does not take."""
        if self.vendor is None:
            return
        for name in self.vendor.required_headers:
            if not headers.get(name):
                raise Refused(400, f"{name}: header is required")
        refusal = self.vendor.refusal(request.sent, request.model)
        if refusal is not None:
            raise Refused(refusal.status, refusal.message, refusal.code, kind=refusal.kind, param=refusal.member)

    def _arriving(self, request: PracticeRequest, headers: Mapping[str, str], now: float) -> RoutingRequest:
        tokens, ends = rendered(request.prompt, self._tokenizer)
        if self.options.rule in SETTINGS_PART_MESSAGES:
            tokens = with_settings(tokens, _start_of_messages(request.prompt, ends), request.message_settings)
        if request.cached_object is not None:
            tokens = [*self.objects.tokens(request.cached_object, request.model, now), *tokens]
        affinity = affinity_of(request, headers, self.vendor)
        namespace = namespace_of(request, self.vendor)
        if affinity is None and self.vendor is not None and self.vendor.caches_only_with_affinity:
            namespace = (*namespace, f"call {self.calls}")
        keywords = cache_keywords(self._cache_model, request, ends, self._lifetimes)
        return RoutingRequest(array("q", tokens), affinity, namespace, keywords)

    def _details(self, accepted: Accepted) -> str:
        """How cached tokens are told: as a fault says, else as the vendor does on this wire."""
        for fault, details in (("null-details", "null"), ("no-details", "absent")):
            if fault in accepted.faults:
                return details
        if self.vendor is None or accepted.wire.name != "openai-chat":
            return "full"
        return "full" if self.vendor.details_flag and self.options.cache_report else self.vendor.details

    def _written(self, job: Job) -> dict[str, int] | None:
        if not isinstance(job.lease, BreakpointLease):
            return None
        by_ttl = job.lease.written_by_ttl
        return {name: by_ttl.get(seconds, 0) for name, seconds in self._lifetimes.items()}

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


def _read(wire: Wire, body: bytes, place: Mapping[str, str]) -> PracticeRequest:
    try:
        return wire.read(body, place)
    except RecursionError:  # JSON that could be decoded, but a wire's walk through it goes deeper
        raise Refused(400, TOO_DEEP) from None


def _start_of_messages(prompt: CanonicalPrompt, ends: Sequence[int]) -> int:
    ahead = [
        end for segment, end in zip(prompt.segments, ends, strict=True) if segment.kind in ("tools", "schema", "system")
    ]
    # The mark that ends a message stands behind its last segment.
    return ahead[-1] + 1 if ahead else 0
