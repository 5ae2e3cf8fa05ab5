"""A call is looked at for a cause only where one may be found: to look at all the others changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitrate.core.cost import Quote
from hitrate.core.findings import ExplainReport
from hitrate.core.money import Price
from hitrate.explain import account
from hitrate.explain.diff.texts import common_prefix
from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply

PRICE = Price(input_usd_per_mtok=2.0, cached_usd_per_mtok=0.5, output_usd_per_mtok=8.0)
SYSTEM = {"role": "system", "content": "You answer for a shop of garden tools, and you name the shelf. " * 100}
STEPS = st.sampled_from(["goes on", "goes on", "opening", "branch", "rewind", "again", "other model", "back"])
MODELS = ["gpt-4.1", "m", "deepseek-chat"]
MISSING = st.integers(0, 40) | st.integers(0, 400) | st.just(100_000)
"""Tokens that a call was served less than what it shares; mostly about as many as may be noise."""


@st.composite
def logs(draw: Any) -> list[dict[str, Any]]:
    """Conversations of one agent that are gone on with from any place, and served most of what they share."""
    first = draw(st.sampled_from(MODELS))
    names = draw(st.booleans())
    agents: list[tuple[str, list[dict[str, str]]]] = []
    sent: list[tuple[str, str]] = []
    records = []
    at = 1_793_534_400.0
    for number in range(draw(st.integers(3, 14))):
        step = draw(STEPS) if agents else "opening"
        place = draw(st.integers(0, len(agents) - 1)) if agents else 0
        model, history = agents[place] if agents else (first, [])
        if step == "opening":
            model, history = first, [SYSTEM]
        elif step == "branch":
            history = history[: draw(st.integers(1, len(history)))]
        elif step == "rewind":
            history = history[: max(2, len(history) - 2 * draw(st.integers(1, 3)))]
        elif step == "other model":
            model = draw(st.sampled_from(MODELS))
        elif step == "back":
            model = first
        if step not in ("rewind", "again"):
            history = [*history, *_turn(number, draw(st.integers(1, 400)), begins=len(history) == 1)]
        if step in ("opening", "branch"):
            place = len(agents)
            agents.append((model, history))
        agents[place] = model, history
        text = "".join(message["content"] for message in history)
        shared = max([common_prefix(text, earlier) for key, earlier in sent if key == model], default=0) // 4
        served = max(0, min(shared, len(text) // 4) - draw(MISSING))
        served -= served % draw(st.sampled_from([1, 64, 128]))
        sent.append((model, text))
        at += draw(st.sampled_from([0.2, 9.0, 9.0, 9.0, 400.0, 90_000.0]))
        usage = {"prompt_tokens": len(text) // 4, "prompt_tokens_details": {"cached_tokens": served}}
        record = {"at": at, "body": {"model": model, "messages": history}, "response": {"usage": usage}}
        records.append({**record, "session": f"s{place}"} if names else record)
    return records


def _turn(number: int, words: int, *, begins: bool) -> list[dict[str, str]]:
    asked = {"role": "user", "content": f"question {number} " + "of the shelf " * words}
    return [asked] if begins else [{"role": "assistant", "content": f"answer {number} " * words}, asked]


def explained(file: Path) -> ExplainReport:
    log = open_log(str(file), read_reply, "request-pairs")
    return explain_log(log, lambda call: Quote(price=PRICE, provider=None, tier=None))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs())
def test_no_cause_is_found_for_a_call_that_misses_no_more_than_noise(tmp_path: Path, records: list[dict[str, Any]]):
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    found = explained(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(account, "_is_rounding", lambda *given: False)
        assert explained(file) == found
