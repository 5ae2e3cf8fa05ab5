"""Langfuse: exports of observations or generations as JSON, JSONL or CSV, a downloaded trace, and answers of its API.

An observation has `input`, `output`, `model`, `startTime`, `completionStartTime`, `endTime`, `traceId`, often
`sessionId`, and since version 3 `usageDetails` and `costDetails`; version 2 had `usage` (input, output, total, unit) or
`promptTokens`, `completionTokens`, `totalTokens` (fern/apis/server/definition/commons.yml and
worker/src/features/database-read-stream/observation-stream.ts in github.com/langfuse/langfuse). The export to a bucket
writes the same names with underscores. A downloaded trace is `{"trace": {...}, "observations": [...]}`, an answer of
the API `{"data": [...]}`. Only generations are calls.

`usageDetails` are meant to add up: Langfuse takes cached tokens out of `input` as it takes usage in, and whatever has
"input" in its name belongs to the prompt. An SDK that leaves them in counts them twice
(https://github.com/langfuse/langfuse/issues/12306); the total or the attributes in `metadata` show that, and where they
do not settle it the prompt tokens are unknown.

The request is what an SDK wrote down: messages, or an object with messages and tools; the model's parameters stand
beside it. What was too large is "<truncated due to size exceeding limit>" (the SDKs), and tables on the screen end text
in "...[truncated]".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from hitrate.core.model import Usage
from hitrate.core.records import Skipped
from hitrate.core.spans import compact
from hitrate.logs.in_order import in_order
from hitrate.logs.interface import Item, ReplyReader
from hitrate.logs.json_values import Row, body_of, unpacked
from hitrate.logs.own_counts import count
from hitrate.logs.pairs import unix_time
from hitrate.logs.shapes import is_request_body, kind
from hitrate.logs.tables import first_rows, rows
from hitrate.logs.told import LeftOut, Told, calls_told, dollars, text

_ARRAYS = (("data",), ("observations",), ("generations",))

_NAMES = (
    "usageDetails", "usage_details", "completionStartTime", "completion_start_time", "modelParameters",
    "model_parameters", "parentObservationId", "parent_observation_id", "promptTokens", "observations",
)  # fmt: skip
"""Names that tell an observation, beside those of its trace and its start."""

_CACHED = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read", "input_cache_read_tokens")
_WRITTEN = (
    "input_cache_creation", "cache_creation_input_tokens", "input_cache_creation_tokens", "input_cache_write",
    "input_cache_write_tokens",
)  # fmt: skip
_OTEL_INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")

_CUT = (
    ("<truncated due to size exceeding limit>", "the input was too large for Langfuse's SDK and is not there"),
    ("...[truncated", "the input was cut by Langfuse"),
    ("redacted-by-litellm", "the input was masked by LiteLLM"),
)

_LEAST_CHARACTERS_A_TOKEN = 1.5
"""A text with fewer cannot be the whole prompt: it is what a user typed, say, without the instructions."""


class Langfuse:
    name = "langfuse"
    about = "Langfuse's observations or generations (JSON, JSONL, CSV), or a downloaded trace"

    def matches(self, head: bytes, path: str) -> bool:
        return any(_is_observation(row) for row in first_rows(head, _ARRAYS))

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        traces: set[str] = set()
        yield from in_order(_items(stream, read_reply, traces), traces)


def _is_observation(row: Mapping[str, Any]) -> bool:
    placed = ("traceId" in row and "startTime" in row) or ("trace_id" in row and "start_time" in row)
    return placed and any(name in row for name in _NAMES)


def _items(stream: BinaryIO, read_reply: ReplyReader, traces: set[str]) -> Iterator[Item]:
    """`traces` gets those that stand in for a session."""
    left_out = LeftOut()
    for row in rows(stream, _ARRAYS):
        if isinstance(row, Skipped):
            yield row
            continue
        yield from row.remarks
        if not isinstance(row.value, dict):
            yield Skipped(line=row.line, reason=f"the record is {kind(row.value)}, expected an observation")
            continue
        observation = _Observation(row)
        if (type_ := observation.text("type").upper()) not in ("GENERATION", ""):
            left_out.add(row.line, f"observations of the type {type_}")
        elif not type_ and not observation.is_call():
            left_out.add(row.line, "observations without a model and usage")
        else:
            told = _told(observation)
            if not told.session and (trace := observation.text("traceId")):
                traces.add(trace)
                told.session = trace
            yield from calls_told(told, read_reply, row.line)
    yield from left_out.remarks()


class _Observation:
    """A record's members by their names of the API, whether it writes them so, with underscores, or in a table."""

    def __init__(self, row: Row) -> None:
        self._members: dict[str, Any] = row.value
        trace = row.around.get("trace")
        self._trace = trace if isinstance(trace, dict) else row.around

    def __getitem__(self, name: str) -> Any:
        if name in self._members:
            return unpacked(self._members[name])
        return unpacked(self._members.get(_with_underscores(name)))

    def text(self, name: str) -> str:
        value = self._members.get(name, self._members.get(_with_underscores(name)))
        return text(value)

    def object(self, name: str) -> dict[str, Any]:
        return value if isinstance(value := self[name], dict) else {}

    def time(self, name: str) -> float | None:
        return unix_time(self._members.get(name, self._members.get(_with_underscores(name))))

    @property
    def model(self) -> str:
        return self.text("model") or self.text("providedModelName")

    @property
    def session(self) -> str:
        return self.text("sessionId") or text(self._trace.get("sessionId"))

    def is_call(self) -> bool:
        return bool(self.model) or any(self[name] for name in ("usageDetails", "usage", "promptTokens"))


