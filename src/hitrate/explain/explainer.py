"""From the calls of a log to what is wrong with them: pairs each call, finds the cause of each loss, adds up its price.

A change of the text is judged when the call is read, with both bodies at hand. Losses of calls whose text only grew are
judged when the whole log was read: whether hits come and go, or never come, does not show before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hitrate.core.findings import MOST_CALL_RATES, CallRate, Finding
from hitrate.core.model import Call
from hitrate.core.money import Price
from hitrate.core.prompt import Marker, Part, Sketch
from hitrate.explain.account import WHOLE, Account, is_suspect, tokens_of
from hitrate.explain.blame import Blame, FurtherBlame, first_blame
from hitrate.explain.causes.beside_the_text import OTHER_CAUSES
from hitrate.explain.causes.text_breaks import TEXT_CAUSES
from hitrate.explain.compared import Compared, behind_break
from hitrate.explain.diff import parted
from hitrate.explain.evidence import Divergence, Evidence, Facts, Pair, Seen
from hitrate.explain.further import behind_another, further_change, shared_out
from hitrate.explain.grouping import Findings
from hitrate.explain.judged import Explained, Judged, Sources
from hitrate.explain.labelling import labels_of_loss, labels_without_cause, may_be_usual, rounded_of_usual
from hitrate.explain.ledger.ledger import Ledger
from hitrate.explain.paid import Paid
from hitrate.explain.pairs.pairing import Pairing
from hitrate.explain.rebuilt import facts_shown, is_shown, may_have_cached
from hitrate.explain.repeats import Repeats
from hitrate.explain.seeing import pair_going_on, seen_going_on, seen_of
from hitrate.explain.vendor_diagnosis import vendor_says
from hitrate.explain.waterfall import UsualCalls, Waterfalls, is_lost

_WINDOW = 256
"""Calls around a loss that a cause may look at."""

_BREAKS = frozenset({"rewrite", "summary"})
_APART = frozenset({"first", "side"})
_SAME_CONVERSATION = frozenset({"append", "repeat", "rewind", "branch", "rewrite", "summary"})


class _Usual(Struct, frozen=True, gc=False):
    """What the calls of a conversation have in common that go on from each other."""

    granularity: int
    calls: list[int]
    """Of the conversation, in order."""
    labels: UsualCalls


class Explainer:
    """Takes the calls of a log in order; `finish` gives what was found."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._ledger = Ledger()
        self._seen: list[Seen] = []
        self._pairing = Pairing(partial(_texts, sources, self._seen))
        self._pairs: list[Pair | Seen | None] = []
        """Of a call that goes on as usual, only the one that it goes on from."""
        self._prices: list[Price | None] = []
        self._conversations: dict[int, list[int]] = defaultdict(list)
        self._breaks: dict[int, list[Divergence]] = defaultdict(list)
        self._suspected: dict[int, Account] = {}
        """Calls to be looked at again when the log is at its end."""
        self._seconds: dict[int, tuple[Seen, Pair, Account, Blame]] = {}
        """Breaks in the second call of a conversation, until its next call shows that it is none of another agent."""
        self._usual: dict[int, _Usual] = {}
        """By conversation, of those whose newest calls go on as usual."""
        self._repeats = Repeats()
        self._findings = Findings()
        self._waterfalls = Waterfalls()

    def add(self, call: Call) -> Judged:
        """Judge one call. ValueError, one line, when its body cannot be read: then it has to be left out."""
        if not call.body:
            return self._without_text(call)
        sketch = self._sources.sketch(call)
        seen = seen_of(call, len(self._seen), sketch)
        seen.host = self._sources.host(call)
        self._note(seen, self._sources.price(call))
        pair = self._pairs[seen.index] = self._pairing.add(seen, sketch)
        self._conversations[seen.conversation].append(seen.index)
        self._usual.pop(seen.conversation, None)  # the settings of this call may be others
        account = self._account(seen, pair)
        if pair.denied is not None:
            self._settle_second(self._seen[pair.denied].conversation, taken_back=True)
        if pair.conversation in self._seconds:
            self._settle_second(pair.conversation)
        broken = self._broken(seen, pair, account) if pair.relation in _BREAKS or pair.near is not None else None
        if broken is not None and pair.relation in _BREAKS and len(self._conversations[seen.conversation]) == 2:
            self._seconds[seen.conversation] = seen, pair, *broken
        elif broken is not None:
            self._settle(seen, pair, *broken)
        elif is_suspect(seen, pair, self._before(pair), account, facts := self._sources.facts(seen)):
            self._suspected[seen.index] = account
        else:
            self._label_without_cause(seen, pair, account, facts)
        continues = pair.against is not None and pair.relation in WHOLE
        return Judged(seen, continues, pair.best)

    def go_on(self, call: Call, before: int, further: Sequence[Part]) -> Seen | None:
        """`add` for a call that goes on from the call `before` (see `GoesOn`) with these parts, each of one block and
        not marked. None for one that has to be looked at, with nothing changed."""
        was = self._seen[before]
        tip = self._pairing.tip_at(was)
        if tip is None:
            return None
        usual = self._usual.get(was.conversation) or self._usual_behind(was)
        if usual is None or was.conversation in self._seconds:
            return None
        usage = call.usage
        rounded = rounded_of_usual(was.usage.prompt_tokens, usage, usual.granularity)
        if rounded is None:
            return None
        index = len(self._seen)
        seen = seen_going_on(was, call, index, further)
        if not self._pairing.goes_on_from(tip, seen, further):
            return None
        price = self._sources.price(call)
        self._seen.append(seen)
        self._pairs.append(was)
        self._prices.append(price)
        usual.calls.append(index)
        usual.labels.count(index, usage, rounded, price)
        return seen

    def _usual_behind(self, before: Seen) -> _Usual | None:
        facts = self._sources.facts(before)
        if not may_be_usual(before, facts):
            return None
        labels = self._waterfalls.usual(self._session(before))
        usual = _Usual(facts.granularity, self._conversations[before.conversation], labels)
        self._usual[before.conversation] = usual
        return usual

    def sketch_going_on(self, before: int, further: Sequence[Part]) -> Sketch | None:
        """The sketch of a call that goes on from the call `before` with these parts; None where it has to be made."""
        was = self._seen[before]
        tip = None if was.marks or was.stray_marks else self._pairing.tip_at(was)
        return None if tip is None else Sketch((*tip.prompt.parts, *further), was.key, was.others, was.affinity)

    def price_of(self, seen: Seen) -> Price | None:
        return self._prices[seen.index]

    def _settle_second(self, conversation: int, taken_back: bool = False) -> None:
        """Count in the break in its second call, if that still waits, or settle that call without one."""
        if conversation in self._seconds:
            seen, pair, account, blame = self._seconds.pop(conversation)
            self._settle(seen, pair, *((self._account(seen, pair), None) if taken_back else (account, blame)))

    def leave_out(self, call: Call) -> Judged:
        """Count a call whose body cannot be read: its tokens are all new, as far as anyone can tell."""
        seen = seen_of(call, len(self._seen), None)
        self._note(seen, self._sources.price(call))
        account = Account(seen.usage.cached_tokens or 0)
        self._label_without_cause(seen, Pair(relation="first"), account)
        return Judged(seen, False)

    def finish(self) -> Explained:
        """Judge what had to wait for the end of the log."""
        for conversation in tuple(self._seconds):
            self._settle_second(conversation)
        reporting = {(one.target, one.model) for one in self._seen if one.usage.cached_tokens is not None}
        for index, account in self._suspected.items():
            seen, pair = self._seen[index], self._pair(index)
            if (seen.target, seen.model) in reporting:
                self._fill_in_zero(seen)
            self._settle(seen, pair, account, self._beside_the_text(seen, pair, account))
        self._suspected.clear()
        return Explained(
            findings=tuple(sorted(map(self._with_lines, self._all_findings()), key=_dearest_first)),
            waterfall=self._waterfalls.total(),
            by_session=self._waterfalls.by_session(),
            by_call=tuple(map(self._rate, self._seen[:MOST_CALL_RATES])),
            sessions=len({self._session(seen) for seen in self._seen}),
        )

    def _all_findings(self) -> list[Finding]:
        return [*self._findings.all(), *self._ledger.findings()]

    def _with_lines(self, finding: Finding) -> Finding:
        lines = [None if index is None else self._seen[index].line for index in (finding.call, finding.against)]
        return replace(finding, line=lines[0], against_line=lines[1])

    def _rate(self, seen: Seen) -> CallRate:
        usage = seen.usage
        return CallRate(
            call=seen.index, session=self._session(seen), prompt_tokens=usage.prompt_tokens, hit_rate=usage.hit_rate
        )

    def _fill_in_zero(self, seen: Seen) -> None:
        """Where the wire leaves a count of 0 out and other calls of the log have one, an absent count is 0."""
        usage = seen.usage
        if usage.cached_tokens is None and usage.prompt_tokens is not None and self._sources.facts(seen).omits_zero:
            seen.usage = replace(usage, cached_tokens=0)

    def _beside_the_text(self, seen: Seen, pair: Pair, account: Account) -> Blame | None:
        evidence = self._evidence(seen, pair, account)
        if not may_have_cached(evidence):
            return None
        if evidence.before is not None and (seen.marks or evidence.before.marks):
            evidence = replace(evidence, markers=self._markers(seen), markers_before=self._markers(evidence.before))
        blame = first_blame(OTHER_CAUSES, evidence)
        if blame is None or evidence.before is None or not blame.recognised.where_they_part:
            return blame
        bodies = self._sources.body(evidence.before.index), self._sources.body(seen.index)
        compared = self._compared(evidence.before, seen, bodies)
        return blame._replace(divergence=None if compared is None else compared.divergence)

    def _markers(self, seen: Seen) -> Sequence[Marker]:
        return self._sources.request(self._sources.body(seen.index), seen.dialect).prompt.markers

    def _note(self, seen: Seen, price: Price | None) -> None:
        self._seen.append(seen)
        self._pairs.append(None)
        self._prices.append(price)

    def _without_text(self, call: Call) -> Judged:
        seen = seen_of(call, len(self._seen), None)
        price = self._sources.price(call)
        self._note(seen, price)
        labels = self._ledger.add(seen.index, call, price=price, facts=self._sources.facts(seen))
        self._waterfalls.add(seen.index, seen.usage, labels, price=price, session=seen.session or "#1")
        return Judged(seen, False)

    def _pair(self, index: int) -> Pair:
        pair = self._pairs[index]
        assert pair is not None
        return pair_going_on(pair) if isinstance(pair, Seen) else pair

    def _before(self, pair: Pair) -> Seen | None:
        return None if pair.against is None else self._seen[pair.against]

    def _account(self, seen: Seen, pair: Pair) -> Account:
        if pair.relation in _APART or pair.best is None:
            return Account(0)
        best, characters = self._seen[pair.best], pair.best_characters
        if best.key != seen.key and (own := self._under_same_key(seen, pair)) is not None:
            best, characters = own, min(own.characters, characters)
        return Account(tokens_of(best, seen, characters))

    def _under_same_key(self, seen: Seen, pair: Pair) -> Seen | None:
        """The newest earlier prompt in this one's front that was sent with the same model and settings: after a switch
        and back, what was added meanwhile is new to the old key."""
        while pair.against is not None and pair.relation in WHOLE:
            before = self._seen[pair.against]
            if before.answered and before.key == seen.key:
                return before
            pair = self._pair(before.index)
        return None

    def _broken(self, seen: Seen, pair: Pair, account: Account) -> tuple[Account, Blame] | None:
        """The cause of a change in the text; None where both prompts render alike, or the engine served past it."""
        against = pair.against if pair.relation in _BREAKS else pair.near
        if against is None:
            return None
        before = self._seen[against]
        bodies = self._sources.body(before.index), self._sources.body(seen.index)
        again = self._repeats.again(seen, pair, bodies)
        if again is not None:
            divergence = again.divergence_of(seen)
            account = behind_break(account, seen, divergence, pair.kept_characters)
            blame = Blame(again.cause, again.recognised, divergence, before.index)
            return None if account.served_past(seen) else (account, blame)
        compared = self._compared(before, seen, bodies)
        if compared is None or (pair.relation not in _BREAKS and not compared.is_near):
            return None
        kept = max(compared.kept_characters, pair.kept_characters if pair.relation in _BREAKS else 0)
        account = behind_break(account, seen, compared.parting, kept)
        if account.served_past(seen) or not is_shown(compared, before, seen):
            return None
        return self._blamed(seen, pair, account, before, compared, kept)

    def _blamed(
        self, seen: Seen, pair: Pair, account: Account, before: Seen, compared: Compared, kept: int
    ) -> tuple[Account, Blame] | None:
        """The cause of a change in the text behind which both have `kept` code points."""
        divergence = compared.divergence
        blame = first_blame(TEXT_CAUSES, self._evidence(seen, pair, account, before=before, divergence=divergence))
        if blame is None:
            return None
        self._breaks[seen.conversation].append(divergence)
        found = further_change(compared, before.dialect, self._sources.request)
        if found is None or pair.relation == "summary":  # a summary is another prompt on purpose
            self._repeats.note(seen, pair, compared.bodies, blame.cause, blame.recognised, divergence, kept)
            return account, blame
        evidence = self._evidence(seen, pair, account, before=before, divergence=found.divergence)
        second = first_blame(TEXT_CAUSES, evidence)
        self._breaks[seen.conversation].append(found.divergence)
        if second is None:
            return account, blame
        second = second._replace(recognised=behind_another(second.recognised, blame.cause.name))
        tokens = tokens_of(None, seen, share=found.kept_characters / max(1, seen.characters))
        return account, blame._replace(further=FurtherBlame(second, tokens))

    def _compared(self, before: Seen, seen: Seen, bodies: tuple[bytes, bytes]) -> Compared | None:
        """None where one prompt is the start of the other."""
        request = self._sources.request
        parting = parted(request(bodies[0], before.dialect), request(bodies[1], seen.dialect))
        return None if parting is None else Compared(parting)

    def _evidence(
        self,
        seen: Seen,
        pair: Pair,
        account: Account,
        *,
        before: Seen | None = None,
        divergence: Divergence | None = None,
    ) -> Evidence:
        if before is None:
            before = self._before(pair)
        own = self._conversations[seen.conversation]
        place = bisect_left(own, seen.index)
        return Evidence(
            call=seen,
            before=before,
            pair=pair,
            facts=facts_shown(self._sources.facts(seen), seen),
            divergence=divergence,
            reusable_tokens=account.reusable_tokens,
            lost_tokens=account.lost(seen),
            between=() if before is None else self._seen[before.index + 1 : seen.index][-_WINDOW:],
            earlier=[self._seen[index] for index in own[max(0, place - _WINDOW) : place]],
            later=[self._seen[index] for index in own[place + 1 : place + 1 + _WINDOW]],
            lineage=self._breaks[seen.conversation][-_WINDOW:],
        )

    def _settle(self, seen: Seen, pair: Pair, account: Account, blame: Blame | None) -> None:
        """Label the call's tokens and count its findings in."""
        if blame is None:
            self._label_without_cause(seen, pair, account)
            return
        paid = self._label(seen, account, blame)
        self._count_in(seen, pair, blame, paid)
        if blame.further is not None:
            second = blame.further.blame
            self._count_in(seen, pair, second, paid if second.cause is not blame.cause else ())

    def _count_in(self, seen: Seen, pair: Pair, blame: Blame, paid: Sequence[Paid]) -> None:
        lost = [one for one in paid if one.cause == blame.cause.name and is_lost(one.label, one.cause)]
        amounts = [usd for one in lost if (usd := one.above_cached_usd) is not None]
        self._findings.add(
            seen.index,
            blame.against,
            blame.cause,
            blame.recognised,
            blame.divergence,
            conversation=seen.conversation if pair.relation in _SAME_CONVERSATION else None,
            session=self._session(seen),
            lost_tokens=sum(one.tokens for one in lost) if paid else None,
            lost_usd=sum(amounts, Decimal(0)) if amounts else None,
            vendor=vendor_says(
                seen.diagnosis,
                verdict=blame.cause.verdict,
                cause=blame.cause.name,
                kind=None if blame.divergence is None else blame.divergence.kind,
            ),
        )

    def _label(self, seen: Seen, account: Account, blame: Blame) -> Sequence[Paid]:
        if seen.usage.prompt_tokens is None:
            return ()
        labels = labels_of_loss(seen.usage, account, self._sources.facts(seen), blame.cause)
        if blame.further is not None and blame.further.blame.cause is not blame.cause:
            labels = shared_out(labels, blame.cause.name, blame.further.blame.cause.name, blame.further.tokens)
        price = self._prices[seen.index]
        return self._waterfalls.add(seen.index, seen.usage, labels, price=price, session=self._session(seen))

    def _label_without_cause(self, seen: Seen, pair: Pair, account: Account, facts: Facts | None = None) -> None:
        if seen.usage.prompt_tokens is None:
            return
        best = None if pair.best is None else self._seen[pair.best]
        labels = labels_without_cause(seen, pair.relation, best, account, facts or self._sources.facts(seen))
        price = self._prices[seen.index]
        self._waterfalls.count(seen.index, seen.usage, labels, price=price, session=self._session(seen))

    def _session(self, seen: Seen) -> str:
        return seen.session or f"#{seen.conversation + 1}"


def _dearest_first(finding: Finding) -> tuple[float, int, int]:
    return -(finding.lost_usd or 0.0), -(finding.lost_tokens or 0), finding.call or 0


def _texts(sources: Sources, seen: Sequence[Seen], index: int) -> Sequence[str]:
    return sources.texts(sources.body(index), seen[index].dialect)
