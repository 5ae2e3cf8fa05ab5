"""Who explains one log after the other keeps nothing of them but the reports."""

from __future__ import annotations

import gc
import weakref

from hitrate import explaining
from hitrate.explain.explainer import Explainer


def test_what_was_kept_of_the_calls_is_freed_with_the_report(monkeypatch):
    made = []

    class Watched(Explainer):
        def __init__(self, sources):
            super().__init__(sources)
            made.append(weakref.ref(self))

    monkeypatch.setattr(explaining, "Explainer", Watched)
    system = {"role": "system", "content": "You are a helper. " * 200}
    bodies = [
        {"model": "gpt-4.1", "messages": [system, *({"role": "user", "content": f"{n}"} for n in range(turns))]}
        for turns in range(1, 6)
    ]
    gc.disable()  # so that only what nothing refers to any more is freed
    try:
        report = explaining.explain_bodies(bodies)
        assert report.calls == 5 and [one() for one in made] == [None]
    finally:
        gc.enable()
