"""Pairing over the shared cases: HITRATE_CASES names their folder."""

import json
import os
from pathlib import Path

import pytest

from hitrate.explain.evidence import HEALTHY, Pair, Seen
from hitrate.explain.pairs.pairing import Pairing
from hitrate.targets.dialects import dialect
from hitrate.targets.dialects.prompt_parts import parts_of
from hitrate.targets.dialects.rendered_parts import rendered_parts
from hitrate.targets.dialects.sketch import Sketcher

CASES = sorted(Path(os.environ["HITRATE_CASES"]).glob("*.json")) if os.environ.get("HITRATE_CASES") else []

RELATIONS = {
    "prefix_break": {"rewrite", "summary"},
    "breakpoints": {"append", "opening"},
    "race": {"opening"},
    "engine": {"append", "rewrite"},
}
"""Of the call in which a fault of that verdict shows; "append" for the others."""


def pairs_of(case: dict, texts: bool) -> list[Pair]:
    bodies = [json.dumps(request["body"]).encode() for request in case["requests"]]

    def texts_of(index: int) -> list[str]:
        rendered = case["api"] in ("tokens", "llama.cpp-completion")
        name = {"gemini": "gemini-generate"}.get(case["api"], case["api"])
        prompt = dialect("llamacpp-completion" if rendered else name).canonical(bodies[index])
        texts = "".join(segment.text for segment in prompt.segments)
        lengths = [part.characters for part in (rendered_parts if rendered else parts_of)(prompt)]
        starts = [sum(lengths[:place]) for place in range(len(lengths))]
        return [texts[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    sketcher = Sketcher()
    pairing = Pairing(texts_of if texts else None)
    pairs = []
    for index, request in enumerate(case["requests"]):
        status = (request.get("response") or {}).get("status")
        seen = Seen(index=index, session=request.get("session") or "", answered=status is None or status < 400)
        pairs.append(pairing.add(seen, sketcher.sketch(bodies[index], case["api"])))
    pairing.check_integrity()
    return pairs


@pytest.mark.skipif(not CASES, reason="HITRATE_CASES names no folder of cases")
@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_each_case_is_compared_with_the_right_call(path: Path, texts: bool):
    case = json.loads(path.read_text())
    if "requests" not in case:
        pytest.skip("a session log, not requests")
    expected = case["expected"]
    pairs = pairs_of(case, texts)
    turn, against = expected.get("turn"), expected.get("against")
    if against is not None:
        assert pairs[turn].against == against
        assert pairs[turn].relation in RELATIONS.get(expected["verdict"], {"append"})
        assert all(pair.relation in HEALTHY for pair in pairs[:turn])
        assert pairs[turn].shift == expected.get("shift", 0)
    if not expected["flag"]:
        assert all(pair.relation in HEALTHY and pair.near is None for pair in pairs)
    for again, first in expected.get("retry_of", {}).items():
        assert (pairs[int(again)].relation, pairs[int(again)].retry_of) == ("repeat", first)
    if "branch_at" in expected:
        branch = pairs[expected["branch_at"]["turn"]]
        assert (branch.relation, branch.against) == ("branch", expected["branch_at"]["against"])
    for number, calls in enumerate(expected.get("sessions", ())):
        assert [pairs[call].conversation for call in calls] == [number] * len(calls)
