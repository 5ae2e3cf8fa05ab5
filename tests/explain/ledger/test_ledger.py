import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.caches.rules import RULE_SETS
from hitrate.core.findings import LABELS
from hitrate.core.model import Call, Happening, Timing, Usage
from hitrate.core.money import Price
from hitrate.explain.evidence import Facts
from hitrate.explain.ledger.causes import LEDGER_CAUSES
from hitrate.explain.ledger.ledger import Ledger
from hitrate.explain.waterfall import Waterfalls
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply

TRACES = os.environ.get("HITRATE_TRACES")

OPUS = Price(
    input_usd_per_mtok=5.0,
    cached_usd_per_mtok=0.5,
    written_usd_per_mtok=6.25,
    written_1h_usd_per_mtok=10.0,
    output_usd_per_mtok=25.0,
)

COMPACTION = Happening(kind="compaction")
ABORTED = Happening(kind="aborted")
THINKING = Happening(kind="setting", detail="thinking level off -> high")
MODEL_AND_BACK = Happening(kind="setting", detail="model opus -> opus-4")
GONE = None
"""A call that was aborted before its usage came."""


def call(counts, *, at, output=100, session="s", model="opus", label="", dialect="anthropic-messages", **more):
    """`counts` are prompt, cached and, where the vendor reports them, written tokens."""
    prompt, cached, *written = counts or (None, None)
    hour = more.pop("hour", None)
    return Call(
        target="anthropic",
        dialect=dialect,
        body=b"",
        model=model,
        session=session,
        label=label,
        usage=Usage()
        if counts is GONE
        else Usage(
            prompt_tokens=prompt,
            cached_tokens=cached,
            written_tokens=written[0] if written else None,
            written_1h_tokens=hour,
            output_tokens=output,
        ),
        timing=None if at is None else Timing(at=at, sent_at_s=at),
        error="aborted before its usage came" if counts is GONE else None,
        **more,
    )


def ledger_of(calls, facts=None):
    ledger = Ledger()
    for index, one in enumerate(calls):
        ledger.add(index, one, price=OPUS, facts=facts)
    return ledger


def losses(calls, facts=None):
    return [(found.cause, list(found.calls), found.lost_tokens) for found in ledger_of(calls, facts).findings()]


def session(*rows, every_s=10.0, **more):
    """Rows of counts, or of counts and what is special about the call."""
    calls, at = [], 0.0
    for row in rows:
        counts, special = row if isinstance(row, tuple) and len(row) == 2 and isinstance(row[1], dict) else (row, {})
        at += special.get("idle_s", every_s)
        calls.append(call(counts, at=at, **{**more, **{key: special[key] for key in special if key != "idle_s"}}))
    return calls


