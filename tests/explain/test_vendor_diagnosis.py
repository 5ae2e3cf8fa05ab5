import pytest

from hitrate.explain.vendor_diagnosis import reason_of, vendor_says


@pytest.mark.parametrize(
    ("diagnosis", "expected"),
    [
        ({"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 8200}}, ("tools_changed", 8200)),
        ({"diagnostics": {"cache_miss_reason": {"type": "model_changed"}}}, ("model_changed", None)),
        ({"type": "system_changed", "cache_missed_input_tokens": 5}, ("system_changed", 5)),
        ({"cache_miss_reason": "messages_changed"}, ("messages_changed", None)),
        (
            {"prompt_cache_diagnostics": {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 512}},
            ("input_changed", 512),
        ),
        ({"type": "cache_hit"}, ("cache_hit", None)),
        ({"cache_miss_reason": None}, (None, None)),
        ({"diagnostics": None}, (None, None)),
        ({}, (None, None)),
        (None, (None, None)),
    ],
)
def test_reasons_in_the_shapes_they_come_in(diagnosis, expected):
    assert reason_of(diagnosis) == expected


@pytest.mark.parametrize(
    ("reason", "verdict", "cause", "kind", "says"),
    [
        ("tools_changed", "prefix_break", "tool-order", "tools", "tools_changed: agrees"),
        ("tools_changed", "prefix_break", "clock-in-prefix", "system", "tools_changed: does not agree"),
        ("system_changed", "prefix_break", "clock-in-prefix", "system", "system_changed: agrees"),
        ("messages_changed", "prefix_break", "tool-output-pruned", "tool", "messages_changed: agrees"),
        ("messages_changed", "expiry", "expired", None, "messages_changed: does not agree"),
        ("text_format_changed", "prefix_break", "response-schema-changed", "schema", "text_format_changed: agrees"),
        ("model_changed", "key_change", "model-switched", None, "model_changed: agrees"),
        ("model_changed", "key_change", "effort-switched", None, "model_changed: does not agree"),
        ("reasoning_effort_changed", "key_change", "effort-switched", None, "reasoning_effort_changed: agrees"),
        ("prompt_cache_key_changed", "routing", "affinity-value-changes", None, "prompt_cache_key_changed: agrees"),
        ("unavailable", "key_change", "marker-lifetime-changed", None, "unavailable: the vendor could not compare"),
        (
            "previous_message_not_found",
            "expiry",
            "expired",
            None,
            "previous_message_not_found: the vendor could not compare",
        ),
        ("something_new", "expiry", "expired", None, "something_new: a reason that is not known here"),
        ("cache_hit", "unknown", "provider-missed", None, "cache_hit: the vendor counts this request as served"),
    ],
)
def test_whether_the_vendor_agrees(reason, verdict, cause, kind, says):
    assert vendor_says({"type": reason}, verdict=verdict, cause=cause, kind=kind) == says


def test_what_the_vendor_counts_is_told():
    said = vendor_says(
        {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 8200}},
        verdict="prefix_break",
        cause="tool-order",
        kind="tools",
    )
    assert said == "tools_changed, 8,200 tokens missed: agrees"


def test_a_log_without_a_diagnosis_says_nothing():
    assert vendor_says(None, verdict="expiry", cause="expired", kind=None) is None
