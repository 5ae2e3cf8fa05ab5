"""What is odd about how a log reports cached tokens: nothing is lost on the wire, but the figure is easily read wrong.

The calls are handed over one by one; the findings are of the whole log, so they name no call. An ordinary log raises
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hitrate.core.findings import Confidence, Finding, Oddity
from hitrate.core.model import REPEATED_TOTALS, Usage
from hitrate.explain.evidence import Seen
from hitrate.explain.oddities.whole_log import whole_log_finding
from hitrate.explain.signs import served_nothing

_LEAST_CALLS = 2
"""Calls that show the same oddity, where one of them could be chance."""

_WARM_SHARE = 0.5
"""A first token in less than half the time of the conversation's first call, at no shorter prompt, was not cold."""

_UNUSUAL = {
    "openai-chat": frozenset(
        {
            "usage.cached_tokens",
            "usage.num_cached_tokens",
            "usage.prompt_cache_hit_tokens",
            "usage.prompt_token_details.cached_tokens",
            "usage.input_tokens_details.cached_tokens",
            "usage.cache_read_input_tokens",
        }
    ),
    "openai-responses": frozenset({"usage.prompt_tokens_details.cached_tokens", "usage.cached_tokens"}),
}
"""Places that a reader written for this wire does not look at: Moonshot, Mistral, DeepSeek, MiniMax and others."""

_USUAL = {
    "openai-chat": "usage.prompt_tokens_details.cached_tokens",
    "openai-responses": "usage.input_tokens_details.cached_tokens",
}

_CACHED_PLACES: tuple[tuple[str, ...], ...] = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("cached_tokens",),
    ("num_cached_tokens",),
    ("cache_read_input_tokens",),
    ("cacheReadInputTokens",),
    ("cachedContentTokenCount",),
)
"""Where one usage object may tell the cached tokens; two that are there have to agree."""

_HOLD_CACHED = frozenset(place[0] for place in _CACHED_PLACES)

_INPUT_COUNTERS = ("input_tokens", "prompt_tokens", "cache_read_input_tokens", "promptTokenCount")


_ABOUT = {
    "lines-repeated": "Several lines of the log are one answer and repeat its usage.",
    "stream-totals-repeated": "A stream tells its input counters more than once; they are running totals, not parts.",
    "unusual-field": "Cached tokens are reported at a place where a reader written for this wire does not look.",
    "counts-contradict": "Two figures of one usage object contradict each other.",
    "zero-but-warm": "Cached tokens are reported as 0, and the time to first token says that the cache works.",
    "not-reported-but-warm": "Cached tokens are not reported, and the time to first token says that the cache works.",
    "not-reported": "The field for cached tokens is there and null, which is not 0.",
}
_REPORTS = {
    "lines-repeated": ("https://github.com/ccusage/ccusage/issues/994",),
    "stream-totals-repeated": ("https://github.com/envoyproxy/ai-gateway/issues/2279",),
    "unusual-field": ("https://github.com/earendil-works/pi/issues/8075",),
    "counts-contradict": ("https://github.com/BerriAI/litellm/issues/11789",),
    "zero-but-warm": ("https://github.com/jundot/omlx/issues/1803",),
    "not-reported-but-warm": ("https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2419",),
    "not-reported": ("https://github.com/vllm-project/vllm-ascend/issues/9030",),
}

REPORTING_ODDITIES = tuple(
    Oddity(name=name, verdict="reporting", voice="observation", about=about, reports=_REPORTS[name])
    for name, about in _ABOUT.items()
)


