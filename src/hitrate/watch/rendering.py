"""The HTML of the live page and of a session. Words, figures and escaping are those of the reports.

Addresses in it are relative (`base`): a proxy with a token shows the page under another path.
"""

from __future__ import annotations

from functools import cache

import jinja2

from hitrate import __version__
from hitrate.report import pages
from hitrate.report.columns import amount, count, milliseconds, percent
from hitrate.report.html import environment
from hitrate.report.kinds import explain as words
from hitrate.watch.feed import SessionView


def live_page(recording: str, *, metrics: bool) -> str:
    where = f"recording {recording}"
    title = f"hitrate · {where}"
    return _render("live.html.j2", base=".", title=title, where=where, recording=recording, metrics=metrics)


def session_page(view: SessionView, recording: str, *, metrics: bool) -> str:
    page = pages.of(view.report)
    notes = [line.text for line in words.lines(view.report) if line.kind in ("expectation", "note")]
    return _render(
        "session.html.j2",
        base="..",
        title=f"hitrate · session {view.head.name}",
        where=f"{view.head.target} · recording {recording}",
        recording=recording,
        metrics=metrics,
        head=view.head,
        headline=page.headline(view.report),
        breaks=view.breaks,
        figures=page.figures(view.report, "figure"),
        turns=view.turns[::-1],
        notes=notes,
    )


def _render(template: str, **values: object) -> str:
    document = _environment().get_template(template).render(version=__version__, **values)
    return document.encode("utf-8", "replace").decode()  # lone surrogates


@cache
def _environment() -> jinja2.Environment:
    made = environment("hitrate.watch")
    made.globals |= {"amount": amount, "count": count, "milliseconds": milliseconds, "percent": percent}
    return made
