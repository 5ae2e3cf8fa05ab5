"""For pytest: fail a test when a change of an agent breaks the prefix of its prompts.

    from hitrate.pytest_plugin import assert_prefix_stable

    def test_prefix():
        assert_prefix_stable(lambda turn: agent.request(history[: 2 * turn + 1]))

Nothing but pytest is imported until a test asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import pytest

Body = Mapping[str, Any] | bytes | str
"""A request as a mapping or as JSON. A string that is no JSON object is a prompt as the engine gets it."""


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

    bodies = _bodies(requests, turns)
    if len(bodies) < 2:
        raise ValueError(f"a prefix shows from two requests on; got {len(bodies)}")
    prepared = [_prepared(body) for body in bodies]
    if dialect is None and all(is_prompt for _, is_prompt in prepared):
        dialect = "llamacpp-completion"
    if nothing := _nothing_shared([body["prompt"] for body, is_prompt in prepared if is_prompt]):
        raise AssertionError(nothing)
    report = explain_bodies([body for body, _ in prepared], dialect)
    found = breaks(report, frozenset(allow))
    if found:
        raise AssertionError(_told(found))
    if left_out := [note for note in report.notes if "left out" in note]:
        raise ValueError(left_out[0])


def _bodies(requests: tuple[Any, ...], turns: int | Iterable[Any]) -> list[Body]:
    if len(requests) != 1 or isinstance(requests[0], Mapping | bytes | str):
        return list(requests)
    if callable(requests[0]):
        return [requests[0](turn) for turn in (range(turns) if isinstance(turns, int) else turns)]
    return list(requests[0])


def _prepared(body: Body) -> tuple[Any, bool]:
    """The request, and whether it was made of a bare prompt."""
    if isinstance(body, str):
        try:
            is_request = isinstance(json.loads(body), dict)
        except ValueError:
            is_request = False
        if not is_request:
            return {"prompt": body}, True
    return body, False


def _nothing_shared(prompts: list[str]) -> str | None:
    """Bare prompts that part at their first character look like two conversations, and are given as one."""
    from hitrate.explain.visible import visible

    for number, (was, now) in enumerate(pairwise(prompts), 1):
        if was and was[:1] != now[:1]:
            sides = f'"{visible(was[:40])}" became "{visible(now[:40])}"'
            return f"the prefix is not stable\ncall {number} against {number - 1} · /prompt, character 0 · {sides}"
    return None


def _told(found: list[Any]) -> str:
    from hitrate.report.escape import escape_line
    from hitrate.report.kinds.explain import first_line

    lines = ["the prefix is not stable"]
    for finding in found:
        lines += [first_line(finding, with_cost=False), f"  {finding.summary}"]
        lines += [f"  what to do: {finding.advice}"] if finding.advice else []
    return "\n".join(escape_line(line) for line in lines)


@pytest.fixture(name="assert_prefix_stable")
def _assert_prefix_stable() -> Callable[..., None]:
    """`assert_prefix_stable` without an import."""
    return assert_prefix_stable