class Reporting:
    """`add` every call of a log in order, then take `findings`."""

    def __init__(self) -> None:
        self._unusual: dict[tuple[str, str], list[int]] = {}
        self._conflicts: list[int] = []
        self._conflict = ""
        self._null: list[int] = []
        self._warm_at_zero: list[int] = []
        self._warm_unreported: list[int] = []
        self._streams: list[int] = []
        self._reports_any = False
        self._serves_any = False
        self._cold: dict[int, tuple[float, int]] = {}
        self._told_twice = False
        """Whether a usage told the cached tokens at two places."""

    def add(self, seen: Seen, raw_usage: Mapping[str, Any] | None, *, continues: bool) -> None:
        """`continues`: the call goes on with a conversation whose text is whole."""
        if not seen.answered:
            return
        usage, index = seen.usage, seen.index
        cached = usage.cached_tokens
        if cached is not None:
            self._reports_any = True
            self._serves_any = self._serves_any or not served_nothing(seen)
        if cached and usage.cached_source in _UNUSUAL.get(seen.dialect, ()):
            self._unusual.setdefault((seen.dialect, usage.cached_source), []).append(index)
        if conflict := self._contradiction(usage, raw_usage):
            self._conflicts.append(index)
            self._conflict = self._conflict or conflict
        if REPEATED_TOTALS in usage.sources:
            self._streams.append(index)
        if continues and cached is None and usage.cached_source == "null":
            self._null.append(index)
        if seen.ttft_s is not None:
            self._add_time(seen, continues)

    def add_usual(self, seen: Seen, raw_usage: Mapping[str, Any] | None) -> None:
        """`add` for a call that goes on from an earlier one and differs from that in line, time and counts alone, which
        are known and do not contradict each other."""
        usage = seen.usage
        unusual = usage.cached_source in _UNUSUAL.get(seen.dialect, ())
        if unusual or self._told_twice or REPEATED_TOTALS in usage.sources:
            self.add(seen, raw_usage, continues=True)
        else:
            self._reports_any = True
            self._serves_any = self._serves_any or not served_nothing(seen)

    def _add_time(self, seen: Seen, continues: bool) -> None:
        """Holds a call's first token against that of its conversation's first call."""
        prompt = seen.usage.prompt_tokens
        if seen.ttft_s is None or prompt is None:
            return
        cold = self._cold.get(seen.conversation)
        if cold is None:
            self._cold[seen.conversation] = (seen.ttft_s, prompt)
            return
        if not continues or prompt < cold[1] or seen.ttft_s >= _WARM_SHARE * cold[0]:
            return
        if seen.usage.cached_tokens is None:
            self._warm_unreported.append(seen.index)
        elif served_nothing(seen):
            self._warm_at_zero.append(seen.index)

    def _contradiction(self, usage: Usage, raw_usage: Mapping[str, Any] | None) -> str | None:
        """The two figures that contradict each other, in words."""
        places = _places(raw_usage)
        self._told_twice = self._told_twice or len(places) > 1
        cached, written = usage.cached_tokens or 0, usage.written_tokens or 0
        if not 0 <= cached <= cached + written <= (usage.prompt_tokens or 0) and usage.accounting_fault:
            beside = f" and {written:,} written" if written else ""
            return f"{cached:,} cached{beside} of {usage.prompt_tokens or 0:,} prompt tokens"
        told = _told(places) if len(places) > 1 else []
        for place, count in told[1:]:
            if count != told[0][1]:
                return f"{told[0][0]} says {told[0][1]:,}, {place} says {count:,}"
        return None

    def findings(self, *, repeated: int = 0, answers: int = 0) -> tuple[Finding, ...]:
        """`repeated` lines of the log were copies, all of them together stand for `answers` calls."""
        return tuple(self._findings(repeated, answers))

    def _findings(self, repeated: int, answers: int) -> Iterator[Finding]:
        if repeated:
            yield _finding(
                "lines-repeated",
                (),
                f"{answers + repeated:,} lines stand for {answers:,} answer{'' if answers == 1 else 's'}: the others "
                "repeat the same usage and are counted once here.",
                "Count each pair of message id and request id once, with its largest figures.",
            )
        if self._streams:
            yield _finding(
                "stream-totals-repeated",
                self._streams,
                "hitrate counted right, and nothing is lost: the stream tells its input counters more than once, as "
                "running totals of which the last counts. Added up, every input token counts twice.",
                "Keep the last value of each counter; never add those of message_start and message_delta.",
            )
        for (dialect, source), calls in self._unusual.items():
            yield _finding(
                "unusual-field",
                calls,
                f"Cached tokens are reported as {source}; a reader that looks only at {_USUAL[dialect]} shows 0 %.",
                f"Read {source} where {_USUAL[dialect]} is not there.",
            )
        if self._conflicts:
            yield _finding(
                "counts-contradict",
                self._conflicts,
                f"Two figures of one usage object contradict each other: {self._conflict}.",
                "Find out which gateway writes the second one; until then neither hit rate nor bill can be trusted.",
            )
        yield from self._unreported()

    def _unreported(self) -> Iterator[Finding]:
        if len(self._warm_at_zero) >= _LEAST_CALLS and not self._serves_any:
            yield _finding(
                "zero-but-warm",
                self._warm_at_zero,
                "Cached tokens are reported as 0 throughout, but the first token comes in less than half the time of "
                "the first call, at a longer prompt: the cache works and is not reported.",
                "Trust the time, not the count, and ask for the engine's option that reports cached tokens.",
                confidence="likely",
            )
        if self._reports_any:
            return
        if len(self._warm_unreported) >= _LEAST_CALLS:
            yield _finding(
                "not-reported-but-warm",
                self._warm_unreported,
                "Cached tokens are not reported, but the first token comes in less than half the time of the first "
                "call, at a longer prompt: that is no hit rate of 0 %, it is an unknown one.",
                _SWITCHES,
                confidence="likely",
            )
        elif len(self._null) >= _LEAST_CALLS:
            yield _finding(
                "not-reported",
                self._null,
                "The field for cached tokens is there and null: not reported, which is not 0 %.",
                _SWITCHES,
            )


_SWITCHES = (
    "Turn reporting on: vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report; Ollama has no such option."
)


def _places(raw_usage: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Members of a usage object that may tell the cached tokens."""
    usage = {} if raw_usage is None else raw_usage.get("usage")
    if not isinstance(usage, dict):
        usage = raw_usage or {}
    return {name: usage[name] for name in _HOLD_CACHED.intersection(usage)}


def _told(usage: Mapping[str, Any]) -> list[tuple[str, int]]:
    """What each place says, in the order of `_CACHED_PLACES`."""
    found = []
    for place in _CACHED_PLACES:
        value = usage.get(place[0])
        if len(place) > 1:
            value = value.get(place[1]) if isinstance(value, dict) else None
        if value is not None and _is_count(value):
            found.append((".".join(place), value))
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _finding(
    cause: str, calls: Sequence[int], summary: str, advice: str, confidence: Confidence = "certain"
) -> Finding:
    return whole_log_finding("reporting", cause, calls, summary, advice, confidence=confidence)
