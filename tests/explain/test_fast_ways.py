"""A log read, sketched, paired and added up by what is known of its earlier calls gives what it gives without that."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hitrate.core import usage_plans
from hitrate.core.cost import Quote
from hitrate.core.findings import ExplainReport
from hitrate.core.model import Call
from hitrate.core.money import LargePrompt, Price
from hitrate.core.prompt import Part, Sketch
from hitrate.explain.evidence import Seen
from hitrate.explain.explainer import Explainer
from hitrate.explain.pairs import pairing
from hitrate.explain.waterfall import Waterfalls
from hitrate.explaining import explain_log
from hitrate.logs.forms import Forms
from hitrate.logs.plain_calls import PlainCalls
from hitrate.logs.sniff import open_log
from hitrate.logs.split import Splitter
from hitrate.targets.dialects.by_shape import read_reply
from hitrate.targets.dialects.sketch import Sketcher, sketch_of_body

LONG = "You answer for a shop of garden tools, and you name the shelf where each of them lies. " * 3
WORDS = st.sampled_from(["hi", 'say "messages": [', "\u00e9\U0001f600", 'a\\b\n{"role": "user"}', "Continue.", LONG])
TEXTS = st.builds("{} {}".format, WORDS, st.integers(0, 99)) | WORDS
PLAIN = st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant"]), TEXTS)
MESSAGE = st.one_of(
    PLAIN,
    PLAIN,
    st.builds(lambda text: {"role": "user", "content": [{"type": "text", "text": text}]}, TEXTS),
    st.builds(
        lambda text: {
            "role": "user",
            "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
        },
        TEXTS,
    ),
    st.just({"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f"}}]}),
    st.just({"role": "tool", "tool_call_id": "c", "content": "42"}),
    st.sampled_from(
        [{"role": 5, "content": "a number for a role"}, "no message", {"role": "user", "content": "\ud83d"}]
    ),
)
STEP = st.sampled_from(["goes on"] * 9 + ["retry", "edit", "cut", "new system", "new model"])
ROLE = st.sampled_from(["user", "assistant", "user", "assistant", "developer", "tool", "nobody"])
WRITER = st.sampled_from([
    {},
    {"separators": (",", ":")},
    {"ensure_ascii": False},
    {"indent": None, "separators": (" , ", " : ")},
])  # fmt: skip
WRAP = st.sampled_from([
    lambda at, body, response: {"at": at, "body": body, "response": response},
    lambda at, body, response: {"response": response, "request": body, "timestamp": at},
    lambda at, body, response: {"at": at, "session": "s", "body": body, "response": {**response, "id": f"r{at}"}},
    lambda at, body, response: {**body, "at": at, "response": response},
    lambda at, body, response: {"at": at, "body": body, "response": response},
    lambda at, body, response: {
        "time": f"2026-11-01T12:00:{at % 60:02}Z", "trace": f"t{at}", "ms": at / 7, "body": body,
        "response": {"id": f"r{at // 2}", "model": "m", **response}, "note": ["\u00e9", {"a": at}, None],
    },
    lambda at, body, response: {
        "body": body, "response": {"usage": {**response["usage"], "total_tokens": at % 9}}, "model": "other",
    },
])  # fmt: skip
FRAME = st.sampled_from([
    lambda messages, model, at: {"model": model, "messages": messages},
    lambda messages, model, at: {"messages": messages, "model": model, "temperature": 0.2},
    lambda messages, model, at: {"id": f"{at}", "model": model, "messages": messages, "max_tokens": 5},
    lambda messages, model, at: {"model": model, "system": LONG, "messages": messages, "tools": [{"name": "f"}]},
])  # fmt: skip
DAMAGE = st.sampled_from(
    [lambda line: line] * 24
    + [
        lambda line: line[:-3],
        lambda line: line.replace(b"hi", b"\xff"),
        lambda line: line.replace(b'"role"', b'"role":"x","role"', 1),
        lambda line: line.replace(b'"role"', b'"r\\u006fle"', 1),
        lambda line: line.replace(b"]", b",]", 1),
        lambda line: line.replace(b'"content"', b'"content": [], "content"', 1),
        lambda line: line.replace(b'"usage"', b'"usage": {}, "usage"', 1),
        lambda line: line.replace(b'"prompt_tokens"', b'"prompt_tokens1": 1, "prompt_tokens2"', 1),
        lambda line: line.replace(b'"cached_tokens": ', b'"cached_tokens": -'),
        lambda line: line.replace(b'"cached_tokens": ', b'"cached_tokens": 0'),
        lambda line: line.replace(b'"cached_tokens":', b'"cached_tokens": 1e2,"x":'),
        lambda line: line.replace(b'"cached_tokens": 8', b'"cached_tokens": "8"'),
        lambda line: line.replace(b'"prompt_tokens": ', b'"prompt_tokens": 9999999999'),
        lambda line: line.replace(b'"at": 1', b'"at": 00'),
        lambda line: line.replace(b'"at": 1', b'"at": 9'),
        lambda line: line + b"\n" + line,
        lambda line: line[:-1] + b', "usage": {}}',
        lambda line: b"\x00" + line,
    ]
)


@st.composite
def logs(draw: Any) -> bytes:
    """Conversations that go on by turns, each written in a way of its own."""
    ways = draw(st.lists(st.tuples(FRAME, WRAP, WRITER), min_size=1, max_size=3))
    histories: list[list[Any]] = [[{"role": "system", "content": LONG + draw(WORDS)}] for _ in ways]
    models = [draw(st.sampled_from(["m", "gpt-4.1"])) for _ in ways]
    twice = draw(st.booleans())
    lines = []
    for number in range(draw(st.integers(2, 12))):
        place = draw(st.integers(0, len(ways) - 1))
        frame, wrap, writer = ways[place]
        history, step = histories[place], draw(STEP)
        if step == "goes on":
            history += draw(st.lists(PLAIN, min_size=1, max_size=2) | st.lists(MESSAGE, min_size=1, max_size=3))
        elif step == "edit":
            history[draw(st.integers(0, len(history) - 1))] = draw(PLAIN)
        elif step == "cut":
            del history[max(1, len(history) - 2) :]
        elif step == "new system":
            history[0] = {"role": "system", "content": f"{number} {LONG}"}
        elif step == "new model":
            models[place] = f"m{number}"
        prompt = draw(st.sampled_from([900, 900, 1000, 2000, 5000, 0]))
        cached = draw(st.sampled_from([0, 128, 896, 896, 900, 900, 6000]))
        usage = {"prompt_tokens": prompt, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": cached}}
        if twice:
            usage["prompt_cache_hit_tokens"] = draw(st.sampled_from([cached, cached, 0, 896, 6000]))
        record = wrap(1793534400 + number, frame(history, models[place], number), {"usage": usage})
        lines.append(draw(DAMAGE)(json.dumps(record, **writer).encode("utf-8", "surrogatepass")))
    return b"\n".join(lines)


@st.composite
def usual_logs(draw: Any) -> bytes:
    """Conversations of one program, whose calls nearly all go on by texts and were served what they could be."""
    frame, wrap, writer = draw(FRAME), draw(WRAP), draw(WRITER)
    histories = [[{"role": "system", "content": LONG + draw(WORDS)}] for _ in range(draw(st.integers(1, 3)))]
    tokens = [800] * len(histories)
    twice = draw(st.sampled_from([False, False, True]))
    lines = []
    for number in range(draw(st.integers(6, 20))):
        place = draw(st.integers(0, len(histories) - 1))
        history, served = histories[place], tokens[place]
        oddity = draw(
            st.sampled_from(["", "", "", "", "system", "retry", "repeated text", "missed", "no counts", "fault"])
        )
        if oddity == "system":
            history[0] = {"role": "system", "content": f"{number} {LONG}"}
        if oddity != "retry":
            texts = draw(st.lists(WORDS, min_size=1, max_size=2))
            history += [{"role": draw(ROLE), "content": f"{number} {text}"} for text in texts]
            tokens[place] += draw(st.integers(1, 300))
        if oddity == "repeated text":
            history.append({"role": "user", "content": "Continue."})
        cached = 0 if oddity == "missed" else served // 128 * 128 + 9999 * (oddity == "fault")
        usage: dict[str, Any] = {"prompt_tokens": tokens[place], "prompt_tokens_details": {"cached_tokens": cached}}
        if twice:
            usage["prompt_cache_hit_tokens"] = cached if draw(st.booleans()) else served
        response = {"usage": {} if oddity == "no counts" else usage}
        record = wrap(1793534400 + number, frame(history, "gpt-4.1", number), response)
        lines.append(draw(DAMAGE)(json.dumps(record, **writer).encode()))
    return b"\n".join(lines)


PLAIN_PRICE = Price(input_usd_per_mtok=2.0, cached_usd_per_mtok=0.5, output_usd_per_mtok=8.0)
BY_SIZE = LargePrompt(above_tokens=1350, input_usd_per_mtok=4.0, cached_usd_per_mtok=1.0)
PRICES = (
    PLAIN_PRICE,
    replace(PLAIN_PRICE, above=(BY_SIZE,)),
    replace(PLAIN_PRICE, cached_usd_per_mtok=None),
    None,
    replace(PLAIN_PRICE, input_usd_per_mtok=3.0),
)


def quote(call: Call) -> Quote | None:
    """A price that changes every few lines."""
    price = PRICES[(call.line or 0) // 3 % len(PRICES)]
    return None if price is None else Quote(price=price, provider=None, tier=None)


def growing(*counts: tuple[int, dict[str, Any]], model: str = "gpt-4.1") -> bytes:
    """A conversation that grows, with prompt tokens and what else its usages say."""
    history: list[dict[str, Any]] = [{"role": "system", "content": "You answer for a shop. " * 200}]
    lines = []
    for number, (prompt, more) in enumerate(counts):
        history += [{"role": "user", "content": f"question {number}"}]
        body = {"model": model, "messages": history}
        usage = {"prompt_tokens": prompt, "completion_tokens": 5, **more}
        lines.append(json.dumps({"at": 1793534400 + number, "body": body, "response": {"usage": usage}}).encode())
        history += [{"role": "assistant", "content": f"answer {number}"}]
    return b"\n".join(lines)


def cached(tokens: int) -> dict[str, Any]:
    return {"prompt_tokens_details": {"cached_tokens": tokens}}


def served(number: int) -> int:
    """What call `number` can be served of the prompt before it, where each has 100 tokens more than the last."""
    return (900 + 100 * number) // 128 * 128


GROWING = growing(*[(1000 + 100 * number, cached(served(number))) for number in range(12)])
ON_WITH_ONE_THAT_WANTS_MARKERS = b"\n".join(
    line.replace(b"gpt-4.1", b"claude-sonnet-4-5") if number > 4 else line
    for number, line in enumerate(GROWING.split(b"\n"))
)
ONE_WITHOUT_TOKENS = growing(
    *[(prompt, cached(max(0, prompt - 200) // 128 * 128)) for prompt in (1000, 1200, 1300, 1500, 1600, 1700, 0, 1900)],
    model="m",
)
TOLD_TWICE_AND_FAULTY = growing(
    *[(1000 + 100 * number, {**cached(9000), "prompt_cache_hit_tokens": 9000}) for number in range(3)],
    *[(1000 + 100 * number, {**cached(served(number)), "prompt_cache_hit_tokens": 0}) for number in range(3, 9)],
)


def looked_at(file: Path) -> tuple[list[Call], list[Sketch | str], ExplainReport]:
    calls = list(open_log(str(file), read_reply, "request-pairs"))
    sketcher, sketches = Sketcher(), list[Sketch | str]()
    for call in calls:
        try:
            sketches.append(sketcher.sketch(call.body, call.dialect, call.headers) if call.dialect else "no wire")
        except ValueError as error:
            sketches.append(str(error))
    log = open_log(str(file), read_reply, "request-pairs")
    return calls, sketches, explain_log(log, quote)


@hypothesis_settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs() | usual_logs())
@example(ONE_WITHOUT_TOKENS)
@example(TOLD_TWICE_AND_FAULTY)
@example(GROWING)
@example(ON_WITH_ONE_THAT_WANTS_MARKERS)
def test_both_ways_give_the_same(tmp_path: Path, data: bytes):
    file = tmp_path / "log.jsonl"
    file.write_bytes(data)
    if not any(line.strip() for line in io.BytesIO(data)):
        return
    try:
        fast = looked_at(file)
    except Exception as error:  # say, no record at all that can be used: then both ways have to say so
        fast = repr(error)  # type: ignore[assignment]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Splitter, "split", lambda self, data: None)
        patch.setattr(Forms, "fit", lambda self, text, start, end: None)  # so nothing is shown of a body, either
        patch.setattr(PlainCalls, "of_record", lambda self, record, body, line: None)
        patch.setattr(usage_plans, "shape_of", lambda response, named: None)
        patch.setattr(
            Sketcher, "sketch", lambda self, body, dialect, headers=None: sketch_of_body(body, dialect, headers)
        )
        patch.setattr(pairing, "going_on", lambda known, seen, parts: None)
        patch.setattr(Waterfalls, "count", Waterfalls.add)
        patch.setattr(Waterfalls, "usual", None)
        try:
            slow = looked_at(file)
        except Exception as error:
            slow = repr(error)  # type: ignore[assignment]
    assert fast == slow


def test_a_growing_conversation_is_gone_on_with_and_not_searched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    taken = []
    go_on = Explainer.go_on

    def noted(self: Explainer, call: Call, before: int, further: Sequence[Part]) -> Seen | None:
        seen = go_on(self, call, before, further)
        taken.append((before, len(further), seen and seen.index))
        return seen

    monkeypatch.setattr(Explainer, "go_on", noted)
    file = tmp_path / "log.jsonl"
    file.write_bytes(GROWING)
    explain_log(open_log(str(file), read_reply, "request-pairs"), quote)
    assert taken == [(number - 1, 2, number) for number in range(3, 12)]