def _with_underscores(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _told(observation: _Observation) -> Told:
    usage, raw_usage, doubt = _usage(observation)
    request, body, withheld = _request(observation, usage)
    started, first, ended = (observation.time(name) for name in ("startTime", "completionStartTime", "endTime"))
    failed = observation.text("level").upper() == "ERROR"
    cost = observation.object("costDetails").get("total")
    named_cost = next((observation[name] for name in ("totalCost", "calculatedTotalCost") if observation[name]), None)
    return Told(
        request=request,
        body=body,
        rebuilt=True,
        withheld=withheld,
        usage=usage,
        raw_usage=raw_usage,
        doubts=() if doubt is None else (doubt,),
        cost=dollars(cost) or dollars(named_cost),
        model=observation.model or None,
        session=observation.session,
        label=observation.text("name"),
        at=started,
        ttft_s=None if started is None or first is None else first - started,
        total_s=None if started is None or ended is None else ended - started,
        error=(observation.text("statusMessage")[:300] or "the call failed") if failed else None,
    )


def _request(observation: _Observation, usage: Usage | None) -> tuple[Any, bytes, str | None]:
    """The request body put together, its bytes, and why it is not whole."""
    given = observation["input"]
    parameters = observation.object("modelParameters")
    around = {"model": observation.model or None, **parameters}
    if isinstance(given, dict) and is_request_body(given):
        made: dict[str, Any] = {**around, **{name: unpacked(value) for name, value in given.items()}}
    elif isinstance(given, list) and given:
        made = {**around, "messages": given}
    elif isinstance(given, str) and given:
        made = {**around, "prompt": given}
    else:
        return None, b"", None if given in (None, "", [], {}) else f"the input is {kind(given)}, not a request"
    if isinstance(made.get("messages"), list):
        made["messages"] = _messages(made["messages"])
    request, body = body_of({name: value for name, value in made.items() if value is not None})
    cut = next((reason for mark, reason in _CUT if mark.encode() in body), None)
    if cut is None and isinstance(given, str) and _is_too_short(given, usage):
        cut = "the input is a text of fewer characters than the prompt has tokens, so not all that was sent"
    return request, body, cut


def _messages(given: list[Any]) -> list[Any]:
    """Messages as a request has them: some SDKs write each as text, or a tool's result as the object it was."""
    if len(given) == 1 and isinstance(given[0], list):  # LangChain's batch of one
        given = given[0]
    messages = [unpacked(message) for message in given]
    return [
        {**message, "content": compact(message["content"])}
        if isinstance(message, dict) and isinstance(message.get("content"), dict)
        else message
        for message in messages
    ]


def _is_too_short(given: str, usage: Usage | None) -> bool:
    prompt = None if usage is None else usage.prompt_tokens
    return prompt is not None and len(given) < _LEAST_CHARACTERS_A_TOKEN * prompt


def _usage(observation: _Observation) -> tuple[Usage | None, dict[str, Any] | None, str | None]:
    """The usage, as it stands in the record, and what is odd about it."""
    details = observation.object("usageDetails")
    if any(count(value) for value in details.values()):
        found, doubt = _of_details(details, observation)
        return found, details, doubt
    old = observation.object("usage")
    unit = text(old.get("unit")) or observation.text("unit") or "TOKENS"
    if unit.upper() != "TOKENS":
        return None, old or None, f"usage is counted in {unit.lower()}, so the token counts are not known"
    prompt = _first_count(
        old.get("input"), old.get("promptTokens"), observation["promptTokens"], observation["inputUsage"]
    )
    output = _first_count(
        old.get("output"), old.get("completionTokens"), observation["completionTokens"], observation["outputUsage"]
    )
    if prompt is None and output is None:
        return None, None, None
    usage = Usage(prompt_tokens=prompt, output_tokens=output, sources={"prompt_tokens": "usage.input"})
    return usage, old or None, None


def _first_count(*values: Any) -> int | None:
    """Zeros stand for what nobody counted."""
    return next((found for value in values if (found := count(value))), None)


def _of_details(details: dict[str, Any], observation: _Observation) -> tuple[Usage, str | None]:
    counts = {name: found for name, value in details.items() if (found := count(value)) is not None}
    inputs = [name for name in counts if "input" in name]
    cached_name = next((name for name in _CACHED if name in counts), None)
    written_names = [name for name in _WRITTEN if name in counts][:1] or [
        name for name in counts if name.startswith(("input_cache_creation_", "cache_creation_input_"))
    ]
    cached = None if cached_name is None else counts[cached_name]
    written = sum(counts[name] for name in written_names) if written_names else None
    outputs = [name for name in counts if "output" in name]
    output = sum(counts[name] for name in outputs) if outputs else None
    prompt: int | None = sum(counts[name] for name in inputs) if "input" in counts else None
    doubt = None
    if prompt is not None:
        prompt, doubt = _settled(counts, prompt, output, (cached or 0) + (written or 0), observation)
    sources = {"prompt_tokens": " + ".join(f"usageDetails.{name}" for name in inputs)}
    return (
        Usage(
            prompt_tokens=prompt,
            cached_tokens=cached,
            written_tokens=written,
            output_tokens=output,
            reasoning_tokens=counts.get("output_reasoning_tokens", counts.get("output_reasoning")),
            cached_source="absent" if cached_name is None else f"usageDetails.{cached_name}",
            sources=sources if prompt is not None else {},
        ),
        doubt,
    )


def _settled(
    counts: dict[str, int], prompt: int, output: int | None, beside: int, observation: _Observation
) -> tuple[int | None, str | None]:
    """All prompt tokens, where `prompt` are all inputs added up; None with the reason where `input` may already hold
    those that stand beside it."""
    alone, total = counts["input"], counts.get("total")
    if not beside or beside > alone:  # what is less than the cached tokens does not hold them
        return prompt, None
    if total is not None and total not in (prompt + (output or 0), 0):
        if total == alone + (output or 0):
            return alone, None
        return None, (
            f"usageDetails.total is {total:,}, the parts add up to {prompt + (output or 0):,}; "
            "the prompt tokens are taken as not known"
        )
    told = next((found for name in _OTEL_INPUT if (found := _attribute(observation, name)) is not None), None)
    if told == prompt or told is None or told != alone:
        return prompt, None
    return None, (
        f"usageDetails.input is {alone:,}, as is the {_OTEL_INPUT[0]} that was sent, which by its convention holds the "
        f"{beside:,} cached and written ones; the prompt tokens are taken as not known"
    )


def _attribute(observation: _Observation, name: str) -> int | None:
    """An OpenTelemetry attribute that Langfuse kept."""
    attributes = unpacked(observation.object("metadata").get("attributes"))
    value = attributes.get(name) if isinstance(attributes, dict) else None
    return count(value)
