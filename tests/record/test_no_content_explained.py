"""What `explain` says of sessions whose content was hashed: the same as of the sessions themselves."""

from __future__ import annotations

import copy
import json
import os
import sys
from pathlib import Path

import pytest

from hitrate.logs.hashed.stand_ins import expand_body, expand_text
from hitrate.logs.pairs import unix_time
from hitrate.record.content_key import ContentKey
from hitrate.record.no_content import ContentHasher
from hitrate.report.redact import redact_pointer

EXPLAIN = Path(__file__).parents[1] / "explain"
sys.path.insert(0, str(EXPLAIN))
from session_cases import explained  # noqa: E402

SESSIONS = sorted((EXPLAIN / "sessions").glob("*.json"))
SESSIONS += sorted(Path(os.environ.get("HITRATE_CASES") or "/nowhere").glob("dev-*.json"))

OTHER_CAUSE = {"04-date-rollover-instructions"}
"""A date without a word that calls it today's: of two hashed dates nobody can tell which is the later one."""


def hashed(case):
    """The case as a recording without content would be read."""
    times = [at for one in case.get("requests", ()) if (at := unix_time(one.get("at"))) is not None]
    hasher = ContentHasher(ContentKey(b"k" * 32, min(times, default=1.79e9)))
    case = copy.deepcopy(case)
    for one in case.get("requests", ()):
        body = json.dumps(one["body"], ensure_ascii=False).encode("utf-8", "surrogatepass")
        one["body"] = json.loads(expand_body(hasher.hash_request(body)))
        for name, value in one.get("headers", {}).items():
            one["headers"][name] = expand_text(hasher.hash_header(name.lower(), value))
    return case


def findings(report):
    return [
        (one.verdict, one.cause, one.call, one.against, one.pointer and redact_pointer(one.pointer))
        for one in report.findings
    ]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_verdict_cause_call_and_place_are_those_of_the_content(path, tmp_path):
    case = json.loads(path.read_text(encoding="utf-8"))
    was, now = findings(explained(case, tmp_path)), findings(explained(hashed(case), tmp_path))
    if path.stem in OTHER_CAUSE:
        assert [(*one[:1], *one[2:]) for one in now] == [(*one[:1], *one[2:]) for one in was]
        assert now != was
    else:
        assert now == was
