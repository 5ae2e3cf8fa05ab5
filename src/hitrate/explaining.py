"""A log explained: its calls read, sketched, priced and judged. The one way that commands and tests take.

The explainer itself is pure; here are the wire formats, the rules of vendors and engines, the prices, and a temporary
file for the bodies of earlier calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol

import msgspec

from hitrate.caches.rules import describe
from hitrate.collecting import collecting_seldom
from hitrate.core.cost import Quote, logged_usd
from hitrate.core.findings import ExplainReport, RecordSums
from hitrate.core.growth import GoesOn, Shown
from hitrate.core.model import Call, Usage
from hitrate.core.money import Price
from hitrate.core.prompt import CanonicalPrompt, Part, Sketch
from hitrate.core.records import MOST_LISTED, RecordCount, Records, Skipped
from hitrate.core.wires import RENDERED, wire_named
from hitrate.explain.diff import Request
from hitrate.explain.evidence import Facts, Seen
from hitrate.explain.explainer import Explainer, Sources
from hitrate.explain.oddities.pricing import Pricing
from hitrate.explain.oddities.reporting import Reporting
from hitrate.logs.answered import host_of
from hitrate.logs.archive import BodyArchive
from hitrate.logs.interface import OwnRules
from hitrate.targets.dialects import dialect as dialect_named
from hitrate.targets.dialects.decoded_node import prompt_of_decoded
from hitrate.targets.dialects.rendered_parts import pieced
from hitrate.targets.dialects.sketch import Sketcher, texts_of_parts
from hitrate.targets.facts_for import facts_for, has_timings

PriceOf = Callable[[Call], Price | None]


class Source(Protocol):
    """An open log or a stored run, as its calls; what is known of the file is complete when these were read.

    It may have a member `shown`: what reading the call that was given out last has shown of its messages."""

    path: str
    format: str
    own_price: Price | None
    own_rules: OwnRules

    def __iter__(self) -> Iterator[Call]: ...

    def records(self) -> Records: ...


def explain_log(source: Source, quote: Callable[[Call], Any] | None = None) -> ExplainReport:
    """What the calls of `source` lost, where, and why. `quote` gives a call's `Quote`, or anything else where it has no
    price."""
    with (
        BodyArchive(at_hand=_BODY_BYTES) as archive,
        collecting_seldom(),
        closing(_Reader(source, archive, quote)) as reader,
    ):
        for call in source:
            reader.add(call, getattr(source, "shown", None))
        return reader.report()


def explain_bodies(bodies: Iterable[Mapping[str, Any] | bytes | str], dialect: str | None = None) -> ExplainReport:
    """What a log of nothing but these request bodies, in this order, would be told. ValueError for one that is none."""
    return explain_log(_Bodies(bodies, dialect))


class _Bodies:
    path = "requests"
    format = "bodies"
    own_price: Price | None = None
    own_rules = OwnRules()

    def __init__(self, bodies: Iterable[Mapping[str, Any] | bytes | str], dialect: str | None) -> None:
        self._bodies = bodies
        self._dialect = dialect
        self._count = RecordCount()

    def __iter__(self) -> Iterator[Call]:
        from hitrate.logs.shapes import guess_dialect

        for number, given in enumerate(self._bodies):
            body = encoded(given)
            value = json.loads(body)
            dialect = self._dialect or guess_dialect(value)
            if dialect is None:
                raise ValueError(f"request {number}: its wire format is not recognised; name the dialect")
            self._count.use()
            model = value.get("model")
            yield Call(target="", dialect=dialect, body=body, model=model if isinstance(model, str) else None)

    def records(self) -> Records:
        return self._count.records()


def encoded(given: Mapping[str, Any] | bytes | str) -> bytes:
    if isinstance(given, bytes):
        return given
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


class _Reader:
    """The parameters of the explainer, for one log."""

    def __init__(self, source: Source, archive: BodyArchive, quote: Callable[[Call], Any] | None) -> None:
        self._source = source
        self._archive = archive
        self._quote = quote
        self._sketcher = Sketcher()
        self._requests = _Requests()
        self._added = b""
        """The body of the call that is being added."""
        self._shown: Shown | None = None
        """What reading it has shown of its messages."""
        self._further: Sequence[Part] | None = None
        """What these are behind those of the call that it goes on from; None where that is not known."""
        self._facts: dict[tuple[str, str, str | None, bool | None], Facts] = {}
        self._left_out = 0
        self._unread: list[Skipped] = []
        self._reporting = Reporting()
        self._pricing = Pricing()
        self._explainer = Explainer(
            Sources(
                sketch=self._sketch,
                request=self._requests,
                texts=self._texts,
                host=host_of,
                body=self._body,
                facts=self._facts_of,
                price=self._price,
            )
        )

    def add(self, call: Call, shown: Shown | None) -> None:
        if type(shown) is GoesOn:
            further = self._sketcher.further_parts(shown.texts, call.dialect)
            seen = None if further is None else self._explainer.go_on(call, shown.call, further)
            if seen is not None:
                self._archive.append(call.body, shown.call, shown.front)
                self._reporting.add_usual(seen, call.raw_usage)
                self._price_too(seen, call)
                return
        else:
            further = None
        self._added, self._shown, self._further = call.body, shown, further
        try:
            judged = self._explainer.add(call)
        except ValueError as error:
            self._leave_out(call, error)
            judged = self._explainer.leave_out(call)
        front = shown.front if type(shown) is GoesOn and shown.call == judged.like else None
        self._archive.append(call.body, judged.like, front)
        self._reporting.add(judged.seen, call.raw_usage, continues=judged.continues)
        self._price_too(judged.seen, call)

    def _price_too(self, seen: Seen, call: Call) -> None:
        own = self._source.own_price is not None
        if own or not self._pricing.is_over:
            price = self._explainer.price_of(seen)
            self._pricing.add(seen.index, call.usage, price, own=own, logged_usd=logged_usd(call))

    def _leave_out(self, call: Call, error: ValueError) -> None:
        self._left_out += 1
        if len(self._unread) < MOST_LISTED:
            reason = f"the request of call {len(self._archive)} cannot be read: {error}"
            self._unread.append(Skipped(line=call.line, reason=reason, counted=True))

    def _body(self, index: int) -> bytes:
        return self._added if index == len(self._archive) else self._archive[index]

    def report(self) -> ExplainReport:
        found = self._explainer.finish()
        records = self._source.records()
        odd = self._reporting.findings(repeated=records.repeated, answers=records.used)
        bill = () if found.findings or odd else self._pricing.findings()
        return ExplainReport(
            log=self._source.path,
            format=self._source.format,
            rule_set=self._rule_sets(),
            calls=records.used,
            sessions=found.sessions,
            records=RecordSums(
                read=records.read,
                used=records.used,
                damaged=records.damaged,
                repeated=records.repeated,
                left_out=self._left_out,
                skipped=(*records.skipped, *self._unread),
                remarks=records.remarks,
            ),
            findings=(*found.findings, *odd, *bill),
            waterfall=found.waterfall,
            by_session=found.by_session,
            by_call=found.by_call,
        )

    def close(self) -> None:
        """Free what was kept of the calls: reader and explainer refer to each other."""
        del self._explainer

    def _rule_sets(self) -> str | None:
        names = {describe(facts.rule): None for facts in self._facts.values() if facts.rule is not None}
        return ", ".join(names) or None

    def _sketch(self, call: Call) -> Sketch:
        if not call.dialect:
            raise ValueError("its wire format is not recognised")
        shown = self._shown
        if isinstance(shown, GoesOn):
            further = self._further
            longer = None if further is None else self._explainer.sketch_going_on(shown.call, further)
        else:
            longer = None if shown is None else self._sketcher.sketch_of_texts(call.body, call.dialect, shown)
        return longer or self._sketcher.sketch(call.body, call.dialect, call.headers)

    def _texts(self, body: bytes, dialect: str) -> Sequence[str]:
        return texts_of_parts(self._requests(body, dialect).prompt, dialect)

    def _facts_of(self, seen: Seen) -> Facts:
        key = (seen.target, seen.dialect, seen.model, has_timings(seen.usage))
        found = self._facts.get(key)
        if found is None:
            own = self._source.own_rules
            found = self._facts[key] = facts_for(*key[:3], own.rules, own.server, timings=key[3])
        return found

    def _price(self, call: Call) -> Price | None:
        if self._quote is None or (call.usage.prompt_tokens is None and call.usage == _NO_USAGE):
            return None
        found = self._quote(call)
        return found.price if type(found) is Quote else None


_NO_USAGE = Usage()
_BODY_BYTES = 4 << 20
"""Of the newest bodies that are kept at hand: the next call of a conversation is likely to come soon."""

_REQUEST_BYTES = 1 << 20
"""Of bodies whose requests are kept as they were read; those of two calls always are."""


def canonical_of(body: bytes, dialect: str) -> CanonicalPrompt:
    """The prompt of a request. ValueError for a body that the wire format cannot read."""
    return dialect_named(wire_named(dialect)).canonical(body)


def pieces_of(body: bytes, dialect: str) -> CanonicalPrompt:
    """The same with a prompt that was rendered before it was sent cut at its turns."""
    found = canonical_of(body, dialect)
    return pieced(found) if wire_named(dialect) == RENDERED else found


def request_of(body: bytes, dialect: str) -> Request:
    """A request as it is compared. ValueError for a body that the wire format cannot read."""
    try:
        value = msgspec.json.decode(body)  # what it takes it reads as `json` does
        prompt = prompt_of_decoded(value, wire_named(dialect))
    except (msgspec.DecodeError, ValueError, RecursionError):  # or one that has to be looked at
        prompt = None
    return Request(pieces_of(body, dialect), body) if prompt is None else Request(prompt, body, value)


class _Requests:
    """`request_of` that keeps the requests last read: a conversation that breaks once breaks again and again, and each
    of its calls is compared with the one before it."""

    def __init__(self) -> None:
        self._read: dict[tuple[bytes, str], Request] = {}
        self._bytes = 0

    def __call__(self, body: bytes, dialect: str) -> Request:
        key = (body, dialect)
        found = self._read.pop(key, None)
        if found is None:
            found = request_of(body, dialect)
            self._bytes += len(body)
        self._read[key] = found
        while self._bytes > _REQUEST_BYTES and len(self._read) > 2:
            oldest = next(iter(self._read))
            del self._read[oldest]
            self._bytes -= len(oldest[0])
        return found
