"""For pytest: fail a test when a change of an agent breaks the prefix of its prompts.

    from hitrate.pytest_plugin import assert_prefix_stable

    def test_prefix():
        assert_prefix_stable(lambda turn: agent.request(history[: 2 * turn + 1]))

Nothing but pytest is imported until a test asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hitrate.core.findings import Finding
    from hitrate.explain.evidence import Divergence

Body = Mapping[str, Any] | bytes | str
"""A request as a mapping or as JSON. A string that is no JSON object is a prompt as the engine gets it."""

_HEAD = frozenset({"tools", "schema", "system"})
"""What is the same in every request of a conversation."""


def assert_prefix_stable(
    *requests: Body | Iterable[Body] | Callable[[Any], Body],
    turns: int | Iterable[Any] = 3,
    dialect: str | None = None,
    allow: Iterable[str] = (),
) -> None:
    """Fail unless each request keeps what the ones before it sent, in text and in cache key.

    Give two or more requests of one conversation, or one iterable of them, or a function that makes them: it is called
    with 0, 1, ... below `turns`, or with each item of `turns` (conversations, say). `dialect` names the wire format
    where it does not show. `allow` names causes to accept. AssertionError says where the prefix broke, and by what;
    ValueError is raised for requests that cannot be compared.
    """
    __tracebackhide__ = True
    from hitrate.explain.gates import breaks
    from hitrate.explaining import explain_bodies

    given = _given(requests, turns)
    if len(given) < 2:
        raise ValueError(f"a prefix shows from two requests on; got {len(given)}")
    bodies = [_sent(body) for body in given]
    report = explain_bodies(bodies, dialect)
    told = [_told(finding) for finding in breaks(report, frozenset(allow))]
    explained = {call for finding in report.findings for call in (finding.call, *finding.calls)}
    told += _parted_in_head(bodies, dialect, explained)
    if told:
        raise AssertionError("\n".join(["the prefix is not stable", *told]))


def _given(requests: tuple[Any, ...], turns: int | Iterable[Any]) -> list[Body]:
    if len(requests) != 1 or isinstance(requests[0], Mapping | bytes | str):
        return list(requests)
    if callable(requests[0]):
        return [requests[0](turn) for turn in (range(turns) if isinstance(turns, int) else turns)]
    return list(requests[0])


def _sent(body: Body) -> bytes:
    from hitrate.explaining import encoded

    if isinstance(body, str):
        try:
            is_request = isinstance(json.loads(body), dict)
        except ValueError:
            is_request = False
        if not is_request:
            return encoded({"prompt": body})
    return encoded(body)


def _parted_in_head(bodies: list[bytes], dialect: str | None, explained: Collection[int | None]) -> Iterator[str]:
    """Requests that share nothing, or not their instructions, without a finding: in a log they look like unrelated
    ones, but here they were given as one conversation. ValueError for a request that cannot be read."""
    from hitrate.explain.diff import first_divergence
    from hitrate.explaining import pieces_of
    from hitrate.logs.shapes import guess_dialect

    prompts = [pieces_of(body, dialect or guess_dialect(json.loads(body)) or "") for body in bodies]
    for number, (was, now) in enumerate(pairwise(range(len(bodies))), 1):
        if number in explained:
            continue
        parted = first_divergence(prompts[was], prompts[now], bodies[was], bodies[now])
        if parted is not None and (parted.kind in _HEAD or not parted.cacheable_chars):
            yield _told_apart(number, parted)


def _told(finding: Finding) -> str:
    from hitrate.report.escape import escape_line
    from hitrate.report.kinds.explain import first_line

    lines = [first_line(finding, with_cost=False, with_summary=False), f"  {finding.summary}"]
    lines += [f"  what to do: {finding.advice}"] if finding.advice else []
    return "\n".join(map(escape_line, lines))


def _told_apart(number: int, parted: Divergence) -> str:
    from hitrate.explain.visible import visible

    place = parted.pointer if parted.offset is None else f"{parted.pointer}, character {parted.offset:,}"
    sides = f'"{visible(parted.was[:40])}" became "{visible(parted.now[:40])}"'
    return f"call {number} against {number - 1} · {visible(place)} · {sides}"


@pytest.fixture(name="assert_prefix_stable")
def _assert_prefix_stable() -> Callable[..., None]:
    """`assert_prefix_stable` without an import."""
    return assert_prefix_stable
