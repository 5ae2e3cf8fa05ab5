"""What the cache rule predicts for the calls of a run, worked out after the run, off the timed path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from hitrate.caches.interface import PrefixCache
from hitrate.caches.radix import RadixCache
from hitrate.core.model import Call
from hitrate.explain.turns.rows import Expected
from hitrate.sim.replay import TimedCall, expected_cached_tokens
from hitrate.targets.dialects.interface import Dialect
from hitrate.tokens.interface import Tokenizer
from hitrate.tokens.rendering import prompt_tokens, rendered

SIMULTANEOUS_S = 0.005
"""Calls written this close together on several connections can be read by a server in any order."""


class CallTokens(NamedTuple):
    """`generated` are the reply's tokens as the engine keeps them behind the prompt, `places` further keywords of the
    cache's `begin`."""

    prompt: Sequence[int]
    generated: Sequence[int]
    namespace: object = None
    places: Mapping[str, Any] = MappingProxyType({})


class TokenSource(Protocol):
    """`stands_in`: its tokens are another vocabulary's, so only shares of a prompt mean something. `exact`: they are
    the engine's own, all of them; read it after the tokens were asked for."""

    stands_in: bool
    exact: bool

    def tokens(self, call: Call) -> CallTokens: ...


class RenderedTokens:
    """A tokeniser over hitrate's own rendering of the prompt: exact for the practice server, else a measure of how
    much of a prompt is shared.

    `places_of` gives, for a call and the positions where its prompt's segments end, the keywords that a rule needs
    beside tokens.
    """

    def __init__(
        self,
        dialect: Dialect,
        tokenizer: Tokenizer,
        *,
        exact: bool,
        places_of: Callable[[Call, Sequence[int]], Mapping[str, Any]] | None = None,
    ) -> None:
        self.exact = exact
        self.stands_in = not exact
        self._dialect = dialect
        self._tokenizer = tokenizer
        self._places_of = places_of

    def tokens(self, call: Call) -> CallTokens:
        canonical = self._dialect.canonical(call.body)
        prompt, ends = rendered(canonical, self._tokenizer)
        found = CallTokens(prompt, self._generated(call), canonical.namespace)
        return found if self._places_of is None else found._replace(places=self._places_of(call, ends))

    def _generated(self, call: Call) -> Sequence[int]:
        """A message renders the same wherever it stands: alone, it is the opening of the answer, which the prompt ends
        with already, then the reply, then the opening of the answer after it."""
        if call.reply is None:
            return ()
        alone = self._dialect.build(model="", messages=[call.reply.message], markers=None)
        return prompt_tokens(self._dialect.canonical(alone), self._tokenizer)[1:-1]


def expectations(
    calls: Sequence[Call],
    source: TokenSource,
    make_cache: Callable[[], PrefixCache],
    granularity: int = 1,
    *,
    found_while_computed: bool = False,
) -> list[Expected]:
    """One per call, in the order given. Calls without timing or answer get none.

    Where the tokens stand in for the engine's own (`source.stands_in`), places in a prompt are carried over to the
    engine's count by what it reported for this prompt and for the session's prompt before, where this one starts with
    that; the expectation is then rounded down to `granularity`. `found_while_computed` is a fact of the rule, see
    `RuleSet`.
    """
    timed = [_timed(call, source) for call in calls]
    seen = [_found_at_once(one) for one in timed] if found_while_computed else timed
    expected = expected_cached_tokens(seen, make_cache(), simultaneous_s=SIMULTANEOUS_S)
    shared = expected_cached_tokens([_as_plain_tokens(one) for one in timed], RadixCache())
    if not source.stands_in:
        return [Expected(cached, best) for cached, best in zip(expected, shared, strict=True)]
    found = []
    before: dict[str, _Known] = {}
    for call, one, cached, best in zip(calls, timed, expected, shared, strict=True):
        reported = call.usage.prompt_tokens
        if reported is None or not one.prompt:
            found.append(Expected())
            continue
        known = _Known(one.prompt, reported)
        anchor = before.get(call.session)
        scaled = [None if tokens is None else known.in_engine_tokens(tokens, anchor) for tokens in (cached, best)]
        whole = None if scaled[0] is None else scaled[0] // granularity * granularity
        found.append(Expected(whole, scaled[1]))
        before[call.session] = known
    return found


class _Known(NamedTuple):
    """A prompt in tokens of the stand-in, and how many the engine counted."""

    prompt: Sequence[int]
    reported: int

    def in_engine_tokens(self, place: int, before: _Known | None) -> int:
        start, start_reported = (0, 0) if before is None else self._common(before)
        end, end_reported = len(self.prompt), self.reported
        if place < start:
            start, start_reported, end, end_reported = 0, 0, start, start_reported
        return int(start_reported + (place - start) / (end - start) * (end_reported - start_reported))

    def _common(self, before: _Known) -> tuple[int, int]:
        """The end of the prompt before, in both counts, if this prompt goes on from there; else the start."""
        end = len(before.prompt)
        longer = end < len(self.prompt) and before.reported < self.reported
        if longer and list(self.prompt[: end - 1]) == list(before.prompt[: end - 1]):
            return end, before.reported
        return 0, 0


def _timed(call: Call, source: TokenSource) -> TimedCall:
    timing = call.timing
    ttft_s = None if timing is None else timing.total_s if timing.ttft_s is None else timing.ttft_s
    if timing is None or ttft_s is None or call.reply is None:
        sent = timing.sent_at_s if timing is not None else 0.0
        return TimedCall(sent, None, sent, ())
    sent = timing.sent_at_s
    first = sent + ttft_s  # of a reply that was not streamed, the moment it was there
    done = first if timing.total_s is None else sent + timing.total_s
    tokens = source.tokens(call)
    return TimedCall(
        sent,
        first,
        done,
        tokens.prompt,
        tokens.generated,
        tokens.namespace,
        slot=call.reply.slot,
        session=call.session,
        places=tokens.places,
    )


def _found_at_once(call: TimedCall) -> TimedCall:
    return call._replace(first_token=None if call.first_token is None else call.sent)


def _as_plain_tokens(call: TimedCall) -> TimedCall:
    """The call as a cache sees it that needs no places and is written at once."""
    return _found_at_once(call)._replace(places={})
