"""SARIF 2.1.0: what its schema requires, and what a reader makes of it."""

from __future__ import annotations

import io
import json

import explained
import jsonschema
import pytest
from msgspec.structs import replace

from hitrate.report.sarif import FINGERPRINT, render, uri

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": -1},
        "message": TEXT,
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~:/%\-]+$"}},
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        },
        "logicalLocations": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {key: {"type": "string"} for key in ("name", "fullyQualifiedName", "kind")},
            },
        },
    },
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
SCHEMA = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id", "name", "shortDescription", "help"],
                                            "properties": {
                                                "id": {"type": "string"},
                                                "shortDescription": TEXT,
                                                "help": TEXT,
                                                "defaultConfiguration": {"properties": {"level": LEVEL}},
                                            },
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {"type": "object", "required": ["message"]},
                                }
                            },
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "locations"],
                            "properties": {
                                "message": TEXT,
                                "level": LEVEL,
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "locations": {"type": "array", "items": LOCATION},
                                "relatedLocations": {"type": "array", "items": LOCATION},
                                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                                "occurrenceCount": {"type": "integer", "minimum": 1},
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The constraints of the official schema on the members that are written here."""


def document(report) -> dict:
    out = io.StringIO()
    render(report, out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize("report", [explained.BROKEN, explained.HEALTHY, explained.SILENT, explained.HOSTILE])
def test_it_is_sarif(report):
    made = document(report)
    jsonschema.Draft202012Validator(SCHEMA).validate(made)
    (run,) = made["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])


def test_a_finding_becomes_a_result():
    clock, tools, missed = document(explained.BROKEN)["runs"][0]["results"]
    assert (clock["ruleId"], clock["level"], clock["occurrenceCount"]) == ("clock-in-prefix", "error", 2)
    assert clock["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "logs/agent.jsonl"}, "region": {"startLine": 2}},
            "logicalLocations": [
                {"name": "content", "fullyQualifiedName": "/messages/0/content", "kind": "value"},
            ],
        }
    ]
    assert clock["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    assert clock["properties"]["offset"] == 31
    assert clock["properties"]["lostUsd"] == 0.0103
    assert tools["level"] == "warning"
    assert "region" not in tools["locations"][0]["physicalLocation"]
    assert missed["properties"]["lostTokens"] is None
    assert "logicalLocations" not in missed["locations"][0]


def test_a_rule_is_described_by_the_list_of_causes():
    rule = document(explained.BROKEN)["runs"][0]["tool"]["driver"]["rules"][0]
    assert (rule["id"], rule["name"]) == ("clock-in-prefix", "ClockInPrefix")
    assert "time of day" in rule["shortDescription"]["text"]
    assert rule["help"]["text"] == "Move the time behind the stable text."


def test_a_cause_that_is_in_no_list_has_a_rule_all_the_same():
    odd = replace(explained.MISSED, cause="made-up", summary="Odd {0} [x](y).")
    made = document(replace(explained.BROKEN, findings=(odd,)))["runs"][0]
    assert made["tool"]["driver"]["rules"][0]["shortDescription"] == {"text": "Made up."}
    assert made["tool"]["driver"]["rules"][0]["help"] == {"text": "Odd {{0}} [x] (y)."}


def test_fingerprints_hold_over_logs_and_tell_results_apart():
    def prints(*findings):
        results = document(replace(explained.BROKEN, findings=findings))["runs"][0]["results"]
        return [result["partialFingerprints"][FINGERPRINT] for result in results]

    moved = replace(explained.CLOCK, call=9, against=8, was="08", now="22", session="other", lost_tokens=1, line=40)
    assert prints(explained.CLOCK) == prints(moved)
    assert len(set(prints(explained.CLOCK, moved, explained.TOOLS, explained.MISSED))) == 4


def test_records_left_out_are_told():
    (invocation,) = document(explained.BROKEN)["runs"][0]["invocations"]
    (told,) = invocation["toolExecutionNotifications"]
    assert told["message"]["text"] == "not used: expected JSON: the line ends inside a string"
    assert told["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("logs/a b.jsonl", "logs/a%20b.jsonl"),
        ("/logs/ä.jsonl", "file:///logs/%C3%A4.jsonl"),
        ("a:b.jsonl", "a%3Ab.jsonl"),
        ("a\ud800.jsonl", "a%3F.jsonl"),
    ],
)
def test_uri(log, expected):
    assert uri(log) == expected
