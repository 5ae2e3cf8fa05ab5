from __future__ import annotations

import pytest

from hitrate.explain.causes.shapes import labelled_id, number, random_kind


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "UUID"),
        ("sess-3F2504E0-4F89-11D3-9A0C-0305E82C3301", "UUID"),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "trace context"),
        ("01J8ZQ4X7N9V2B3C4D5E6F7G8H", "ULID"),
        ("7f3a9c1e", "hash"),
        ("sha256:9F86D081884C7D65", "hash"),
        ("web-7d9f8b6c5-x2x4q", "hash"),
        ("req_K7x92QpL4v", "random characters"),
        ("dGhpcyBpcyBBbiBFeGFtUGxFIG9m", "random characters"),
        ("829104772", "long number"),
        ("gpt-4o-mini", None),
        ("gpt-5.4", None),
        ("order_no", None),
        ("GF-0511", None),
        ("Donaudampfschifffahrt", None),
        ("getElementsByTagName", None),
        ("2026-03-11", None),
        ("v1.2.3", None),
        ("deadbeef", None),
        ("12,345.67", None),
        ("", None),
    ],
)
def test_kinds_of_values(token, kind):
    assert random_kind(token) == kind


@pytest.mark.parametrize(
    ("label", "token", "is_id"),
    [
        ("entry=cli; h=", "9b1d4", True),
        ("request id: ", "4711", True),
        ("Sitzung: ", "4711", True),
        ("会话：", "4711a", True),
        ("sessionId: ", "4711", True),
        ("Price: ", "4711", False),
        ("The grid: ", "4711", False),
        ("width: ", "4711", False),
        ("id: ", "main", False),
        ("", "4711", False),
    ],
)
def test_labels_of_ids(label, token, is_id):
    assert labelled_id(label, token) is is_id


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("1,234", 1234),
        ("1.234", 1234),
        ("1.234.567", 1_234_567),
        ("1,234.5", 1234.5),
        ("1.234,5", 1234.5),
        ("3,5", 3.5),
        ("1'234", 1234),
        ("1\u202f234", 1234),
        ("٣", 3),
        ("1.2.3", None),
        ("", None),
        ("x", None),
    ],
)
def test_numbers_as_printed(text, value):
    assert number(text) == value