GROWING = ((10_000, 0, 9_990), (10_500, 9_990, 500), (11_000, 10_490, 500))
"""A conversation on a wire with reported writes: each call reads what the one before read and wrote."""
LOST = (11_500, 0, 11_490)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param((*GROWING, (11_500, 10_990, 500)), [], id="healthy"),
        pytest.param((*GROWING, LOST), [("not-visible", [3], 10_990)], id="nothing read, for no reason to be seen"),
        pytest.param((*GROWING, (11_500, 4_000, 7_490)), [("not-visible", [3], 6_990)], id="less read"),
        pytest.param((*GROWING, (11_500, 10_900, 590)), [], id="a little less read"),
        pytest.param((*GROWING, (11_500, 11_200, 290)), [], id="more read: an aborted call had written it"),
        pytest.param((*GROWING, (LOST, {"idle_s": 301})), [("idle-time", [3], 10_990)], id="idle"),
        pytest.param((*GROWING, (LOST, {"idle_s": 299})), [("not-visible", [3], 10_990)], id="not idle for too long"),
        pytest.param(
            (*GROWING, (LOST, {"happenings": (THINKING,)})), [("parameter-change", [3], 10_990)], id="thinking level"
        ),
        pytest.param(
            (*GROWING, (LOST, {"happenings": (MODEL_AND_BACK,)})), [("not-visible", [3], 10_990)], id="model and back"
        ),
        pytest.param((*GROWING, GONE, LOST), [("aborted-turn", [4], 10_990)], id="after an aborted call"),
        pytest.param(
            (*GROWING, (LOST, {"happenings": (ABORTED,)})), [("aborted-turn", [3], 10_990)], id="as the log says"
        ),
        pytest.param((*GROWING, GONE, (11_500, 10_990, 500)), [], id="an aborted call that cost nothing"),
        pytest.param(
            (*GROWING, GONE, (LOST, {"happenings": (THINKING,), "idle_s": 400})),
            [("idle-time", [4], 10_990)],
            id="what explains most",
        ),
        pytest.param(
            (*GROWING, ((6_000, 0, 5_990), {"happenings": (COMPACTION,)}), (6_500, 5_990, 500)),
            [("compaction", [3], 0)],
            id="compaction",
        ),
        pytest.param(
            (*GROWING, ((6_000, 4_000, 1_990), {"happenings": (COMPACTION,), "idle_s": 400})),
            [("compaction", [3], 0)],
            id="compaction that left the opening",
        ),
        pytest.param((*GROWING, (6_000, 0, 5_990), (6_500, 5_990, 500)), [], id="a smaller prompt"),
        pytest.param((*GROWING, (10_600, 9_990, 600), (11_100, 10_590, 500)), [], id="a rewind"),
        pytest.param((*GROWING, (300, 0, 0), (11_500, 10_990, 500)), [], id="a side call"),
        pytest.param((*GROWING, (300, 0, 0), LOST), [("not-visible", [4], 10_990)], id="a loss after a side call"),
        pytest.param((*GROWING, (40_000, 0, 39_990)), [], id="a much larger prompt: another conversation"),
        pytest.param((*GROWING, LOST, (12_000, 0, 11_990)), [("not-visible", [3, 4], 22_480)], id="twice"),
        pytest.param(
            ((10_000, 0, 9_990), (10_500, 0, 10_490), (11_000, 0, 10_990), (11_500, 0, 11_490), (12_000, 0, 11_990)),
            [("not-visible", [3, 4], 22_480)],
            id="written with every call and never read",
        ),
        pytest.param(((10_000, 0, 0), (10_500, 0, 0), (11_000, 0, 0), (11_500, 0, 0)), [], id="nothing was written"),
    ],
)
def test_losses_of_a_session(rows, expected):
    assert losses(session(*rows)) == expected


@pytest.mark.parametrize(
    ("rows", "facts", "expected"),
    [
        pytest.param(((3000, 0), (3500, 2944), (4000, 3456), (4500, 3968)), Facts(granularity=128), [], id="in steps"),
        pytest.param(
            ((3000, 0), (3500, 2944), (4000, 3456), (4500, 3840)), Facts(granularity=128), [], id="a step off"
        ),
        pytest.param(
            ((3000, 0), (3500, 2944), (4000, 0)), Facts(granularity=128), [("not-visible", [2], 3456)], id="lost"
        ),
        pytest.param(
            ((3000, 0), (3500, 1024), (4000, 1024), (4500, 1024)),
            Facts(granularity=128),
            [("not-visible", [3], 2944)],
            id="never more than the opening",
        ),
        pytest.param(
            ((3000, 0), (3500, 1024), (2900, 1024), (3400, 1024), (3100, 1024), (5200, 1024)),
            Facts(granularity=128),
            [],
            id="single questions over one opening",
        ),
        pytest.param(((400, 0), (500, 0), (600, 0), (700, 0), (800, 0)), None, [], id="too short to be kept"),
        pytest.param(
            ((400, 0), (500, 400), (600, 500), (700, 0)),
            Facts(minimum_tokens=0),
            [("not-visible", [3], 600)],
            id="short, and nothing is too short to be kept",
        ),
        pytest.param(
            ((400, 0), (500, 400), (600, 500), (700, 0)),
            Facts(minimum_tokens=601),
            [],
            id="shorter than the minimum",
        ),
        pytest.param(((3000, None), (3500, None), (4000, None)), None, [], id="not reported"),
    ],
)
def test_vendors_that_cache_by_themselves(rows, facts, expected):
    assert losses(session(*rows, dialect="openai-chat"), facts) == expected


