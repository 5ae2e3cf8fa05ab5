"""Recorded calls as OpenTelemetry spans and metrics, sent to a collector over OTLP/HTTP. Needs the extra `otel`.

Names are those of the conventions for generative AI in the release that the SDK's package of semantic conventions has
(https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai); what newer ones call otherwise is there
under both names. A span covers one try, from the last byte of its request to the last of its response. Figures that a
server does not report are left out.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from hitrate.core.model import Call
from hitrate.errors import HitrateError, UsageError
from hitrate.record.otlp_content import content_attributes
from hitrate.record.otlp_names import operation_of, provider_of, server_of
from hitrate.targets.dialects.wire_json import parse_object

_TOKEN_BUCKETS = [4.0**exponent for exponent in range(14)]
_SECOND_BUCKETS = [0.01 * 2**exponent for exponent in range(14)]
"""As the conventions ask for (docs/gen-ai/gen-ai-metrics.md)."""

_FIRST_CHUNK_BUCKETS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0]

_TIMEOUT_S = 5.0


def check_otlp(url: str) -> str:
    """The URL without a slash at its end. UsageError for what is no URL, HitrateError where the extra is missing."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
        raise UsageError(
            f"{url!r} is no OTLP endpoint; expected something like http://127.0.0.1:4318",
            hint="headers with keys go into the variable OTEL_EXPORTER_OTLP_HEADERS",
        )
    for package in ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        try:
            found = find_spec(package) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise HitrateError(
                f"OTLP export needs {package}, which is not installed", hint="pip install 'hitrate[otel]'"
            )
    return url.rstrip("/")


def load() -> None:
    """Import now what an export imports else when it is made."""
    import opentelemetry.exporter.otlp.proto.http.metric_exporter
    import opentelemetry.exporter.otlp.proto.http.trace_exporter
    import opentelemetry.sdk.metrics.export
    import opentelemetry.sdk.trace.export  # noqa: F401


class OtlpExport:
    """Told of each stored call. Sends in batches from threads of its own; what a collector does not take within its
    time is dropped, and nothing waits for it. Of prompts and replies nothing is sent unless `content` says so."""

    def __init__(self, url: str, *, content: bool = False) -> None:
        """`url` is the collector's, `/v1/traces` and `/v1/metrics` are put behind it. Raises what `check_otlp` does."""
        base = check_otlp(url)
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "hitrate"}
        resource = Resource.create(named)
        self._content = content
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=_TIMEOUT_S))
        )
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=_TIMEOUT_S))
        self._metrics = MeterProvider(metric_readers=[reader], resource=resource, shutdown_on_exit=False)
        self._tracer = self._spans.get_tracer("hitrate")
        meter = self._metrics.get_meter("hitrate")
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS
        )
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", explicit_bucket_boundaries_advisory=_SECOND_BUCKETS
        )
        self._first_chunk = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk", "s", explicit_bucket_boundaries_advisory=_FIRST_CHUNK_BUCKETS
        )

    def add(self, call: Call) -> None:
        common = common_attributes(call)
        self._add_span(call, common)
        self._add_metrics(call, common)

    def close(self) -> None:
        """Send what is left, as far as the collector takes it within some seconds."""
        self._spans.shutdown()
        self._metrics.shutdown(timeout_millis=_TIMEOUT_S * 1000)

    def _add_span(self, call: Call, common: dict[str, Any]) -> None:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, Status, StatusCode

        timing = call.timing
        if timing is None:
            return
        content = content_attributes(call) if self._content else {}
        span = self._tracer.start_span(
            " ".join(filter(None, (common["gen_ai.operation.name"], call.model))),
            context=Context(),
            kind=SpanKind.CLIENT,
            attributes={**common, **span_attributes(call), **content},
            start_time=_nanoseconds(timing.at),
        )
        if call.error is not None:
            span.set_status(Status(StatusCode.ERROR, call.error if self._content else None))
        known_s = (timing.total_s, timing.first_content_s, timing.ttft_s, timing.headers_s)
        span.end(_nanoseconds(timing.at + next((seconds for seconds in known_s if seconds is not None), 0.0)))

    def _add_metrics(self, call: Call, common: dict[str, Any]) -> None:
        timing, usage = call.timing, call.usage
        without_error = {name: value for name, value in common.items() if name != "error.type"}
        if not usage.accounting_fault:
            for kind, tokens in (("input", usage.prompt_tokens), ("output", usage.output_tokens)):
                if tokens is not None:
                    self._tokens.record(tokens, {**without_error, "gen_ai.token.type": kind})
        if timing is not None and timing.total_s is not None:
            self._duration.record(timing.total_s, common)
        if timing is not None and timing.ttft_s is not None:
            self._first_chunk.record(timing.ttft_s, without_error)


def common_attributes(call: Call) -> dict[str, Any]:
    """What spans and metrics both have: few values each."""
    address, port = server_of(call.target)
    return _known(
        {
            "gen_ai.operation.name": operation_of(call.dialect),
            "gen_ai.provider.name": provider_of(call.target, call.dialect),
            "gen_ai.request.model": call.model,
            "gen_ai.response.model": call.reply.model if call.reply else None,
            "server.address": address,
            "server.port": port,
            "error.type": _error_type(call),
        }
    )


def span_attributes(call: Call) -> dict[str, Any]:
    """Of one call alone. Nothing of its prompt or reply."""
    usage, reply, timing = call.usage, call.reply, call.timing
    asked = parse_object(call.body)[0] or {}
    limit = asked.get("max_completion_tokens", asked.get("max_output_tokens", asked.get("max_tokens")))
    return _known(
        {
            "gen_ai.conversation.id": call.session or None,
            "gen_ai.request.stream": asked["stream"] if isinstance(asked.get("stream"), bool) else None,
            "gen_ai.request.max_tokens": limit if type(limit) is int else None,
            "gen_ai.response.id": reply.response_id if reply else None,
            "gen_ai.response.finish_reasons": [reply.finish_reason] if reply and reply.finish_reason else None,
            "gen_ai.response.time_to_first_chunk": timing.ttft_s if timing else None,
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.written_tokens,
            "gen_ai.usage.cache_write.input_tokens": usage.written_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "http.response.status_code": call.status,
            "hitrate.hit_rate": usage.hit_rate,
        }
    )


def _known(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _error_type(call: Call) -> str | None:
    if call.status is not None and call.status >= 400:
        return str(call.status)
    return None if call.error is None else "_OTHER"


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
