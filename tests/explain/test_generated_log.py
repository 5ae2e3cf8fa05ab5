"""A log as the benchmark makes it: each conversation that was broken is found once, and no other."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from hitrate.core.findings import ExplainReport
from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "explain"
REQUESTS = 200


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    if not BENCHMARK.exists():
        pytest.skip("the benchmarks are not part of this installation")
    sys.path.insert(0, str(BENCHMARK))
    try:
        import generate as module  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(BENCHMARK))
    return module


def explained(file: Path) -> ExplainReport:
    return explain_log(open_log(str(file), read_reply, None))


@pytest.mark.parametrize("seed", [7, 8])
def test_the_broken_conversations_are_found_and_no_other(generate: ModuleType, tmp_path: Path, seed: int):
    file = tmp_path / "log.jsonl"
    generate.write("chats", file, REQUESTS, seed)
    calls: dict[int, list[int]] = {}
    for index, request in enumerate(generate.chats(REQUESTS, seed)):
        calls.setdefault(request.conversation, []).append(index)
    conversation_of = {index: conversation for conversation, own in calls.items() for index in own}
    broken = [conversation for conversation in calls if generate.is_broken(conversation)]
    report = explained(file)
    inside, across = [], []
    for one in report.findings:
        same = conversation_of[one.call] == conversation_of[one.against]
        (inside if same else across).append(one)

    # Within a conversation the epoch breaks every call but the first.
    expected = {conversation: calls[conversation][1:] for conversation in broken if len(calls[conversation]) > 1}
    assert len(expected) >= 2
    assert {conversation_of[one.call]: list(one.calls) for one in inside} == expected
    assert len(inside) == len(expected)
    for one in inside:
        assert (one.verdict, one.cause, one.pointer) == ("prefix_break", "clock-in-prefix", "/messages/0/content")
        assert one.against == calls[conversation_of[one.call]][0]
        assert (one.offset or 0) >= len("Epoch ") and (one.lost_tokens or 0) > 1000 * len(one.calls)

    # Where conversations begin, one with an epoch on top may be held against another of its tenant without.
    for one in across:
        assert {conversation_of[one.call], conversation_of[one.against]} & set(broken)
        assert all(call == calls[conversation_of[call]][0] for call in one.calls)
    assert [one.calls for one in report.by_session] == [tuple(own) for own in calls.values()]


def test_an_agents_long_conversation_is_healthy(generate: ModuleType, tmp_path: Path):
    file = tmp_path / "log.jsonl"
    size = generate.write("long", file, 4)
    report = explained(file)
    assert size > 4 * 450_000
    assert (report.findings, report.calls, report.sessions) == ((), 4, 1)
    assert report.waterfall.lost_tokens == 0


def test_the_trace_for_the_peer_holds_the_same_requests(generate: ModuleType):
    request = next(generate.chats(1))
    line, trace = generate.line(request), generate.traced(request)
    assert trace["body"] == line["body"] and trace["at"] == line["at"]
    usage = trace["usage"]
    assert usage["input_tokens"] + usage["cache_read"] == line["response"]["usage"]["prompt_tokens"]