@pytest.mark.parametrize(
    ("idle_s", "hour", "facts", "expected"),
    [
        (400, 500, None, "not-visible"),
        (3700, 500, None, "idle-time"),
        (400, 0, Facts(ttl_s=1800), "not-visible"),
        (1900, 0, Facts(ttl_s=1800), "idle-time"),
        (1, 0, Facts(ttl_s=0), "idle-time"),
        (90_000, 0, Facts(rule=RULE_SETS["vllm-2026-11"]), "not-visible"),
    ],
)
def test_lifetimes(idle_s, hour, facts, expected):
    calls = session(*GROWING[:2], (GROWING[2], {"hour": hour}), (LOST, {"idle_s": idle_s}))
    assert [cause for cause, *_ in losses(calls, facts)] == [expected]


def test_a_lifetime_holds_through_calls_that_write_nothing():
    hour = {"hour": 500}
    calls = session(*GROWING[:2], (GROWING[2], hour), (11_000, 10_990, 0), (LOST, {"idle_s": 1000}))
    assert [cause for cause, *_ in losses(calls)] == ["not-visible"]


def test_another_model_goes_on_with_the_conversation_and_the_first_one_is_found_again():
    sonnet = {"model": "sonnet"}
    calls = session(*GROWING, (LOST, sonnet), ((12_000, 11_490, 500), sonnet), (12_500, 10_990, 1_500))
    assert losses(calls) == [("parameter-change", [3], 10_990)]
    assert "model opus -> sonnet" in ledger_of(calls).findings()[0].summary


def test_side_calls_on_a_small_model_are_no_change_of_the_model():
    haiku = {"model": "haiku"}
    calls = session(*GROWING, ((900, 0, 0), haiku), ((3_000, 0, 2_990), haiku), (11_500, 10_990, 500))
    assert losses(calls) == []


def test_calls_of_several_sessions_are_not_mixed():
    one, other = session(*GROWING, (11_500, 10_990, 500)), session(*GROWING, LOST, session="other")
    mixed = [call for pair in zip(one, other, strict=True) for call in pair]
    found = ledger_of(mixed).findings()
    assert [(one.session, one.calls, one.against) for one in found] == [("other", (7,), 5)]


@pytest.mark.parametrize("naming", [{"session": ""}, {"label": "sidechain"}])
def test_conversations_without_a_name_of_their_own_are_told_by_what_they_read(naming):
    """Three that start alike and interleave; in the second one a call loses what it had."""
    first = [(12_000, 0, 11_990), (12_500, 11_990, 500), (13_000, 12_490, 500), (13_500, 12_990, 500)]
    second = [(12_010, 0, 12_000), (12_700, 12_000, 690), (13_300, 12_690, 600), (13_450, 0, 13_440)]
    third = [(12_020, 0, 12_010), (12_900, 12_010, 880), (13_800, 12_890, 900), (14_700, 13_790, 900)]
    rows = [row for turn in zip(first, second, third, strict=True) for row in turn]
    assert losses(session(*rows, **naming)) == [("not-visible", [10], 13_290)]


def test_a_file_with_one_subagent_after_the_other_though_they_ran_at_once():
    first = session(*GROWING, label="sidechain")
    second = session((11_150, 0, 11_140), (11_600, 11_140, 450), label="sidechain", every_s=9.0)
    assert losses([*first, *second]) == []


