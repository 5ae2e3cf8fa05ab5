"""Request bodies checked before they are sent: read, held against every check, and compared where there are several.

What one request shows is for the checks of `explain.lint`; what differs between requests is for the explainer, which
here sees bodies without usage. A value that only looks volatile is withdrawn where another request has the same text.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from hitrate.core import spans
from hitrate.core.findings import Finding
from hitrate.core.linting import LintFinding, LintReport, Severity
from hitrate.core.model import Call
from hitrate.core.money import Price
from hitrate.core.prompt import CanonicalPrompt
from hitrate.core.records import RecordCount, Records
from hitrate.core.wires import wire_named
from hitrate.errors import InputFileError, UsageError
from hitrate.explain.explainer import seen_of
from hitrate.explain.lint.checks import CHECKS
from hitrate.explain.lint.head import head_texts
from hitrate.explain.lint.interface import Flaw, Request
from hitrate.explain.rebuilt import may_be_said
from hitrate.explain.visible import excerpt, visible
from hitrate.explaining import explain_log
from hitrate.logs.formats.one_exchange import OneExchange
from hitrate.logs.interface import OwnRules
from hitrate.logs.opened import STANDARD_INPUT
from hitrate.logs.shapes import body_problems, guess_dialect, is_request_body, named
from hitrate.logs.sniff import Log, open_log
from hitrate.report.levels import level
from hitrate.targets.dialects import dialect as dialect_named
from hitrate.targets.dialects.by_shape import read_reply
from hitrate.targets.dialects.sketch import Sketcher
from hitrate.targets.facts_for import facts_for
from hitrate.targets.stray_marks import stray_marks
from hitrate.tokens import tokenizer
from hitrate.tokens.rendering import rendered

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
_EXCERPT = 72
_SIDE = 60


def lint(names: Sequence[str], dialect: str | None = None, *, strict: bool = False) -> LintReport:
    """The findings of the request files or logs of these names; "-" is standard input.

    InputFileError for a file that holds no request, with line and column where they are known.
    """
    reader = _Requests(names, dialect)
    report = explain_log(reader)
    found = [*reader.flaws.findings(report.findings, reader.places), *_differences(report.findings, reader)]
    found.sort(key=lambda one: (_ORDER[one.severity], one.request))
    return LintReport(
        files=tuple(names),
        requests=reader.read,
        strict=strict,
        passed=not any(strict or one.severity != "note" for one in found),
        findings=tuple(found),
        notes=(*reader.notes, *report.notes),
    )


class _Place(Struct, frozen=True):
    """Where a request came from. `text` is kept where the file is that one request, to name lines of it."""

    file: str
    text: str | None = None

    def line_of(self, pointer: str | None) -> int | None:
        if self.text is None or pointer is None:
            return None
        node: spans.Node | None = spans.parse(self.text)
        for token in pointer.split("/")[1:]:
            if node is None:
                return None
            items = node.items()
            if items and token.isdecimal():
                node = items[int(token)] if int(token) < len(items) else None
            else:
                node = node.get(token.replace("~1", "/").replace("~0", "~"))
        return None if node is None else self.text.count("\n", 0, node.start) + 1


class _Requests:
    """All requests of all files as a source of the explainer, without replies; each is checked as it goes by."""

    path = "requests"
    format = "bodies"
    own_price: Price | None = None

    def __init__(self, names: Sequence[str], dialect: str | None) -> None:
        if dialect is not None:
            dialect_named(wire_named(dialect))
        self.flaws = _Flaws()
        self.notes: list[str] = []
        self.places: list[_Place] = []
        self.own_rules = OwnRules()
        self._names = names
        self._dialect = dialect
        self._count = RecordCount()

    @property
    def read(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Call]:
        for name in self._names:
            before = self.read
            single = _single_request(name)
            if isinstance(single, Log):
                yield from self._of_log(name, single)
            else:
                try:
                    call = self._taken(name, single, "", None, text=single.decode("utf-8"))
                except ValueError as error:
                    raise InputFileError(name, str(error)) from None
                yield call
            if self.read == before:
                raise self._nothing_in(name, single)

    def records(self) -> Records:
        return self._count.records()

    def _nothing_in(self, name: str, log: Log | bytes) -> InputFileError:
        if self.notes:
            return InputFileError(name, f"no request in it can be used: {self.notes[-1]}")
        for one in log.records().skipped[:1] if isinstance(log, Log) else ():
            return InputFileError(name, one.reason, line=one.line, column=one.column)
        return InputFileError(name, "no request body is in it")

    def _of_log(self, name: str, log: Log) -> Iterator[Call]:
        """A request that cannot be read is noted, and the others are used."""
        for number, call in enumerate(log):
            if not call.body:
                continue
            self.own_rules = log.own_rules
            try:
                taken = self._taken(name, call.body, call.dialect, call.model)
            except ValueError as error:
                self.notes.append(f"{name}, call {number}: {error}; not used")
                continue
            yield taken
        if self.read:
            for skipped in log.records().skipped:
                self.notes.append(f"{name}{skipped.place}: {skipped.reason}; not used")

    def _taken(self, name: str, body: bytes, dialect: str, model: str | None, text: str | None = None) -> Call:
        """The request as a bare call. ValueError where its wire cannot be told or cannot read it."""
        value = json.loads(body)
        guessed = self._dialect or dialect or guess_dialect(value)
        if guessed is None:
            raise ValueError("its wire format is not recognised; name it with --dialect")
        wire = wire_named(guessed)
        model = model or next((value[one] for one in ("model", "modelId") if isinstance(value.get(one), str)), None)
        call = Call(target="", dialect=wire, body=body, model=model)
        try:
            self.flaws.look(call, value, self.own_rules, self.read)
        except ValueError as error:
            raise ValueError(f"read as {wire}: {error}") from None
        self.places.append(_Place(name, text))
        self._count.use()
        return call


def _single_request(name: str) -> bytes | Log:
    """The body where the file is one request, else the log it is. InputFileError where it is neither."""
    given = sys.stdin.buffer.read() if name == STANDARD_INPUT else None
    try:
        log = open_log(name, read_reply, stream=None if given is None else io.BytesIO(given))
        if log.format != OneExchange.name:
            return log
        log.close()
    except InputFileError:
        raise
    except UsageError:  # no log that is known
        pass
    data = _bytes_of(name) if given is None else given
    try:
        text = spans.decode_text(data).removeprefix("\ufeff")
        value: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputFileError(
            name, f"expected a request body in JSON: {error.msg}", line=error.lineno, column=error.colno
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputFileError(name, f"expected a request body in JSON: {error}") from None
    if not is_request_body(value) or body_problems(value, ""):
        raise InputFileError(name, f"expected a request body: {named(body_problems(value, '')).strip()}", line=1)
    return text.encode("utf-8")


def _bytes_of(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise InputFileError(name, f"cannot be read ({error.strerror})") from None


class _Kept(Struct):
    """A flaw, where it was seen first, in how many requests, and hashes of the texts that it was told from."""

    request: int
    flaw: Flaw
    requests: int = 0
    texts: set[int] = msgspec.field(default_factory=set)

    @property
    def summary(self) -> str:
        if not self.flaw.from_shape:
            return self.flaw.summary
        if len(self.texts) > 1:
            return f"{self.flaw.summary} It differs between these requests."
        return f"{self.flaw.summary} With two requests it can be told for sure."

    @property
    def is_withdrawn(self) -> bool:
        """Told from a look alone, of a text that does not change."""
        return self.flaw.from_shape and self.requests > 1 and len(self.texts) == 1


class _Flaws:
    """What the checks find: each check's once, that of a value's look once a place and text in front of the value."""

    def __init__(self) -> None:
        self._sketcher = Sketcher()
        self._kept: dict[tuple[str, str | None, int | None], _Kept] = {}

    def look(self, call: Call, body: Any, own: OwnRules, number: int) -> None:
        """ValueError for a body that its wire cannot read."""
        request = request_of(self._sketcher, call, body, own)
        for check in may_be_said(CHECKS, request.seen):
            for flaw in check.look(request):
                front = (flaw.text or "")[: flaw.offset]
                key = (check.name, flaw.pointer, hash(front)) if flaw.from_shape else (check.name, None, None)
                kept = self._kept.setdefault(key, _Kept(number, flaw))
                kept.requests += 1
                kept.texts.add(hash(flaw.text))

    def findings(self, differences: Sequence[Finding], places: Sequence[_Place]) -> Iterator[LintFinding]:
        """Those that no second request withdraws, and that are no difference which was found."""
        causes = {finding.cause for finding in differences}
        pointers = {finding.pointer for finding in differences}
        for (name, pointer, _), kept in self._kept.items():
            flaw = kept.flaw
            if kept.is_withdrawn or (flaw.from_shape and (name in causes or pointer in pointers)):
                continue
            place = places[kept.request]
            yield LintFinding(
                severity=flaw.severity,
                cause=name,
                file=place.file,
                line=place.line_of(flaw.pointer),
                request=kept.request,
                against=None,
                pointer=flaw.pointer,
                offset=flaw.offset,
                excerpt="" if flaw.text is None else excerpt(flaw.text, flaw.offset or 0, _EXCERPT),
                summary=kept.summary,
                advice=flaw.advice,
                requests=kept.requests,
            )

    @property
    def causes(self) -> frozenset[str]:
        """Of what requests show by themselves."""
        return frozenset(name for (name, *_), kept in self._kept.items() if not kept.flaw.from_shape)


def request_of(sketcher: Sketcher, call: Call, body: Any, own: OwnRules) -> Request:
    """A body as checks see it. ValueError where its wire cannot read it."""
    sketch = sketcher.sketch(call.body, call.dialect)
    prompt = dialect_named(call.dialect).canonical(call.body)
    seen = seen_of(call, 0, sketch)
    seen.stray_marks = stray_marks(call.body, call.dialect)
    return Request(
        dialect=call.dialect,
        body=body,
        prompt=prompt,
        parts=sketch.parts,
        seen=seen,
        facts=facts_for("", call.dialect, call.model, own.rules, own.server),
        head=head_texts(prompt, body),
        tokens_to=_token_counter(prompt),
    )


def _token_counter(prompt: CanonicalPrompt) -> Callable[[int], int]:
    """Tokenised when it is first asked."""
    counted: list[tuple[int, Sequence[int]]] = []

    def tokens_to(segment: int) -> int:
        if not counted:
            tokens, found = rendered(prompt, tokenizer("o200k"))
            counted.append((len(tokens), found))
        whole, ends = counted[0]
        return whole if segment < 0 or segment >= len(ends) else ends[segment]

    return tokens_to


def _severity(finding: Finding) -> Severity:
    """A difference of two requests is a fact, however sure its cause is: at least a warning where it is ours."""
    found = cast(Severity, level(finding))
    return "warning" if found == "note" and finding.voice == "yours to change" else found


def _differences(findings: Sequence[Finding], reader: _Requests) -> Iterator[LintFinding]:
    """What the explainer found, without what a check says of the same request by itself."""
    for finding in findings:
        if finding.call is None or finding.cause in reader.flaws.causes:
            continue
        place = reader.places[finding.call]
        yield LintFinding(
            severity=_severity(finding),
            cause=finding.cause,
            file=place.file,
            line=place.line_of(finding.pointer),
            request=finding.call,
            against=finding.against,
            pointer=finding.pointer,
            offset=finding.offset,
            excerpt=_both_sides(finding),
            summary=finding.summary,
            advice=finding.advice,
            requests=finding.occurrences,
        )


def _both_sides(finding: Finding) -> str:
    if finding.was is None and finding.now is None:
        return ""
    was, now = ((side or "")[:_SIDE] for side in (finding.was, finding.now))
    return f"{visible(was) or 'nothing'} → {visible(now) or 'nothing'}"
