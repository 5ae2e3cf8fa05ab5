"""Evidence of a changed text, from its two sides, and the name of the cause that takes it."""

from __future__ import annotations

from hitrate.explain.causes.text_breaks import TEXT_CAUSES
from hitrate.explain.diff.changes import change_of_strings
from hitrate.explain.diff.texts import common_prefix
from hitrate.explain.evidence import Divergence, Evidence, Facts, Pair, Seen

AT = 1_773_220_447.0
"""2026-03-11 09:14:07 UTC"""

BODY = "\n\nYou are the support agent of a nursery. Be brief, and never promise a date of delivery.\n"


def divergence(was, now, *, kind="system", pointer="/messages/0/content", change=None, names=(), words=""):
    """Of two whole strings, as a comparison gives it."""
    offset = common_prefix(was, now)
    return Divergence(
        pointer=pointer,
        offset=offset,
        was=was[offset : offset + 48],
        now=now[offset : offset + 48],
        change=change or change_of_strings(was, now, offset),
        kind=kind,
        cacheable_chars=100 + offset,
        cacheable_share=0.5,
        value_was=was if len(was) <= 4000 else None,
        value_now=now if len(now) <= 4000 else None,
        front=was[max(0, offset - 2000) : offset],
        names=names,
        words=words,
    )


def place(pointer, change, *, kind, was="", now="", names=(), words="", offset=None, value_was=None, value_now=None):
    """A difference that is not inside one string."""
    return Divergence(
        pointer=pointer,
        offset=offset,
        was=was,
        now=now,
        change=change,
        kind=kind,
        cacheable_chars=100,
        cacheable_share=0.5,
        value_was=value_was,
        value_now=value_now,
        names=names,
        words=words,
    )


def evidence(difference, *, gap=14.0, at=AT, ttl=300.0, relation="rewrite", across=False, lineage=(), **more):
    """A call `gap` seconds after the one before, in the same conversation or `across` two."""
    before = {"index": 0, "at": None if gap is None else at - gap, "conversation": 1, **more.pop("before", {})}
    call = {"index": 1, "at": at, "conversation": 2 if across else 1, **more.pop("call", {})}
    return Evidence(
        call=Seen(**call),
        before=Seen(**before),
        pair=Pair(relation=relation, against=0, **more.pop("pair", {})),
        facts=Facts(ttl_s=ttl, **more.pop("facts", {})),
        divergence=difference,
        lineage=lineage,
        **more,
    )


def recognised(found):
    """Name of the first cause that takes it, and what it says."""
    return next((cause.name, said) for cause in TEXT_CAUSES if (said := cause.recognise(found)) is not None)


def named(was, now, *, kind="system", pointer="/messages/0/content", change=None, **more):
    return recognised(evidence(divergence(was, now, kind=kind, pointer=pointer, change=change), **more))[0]