def test_a_call_sent_before_the_other_was_answered_does_not_go_on_with_it():
    calls = session(*GROWING)
    answered_late = Timing(at=30.0, sent_at_s=30.0, total_s=20.0)
    late = Call(**{name: getattr(calls[2], name) for name in Call.__struct_fields__} | {"timing": answered_late})
    assert losses([*calls[:2], late, call(LOST, at=40.0)]) == []
    assert losses([*calls[:2], late, call(LOST, at=51.0)]) == [("not-visible", [3], 10_990)]


def test_without_times():
    calls = [call(counts, at=None) for counts in (*GROWING, LOST)]
    (found,) = ledger_of(calls).findings()
    assert (found.cause, found.ruled_out) == (
        "not-visible",
        ("a compaction", "a change of model or settings that the log shows", "an aborted call before it"),
    )


def test_what_a_finding_says():
    (found,) = ledger_of(session(*GROWING, LOST, (12_000, 0, 11_990))).findings()
    assert (found.verdict, found.voice, found.confidence, found.session) == ("unknown", "observation", "possible", "s")
    assert (found.call, found.against, found.calls, found.occurrences) == (3, 2, (3, 4), 2)
    assert (found.pointer, found.offset, found.was, found.now, found.cacheable_chars) == (None,) * 5
    assert found.lost_usd == pytest.approx(22_480 * (6.25 - 0.5) / 1e6)
    assert found.summary == (
        "None of the 10,990 tokens that call 2 left were served. The cause is not visible in this log. "
        "This shows in 2 calls."
    )


def test_a_price_that_is_not_known_is_not_nothing():
    ledger = Ledger()
    for index, one in enumerate(session(*GROWING, LOST, (12_000, 0, 11_990))):
        ledger.add(index, one, price=OPUS if index < 4 else None)
    (found,) = ledger.findings()
    assert (found.lost_tokens, found.lost_usd) == (22_480, None)


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ((*GROWING, (11_500, 10_990, 500)), [("served", None, 10_990), ("new", None, 510)]),
        (
            (*GROWING, (11_500, 10_900, 590)),
            [("served", None, 10_900), ("new", None, 510), ("below granularity", None, 90)],
        ),
        ((*GROWING, LOST), [("new", None, 510), ("routed or evicted", "not-visible", 10_990)]),
        ((*GROWING, (LOST, {"idle_s": 301})), [("new", None, 510), ("expired", "idle-time", 10_990)]),
        (
            (*GROWING, (LOST, {"happenings": (THINKING,)})),
            [("new", None, 510), ("key changed", "parameter-change", 10_990)],
        ),
        (
            (*GROWING, ((6_000, 4_000, 1_990), {"happenings": (COMPACTION,)})),
            [("served", None, 4_000), ("new", "compaction", 1_999), ("below granularity", None, 1)],
        ),
        ((*GROWING, (11_500, None)), [("new", None, 510), ("not reported", None, 10_990)]),
        ((*GROWING, (11_500, 11_501, 0)), [("not reported", None, 11_500)]),
        ((*GROWING, (11_500, 6_000, 6_000)), [("not reported", None, 11_500)]),
        ((*GROWING, GONE), []),
        (((0, 0, 0),), []),
        (((-5, 0, 0),), []),
    ],
)  # fmt: skip
def test_labels(rows, labels):
    calls = session(*rows)
    ledger = ledger_of(calls[:-1])
    assert list(ledger.add(len(calls) - 1, calls[-1], price=OPUS)) == labels


def test_without_text_session_and_report_nothing_can_be_told():
    assert list(Ledger().add(0, call((5_000, None), at=0.0, session=""), price=None)) == [("not reported", None, 5_000)]


