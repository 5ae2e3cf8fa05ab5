"""The usage reader against every shape of `usage_fixtures`."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from usage_fixtures import SHAPES, Right, Shape

from hitrate.core.model import Reading, StreamEvent, Usage
from hitrate.targets.dialects import dialect, names

FIGURES = ("prompt_tokens", "cached_tokens", "written_5m_tokens", "written_1h_tokens", "output_tokens")


def read(name: str, reply: dict | list) -> Reading:
    wire = dialect(name)
    if isinstance(reply, dict):
        return wire.read_body(json.dumps(reply).encode())
    return wire.read_stream([StreamEvent(i, i, json.dumps(event).encode()) for i, event in enumerate(reply)])


def figures(usage: Usage) -> Right:
    by_lifetime = (usage.written_5m_tokens, usage.written_1h_tokens)
    other = None if usage.written_tokens is None else usage.written_tokens - sum(count or 0 for count in by_lifetime)
    return (usage.prompt_tokens, usage.cached_tokens, *by_lifetime, other, usage.output_tokens)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.dialect}: {shape.name}")
def test_a_shape_is_read_right(shape: Shape):
    usage = read(shape.dialect, shape.reply).usage
    assert figures(usage) == shape.right
    total, cached, *_ = shape.right
    if cached is None or cached > total:
        assert usage.hit_rate is None
    else:
        assert usage.hit_rate == cached / total
        assert 0 <= usage.hit_rate <= 1
    # Every figure says where it came from, and only what is known does.
    assert {name for name in (*FIGURES, "written_tokens", "reasoning_tokens") if getattr(usage, name) is not None} == (
        set(usage.sources)
    )
    assert usage.cached_source == usage.sources.get("cached_tokens", usage.cached_source)
    assert (cached is None) == (usage.cached_source in ("null", "absent"))


def test_there_are_shapes_enough_of_every_wire():
    counted = Counter(shape.dialect for shape in SHAPES)
    assert set(counted) == set(names())
    assert len(SHAPES) >= 45
    assert len({(shape.dialect, shape.name) for shape in SHAPES}) == len(SHAPES)
    assert all(shape.source for shape in SHAPES)


@pytest.mark.parametrize(
    ("file", "wire", "totals"),
    [
        ("dev-28-usage-dialect.json", "openai-chat", [(1816, 0), (1886, 1792), (1941, 1792)]),
        ("dev-29-stream-totals.json", "anthropic-messages", [(5408, 5120)]),
        ("dev-31-wrong-price.json", "gemini-generate", [(181340, 176128)]),
    ],
)
def test_recorded_cases(file: str, wire: str, totals: list[tuple[int, int]]):
    folder = os.environ.get("HITRATE_CASES")
    if folder is None:
        pytest.skip("HITRATE_CASES names no folder of cases")
    responses = [one["response"] for one in json.loads((Path(folder) / file).read_text())["requests"]]
    usages = [read(wire, response.get("events", response)).usage for response in responses]
    assert [(usage.prompt_tokens, usage.cached_tokens) for usage in usages] == totals
