"""The documented value beside the measured one."""

from __future__ import annotations

import pytest

from hitrate.caches.rules import RULE_SETS
from hitrate.core.probe_results import Answer
from hitrate.explain.probing.documented import Documented, compared, from_rule


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        ("vllm-2026-11", {"step": 16, "opening": "second call", "generated": "reused", "look_back": None}),
        ("openai-chat-before-gpt-5.6", {"step": 128, "minimum": 1024}),
        (
            "anthropic-2026-11",
            {"step": 1, "minimum": 1024, "look_back": 20, "lifetime_s": 300, "generated": "not reused"},
        ),
        (
            "openai-2026-09",
            {"step": 1, "opening": "never", "look_back": 21, "lifetime_s": 1800, "lifetime_is_least": True},
        ),
        ("deepseek-2026-11", {"step": None, "opening": "third call", "write_delay_s": 6.0, "minimum": 64}),
        ("llama.cpp-2026-10", {"step": 1, "opening": "second call"}),
        ("mlx-lm-2026-11", {"step": 1, "minimum": None, "opening": "second call", "generated": "reused"}),
    ],
)
def test_what_a_rule_set_says(rule, facts):
    documented = from_rule(RULE_SETS[rule])
    assert {name: getattr(documented, name) for name in facts} == facts


def test_a_fact_beside_the_rule_stands_in_for_its_own():
    assert from_rule(RULE_SETS["block-chain"], step=64, replicas=3) == Documented(
        step=64, replicas=3, opening="second call", generated="reused"
    )


def test_every_model_of_a_rule_says_when_openings_and_replies_are_reused():
    open_ones = {
        name for name, rule in RULE_SETS.items() if None in (from_rule(rule).opening, from_rule(rule).generated)
    }
    assert {RULE_SETS[name].model for name in open_ones} == {"objects"}


def answer(probe, **members):
    return Answer(probe=probe, status=members.pop("status", "answered"), text="", **members)


@pytest.mark.parametrize(
    ("found", "documented", "text", "agrees"),
    [
        (answer("hidden", choice="reported"), {"reports": True}, "reported", True),
        (answer("hidden", choice="hidden"), {"reports": True}, "reported", False),
        (answer("hidden", choice="reported"), {}, None, None),
        (answer("replicas", value=4, low=4, high=5), {"replicas": 4}, "4", True),
        (answer("replicas", value=4, low=4, high=5), {"replicas": 18}, "18", False),
        (answer("replicas", value=40, low=20), {"replicas": 90}, "90", True),
        (
            answer("affinity", subject="body member user", choice="no effect"),
            {"affinity": ("body member user",)},
            "works",
            False,
        ),
        (
            answer("affinity", subject="body member user", choice="no effect"),
            {"inert": ("body member user",)},
            "no effect",
            True,
        ),
        (
            answer("affinity", subject="body member user", choice="works in part"),
            {"affinity": ("body member user",)},
            "works",
            True,
        ),
        (answer("granularity", value=16), {"step": 16}, "16 tokens", True),
        (answer("granularity", value=16), {"step": 128}, "128 tokens", False),
        (answer("granularity", value=1), {"step": 1}, "1 token", True),
        (answer("minimum", value=25, low=0, high=25, choice="none seen"), {"step": 1}, "none", True),
        (answer("minimum", value=32, low=26, high=42), {"step": 32}, "32 tokens", True),
        (answer("granularity", status="could not tell"), {"step": 128}, "128 tokens", None),
        (answer("minimum", value=1024, low=929, high=1057), {"step": 128, "minimum": 1024}, "1,024 tokens", True),
        (answer("minimum", value=1152, low=1100, high=1160), {"step": 128, "minimum": 1024}, "1,024 tokens", False),
        (answer("minimum", value=1028, low=1025, high=1028), {"step": 1, "minimum": 1024}, "1,024 tokens", True),
        (answer("minimum", value=2100, low=2090, high=2100), {"step": 1, "minimum": 1024}, "1,024 tokens", False),
        (answer("minimum", value=16, low=0, high=23), {"step": 16}, "16 tokens", True),
        (answer("write-delay", value=6.1, low=5.9, high=6.1), {"write_delay_s": 6.0}, "6 s", True),
        (answer("write-delay", value=0, low=0, high=0.01), {"write_delay_s": 6.0}, "6 s", False),
        (answer("opening", choice="third call"), {"opening": "third call"}, "third call", True),
        (answer("look-back", value=20, low=19, high=20), {"look_back": 20}, "20", True),
        (answer("look-back", choice="no limit", low=64), {"look_back": 20}, "20", False),
        (answer("look-back", choice="no limit", low=64), {"look_back": 80}, "80", True),
        (answer("lifetime", value=5, low=4.8, high=5.2), {"lifetime_s": 5}, "5 s", True),
        (answer("lifetime", value=5, low=4.8, high=5.2), {"lifetime_s": 300}, "300 s", False),
        (answer("lifetime", value=118, low=118), {"lifetime_s": 300}, "300 s", True),
        (answer("lifetime", value=600, low=600), {"lifetime_s": 300}, "300 s", False),
        (
            answer("lifetime", value=600, low=600),
            {"lifetime_s": 300, "lifetime_is_least": True},
            "at least 300 s",
            True,
        ),
        (
            answer("sharing", subject="another user", choice="shared"),
            {"shared_with": ("another user",)},
            "shared",
            True,
        ),
        (
            answer("sharing", subject="another key", choice="shared"),
            {"apart_from": ("another key",)},
            "not shared",
            False,
        ),
        (answer("sharing", subject="another user", choice="shared"), {}, None, None),
        (answer("honesty", choice="match"), {}, None, None),
    ],
)
def test_agreement(found, documented, text, agrees):
    beside = compared(found, Documented(**documented))
    assert (beside.documented, beside.agrees) == (text, agrees)