@pytest.mark.parametrize("price", [OPUS, None])
def test_a_compaction_costs_and_loses_nothing(price):
    ledger = Ledger()
    for index, one in enumerate(session(*GROWING, ((6_000, 0, 5_990), {"happenings": (COMPACTION,)}))):
        ledger.add(index, one, price=price)
    (found,) = ledger.findings()
    assert (found.lost_tokens, found.lost_usd) == (0, 0.0)
    assert "cost about 5,999 tokens" in found.summary and "not counted as lost" in found.summary
    assert ("$" in found.summary) is (price is not None)


def test_names_are_words_with_dashes_and_every_cause_has_its_own():
    names = [cause.name for cause in LEDGER_CAUSES]
    assert names == ["compaction", "idle-time", "parameter-change", "aborted-turn", "not-visible"]
    assert all(cause.about.endswith(".") for cause in LEDGER_CAUSES)


counts = st.integers(-5, 20_000)


@given(
    st.lists(
        st.tuples(
            st.none() | counts,
            st.none() | counts,
            st.none() | counts,
            st.none() | st.floats(0, 10_000),
            st.sampled_from(["", "s"]),
            st.sampled_from(["opus", "haiku"]),
            st.sampled_from(["", "sidechain"]),
            st.sampled_from([(), (COMPACTION,), (THINKING, ABORTED)]),
        ),
        max_size=12,
    ),
    st.sampled_from([None, Facts(granularity=128, minimum_tokens=1024), Facts(granularity=0, requires_marks=True)]),
)
def test_labels_add_up_whatever_the_log_says(rows, facts):
    ledger, waterfalls, prompt_tokens = Ledger(), Waterfalls(), 0
    for index, (prompt, cached, written, at, name, model, label, happenings) in enumerate(rows):
        one = call((prompt, cached, written), at=at, session=name, model=model, label=label, happenings=happenings)
        labels = ledger.add(index, one, price=OPUS, facts=facts)
        waterfalls.add(index, one.usage, labels, price=OPUS, session=name)
        assert sum(tokens for *_, tokens in labels) == max(prompt or 0, 0)
        assert all(tokens > 0 and label in LABELS for label, _, tokens in labels)
        prompt_tokens += max(prompt or 0, 0)
    total = waterfalls.total()
    assert total.prompt_tokens == prompt_tokens
    assert sum(found.lost_tokens for found in ledger.findings()) == total.lost_tokens


def judged(name):
    ledger, waterfalls = Ledger(), Waterfalls()
    for index, one in enumerate(open_log(str(Path(TRACES) / "agent_usage" / name), read_reply)):
        labels = ledger.add(index, one, price=OPUS)
        waterfalls.add(index, one.usage, labels, price=OPUS, session=one.session)
    return ledger.findings(), waterfalls.total()


@pytest.mark.skipif(not TRACES, reason="HITRATE_TRACES is not set")
def test_a_real_session_with_twelve_losses():
    findings, total = judged("pi_before-compaction.jsonl.gz")
    assert {found.cause: found.calls for found in findings} == {
        "compaction": (174, 303),
        "idle-time": (251,),
        "parameter-change": (3,),
        "aborted-turn": (308, 409, 482),
        "not-visible": (292, 341, 373, 419, 483),
    }
    assert sum(found.lost_tokens for found in findings) == total.lost_tokens == 1_159_036
    assert round(sum(found.lost_usd for found in findings), 2) == round(total.lost_usd, 2) == 6.66
    (compaction,) = (found for found in findings if found.cause == "compaction")
    assert "cost about 54,354 tokens, $0.3" in compaction.summary
    assert total.prompt_tokens == 56_382_684


@pytest.mark.skipif(not TRACES, reason="HITRATE_TRACES is not set")
def test_a_real_session_whose_subagents_ran_at_once_lost_nothing():
    findings, total = judged("claude_code_fe5e1c67.jsonl.gz")
    assert findings == ()
    assert (total.calls, total.prompt_tokens, total.lost_tokens) == (170, 3_786_648, 0)
