from msgspec import structs

from hitrate.core.results import TurnRow
from hitrate.explain.turns.history import Observation
from hitrate.explain.turns.verdict import TargetFacts, judge, per_turn

FACTS = TargetFacts(minimum_tokens=17, granularity=16)


def row(run, session, turn, cached, expected, prompt=None, state="hit"):
    prompt = 1000 + 50 * turn if prompt is None else prompt
    rate = None if cached is None else cached / prompt
    return TurnRow(
        run=run,
        session=session,
        turn=turn,
        prompt_tokens=prompt,
        cached_tokens=cached,
        expected_cached_tokens=expected,
        hit_rate=rate,
        ttft_ms=10.0 * turn,
        state=state,
    )


def seen(rows, shared=None):
    previous = {}
    found = []
    for number, one in enumerate(rows):
        observation = Observation(
            row=one,
            shared_tokens=shared[number] if shared else one.expected_cached_tokens,
            previous=previous.get((one.run, one.session)),
            sent_at_s=float(number),
        )
        found.append(observation)
        previous[one.run, one.session] = observation
    return found


def session(run, number, cached):
    """Turn 1 cold, then `cached` per turn where the whole history is 1,000 + 50 a turn, in blocks of 16."""
    expected = [0] + [(1000 + 50 * (turn - 1)) // 16 * 16 for turn in range(2, len(cached) + 2)]
    return [
        row(run, number, turn, c, e) for turn, (c, e) in enumerate(zip([0, *cached], expected, strict=True), start=1)
    ]


WHOLE = [1040, 1088, 1136]


def test_a_session_that_always_finds_its_history_is_healthy():
    verdict = judge(seen(session("sequential", 1, WHOLE)), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (True, False, None)
    assert verdict.text == "Healthy: every turn after the first found the whole history that the cache rule can serve."


def test_parallel_sessions_that_all_hit_rule_routing_out():
    rows = session("sequential", 1, WHOLE) + session("parallel", 1, WHOLE) + session("parallel", 2, WHOLE)
    verdict = judge(seen(rows), FACTS)
    assert verdict.routing_is_a_factor is False
    assert verdict.text.endswith("Parallel and sequential are equal per turn: routing is no factor.")


def test_sessions_that_race_for_the_opening_are_healthy_but_told():
    rows = session("sequential", 1, WHOLE) + session("parallel", 1, WHOLE) + session("parallel", 2, WHOLE)
    shared = [r.expected_cached_tokens for r in rows]
    shared[8] = 1000
    verdict = judge(seen(rows, shared), FACTS)
    assert (verdict.healthy, verdict.cause) == (True, "race")
    assert "In 1 of the parallel calls the opening was paid again because the calls raced" in verdict.text


def test_replicas_show_with_an_interval():
    rows = []
    for number in range(1, 201):
        rows += session("parallel", number, WHOLE if number % 18 == 0 else [0, 0, 0])
    rows = session("sequential", 1, [0, 1088, 0]) + rows
    verdict = judge(seen(rows), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (False, True, "replica")
    assert verdict.replicas.low < 18 < verdict.replicas.high
    assert verdict.text == (
        "569 of 603 turns did not find the session's whole history: calls of one session reach different replicas, and "
        "each holds only what it has seen. The history was found 5.6% of the time (95 % interval 4.1% to 7.8%, n = "
        "603): about 18 replicas if calls reach them at random."
    )


def test_an_affinity_that_was_sent_and_does_nothing_is_named():
    rows = session("sequential", 1, [0, 1088, 0]) + session("parallel", 1, [0, 0, 1136])
    verdict = judge(seen(rows), TargetFacts(affinity_sent="body member user"))
    assert "The affinity that was sent (body member user) does not hold sessions together." in verdict.text


def test_always_one_turn_behind_is_a_write_delay():
    rows = session("sequential", 1, [0, 1040, 1088, 1136]) + session("parallel", 1, [0, 1040, 1088, 1136])
    verdict = judge(seen(rows), FACTS)
    assert (verdict.cause, verdict.routing_is_a_factor) == ("write delay", False)


def test_a_reply_that_is_late_too_is_a_write_delay():
    """The turns before had prompts of 1,050, 1,100 and 1,150: blocks of 16 give 1,040, 1,088 and 1,136 of them."""
    expected = [0, 1072, 1136, 1184, 1232]
    rows = [
        row(run, 1, turn, cached, expected[turn - 1])
        for run in ("sequential", "parallel")
        for turn, cached in enumerate([0, 0, 1040, 1088, 1136], start=1)
    ]
    assert judge(seen(rows), FACTS).cause == "write delay"


def test_one_turn_behind_in_sequence_alone_can_be_two_replicas_in_turn():
    verdict = judge(seen(session("sequential", 1, [0, 1040, 1088, 1136])), FACTS)
    assert (verdict.cause, verdict.routing_is_a_factor) == ("write delay", None)
    assert "or calls go to two replicas in turn (routing). --sessions 3 tells them apart." in verdict.text


def test_one_turn_behind_with_an_opening_that_others_left_is_two_replicas_in_turn():
    rows = session("sequential", 1, [0, 1040, 1088, 1136])
    for number in (1, 2, 3):
        rows += session("parallel", number, [992, 1040, 1088, 1136])
    verdict = judge(seen(rows, [0, 0, 0, 0, 0, *[1000] * 15]), FACTS)
    assert (verdict.cause, verdict.routing_is_a_factor) == ("replica", True)


def test_replies_that_are_read_again_are_no_matter_of_routing():
    """The prompts are 1,050 a turn and 50 more: 1,088 and 1,136 hold all of turns 2 and 3, but not their replies."""
    expected = [0, 1072, 1120, 1168]
    cached = [0, 1040, 1088, 1136]
    rows = [row("sequential", 1, n, c, e) for n, (c, e) in enumerate(zip(cached, expected, strict=True), start=1)]
    verdict = judge(seen(rows), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (True, False, "reply")


def test_losses_of_later_turns_in_parallel_alone_are_eviction():
    rows = session("sequential", 1, WHOLE)
    for number in range(1, 6):
        rows += session("parallel", number, [1040, 0, 0])
    verdict = judge(seen(rows), FACTS)
    assert (verdict.cause, verdict.routing_is_a_factor) == ("eviction", False)


def test_spill_over_needs_a_vendor_that_does_it_and_a_rate_above_its_limit():
    rows = session("sequential", 1, WHOLE)
    for number in range(1, 6):
        rows += session("parallel", number, [0 if number > 2 else 1040, 1088, 0])
    assert judge(seen(rows), TargetFacts(spills_over=True)).cause == "spill-over"
    assert judge(seen(rows), TargetFacts(spills_over=False)).cause == "replica"


def test_sequential_turns_that_all_hit_rule_out_replicas_reached_at_random():
    rows = session("sequential", 1, WHOLE)
    for number in range(1, 6):
        rows += session("parallel", number, [0, 0 if number > 1 else 1088, 0])
    verdict = judge(seen(rows), FACTS)
    assert (verdict.cause, verdict.routing_is_a_factor) == ("eviction", None)
    assert "so calls do not reach replicas at random" in verdict.text


def test_an_opening_that_all_share_does_not_tell_whose_history_was_found():
    """Blocks of 128: the opening of 1,030 tokens gives 1,024 at any replica, which is all that turn 2 could have."""
    facts = TargetFacts(minimum_tokens=129, granularity=128)
    rows = [row("sequential", 1, 1, 0, 0), row("sequential", 1, 2, 1024, 1024)]
    rows += [row("parallel", s, t, 1024, 1024) for s in (1, 2) for t in (1, 2)]
    verdict = judge(seen(rows, [0, 1050, 1030, 1050, 1030, 1050]), facts)
    assert (verdict.healthy, verdict.routing_is_a_factor) == (True, None)
    assert "In parallel no turn can tell: the opening that all sessions share is credited alike" in verdict.text


def test_an_estimate_leaves_the_judgement_to_the_prompt_tokens_reported_for_the_turn_before():
    facts = TargetFacts(granularity=16, slack_tokens=32)
    first = row("sequential", 1, 1, 0, 0)
    whole = [first, *(row("sequential", 1, turn, cached, 1200) for turn, cached in ((2, 1040), (3, 1088)))]
    behind = [first, *(row("sequential", 1, turn, cached, 1200) for turn, cached in ((2, 1040), (3, 1056)))]
    assert judge(seen(whole), facts).healthy is True
    assert judge(seen(behind), facts).cause == "replica"


def test_nothing_reported_gives_no_rate():
    rows = [row("sequential", 1, turn, None, 500, state="not reported") for turn in (1, 2)]
    verdict = judge(seen(rows), TargetFacts(how_to_report="only when started with --enable-prompt-tokens-details"))
    assert (verdict.healthy, verdict.cause) == (None, "not reported")
    assert verdict.text == (
        "Cached tokens were not reported, so no hit rate can be given. Known of this target's reporting: only when "
        "started with --enable-prompt-tokens-details."
    )


def test_counts_that_contradict_each_other_give_no_rate():
    one = structs.replace(
        row("sequential", 1, 1, None, 0), note="accounting fault: 900 cached of 800 prompt tokens", state="not reported"
    )
    verdict = judge(seen([one]), FACTS)
    assert verdict.cause == "accounting fault"
    assert "(accounting fault: 900 cached of 800 prompt tokens)" in verdict.text


def test_a_loss_below_one_step_is_not_called_capacity():
    """A prompt of 121 tokens shares 91 with the turn before and gets 80 of them in blocks of 16."""
    rows = [row("sequential", 1, turn, c, c, prompt=p) for turn, p, c in ((1, 60, 0), (2, 121, 80), (3, 188, 144))]
    verdict = judge(seen(rows, [0, 91, 152]), FACTS)
    assert (verdict.healthy, verdict.cause) == (True, None)


def test_all_zero_below_the_minimum_is_too_short():
    rows = [row("sequential", 1, turn, 0, 0, prompt=500 + turn, state="too short") for turn in (1, 2, 3)]
    verdict = judge(seen(rows), TargetFacts(minimum_tokens=1024))
    assert verdict.cause == "too short"
    assert "the longest prompt has 503 tokens and this cache rule reuses nothing below 1,024" in verdict.text


def test_all_zero_says_what_it_can_be():
    rows = session("sequential", 1, [0, 0, 0])
    no_affinity = judge(seen(rows), TargetFacts(affinity_knob="body member user"))
    assert (no_affinity.cause, no_affinity.routing_is_a_factor) == ("no affinity", None)
    assert (
        judge(seen(rows), TargetFacts(not_identical="Turn 2: /messages/0/content, offset 4.")).cause == "not identical"
    )
    assert judge(seen(rows), TargetFacts()).cause == "no reuse"


def test_no_answer_no_verdict():
    rows = [row("sequential", 1, 1, None, None, state="failed")]
    assert judge(seen(rows), FACTS).cause == "failed"


def test_one_turn_has_no_history():
    assert judge(seen([row("sequential", 1, 1, 0, 0, state="cold")]), FACTS).cause == "too few turns"


def test_repeats_are_compared_call_by_call():
    same = session("sequential#1", 1, WHOLE) + session("sequential#2", 1, WHOLE)
    other = session("sequential#1", 1, WHOLE) + session("sequential#2", 1, [1040, 1088, 1120])
    assert judge(seen(same), FACTS).repeatable is True
    assert judge(seen(other), FACTS).repeatable is False
    assert judge(seen(session("sequential", 1, WHOLE)), FACTS).repeatable is None


def test_turns_are_summed_over_sessions():
    rows = session("parallel", 1, WHOLE) + session("parallel", 2, [0, 1088, 1136])
    second = per_turn(seen(rows), FACTS)[1]
    assert (second.turn, second.found.estimate, second.found.n) == (2, 0.5, 2)
    assert second.hit_rate == 1040 / 2200
    assert second.ttft_p50_ms == 20.0


def test_sessions_that_displace_each_other_by_the_rule_are_told():
    rows = session("sequential", 1, WHOLE) + [
        row("parallel", 1, turn, 900 if turn > 1 else 0, 900 if turn > 1 else 0) for turn in (1, 2, 3)
    ]
    shared = [r.expected_cached_tokens for r in rows[:4]] + [0, 1050, 1100]
    verdict = judge(seen(rows, shared), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (False, False, "capacity")
    assert verdict.text.startswith("In 2 of 5 turns this cache could not serve the session's whole history")


def test_a_session_whose_first_call_failed_races_like_a_first_call():
    rows = session("sequential", 1, WHOLE) + session("parallel", 1, WHOLE)
    lone = Observation(row=row("parallel", 2, 2, 0, 0, state="cold"), shared_tokens=1000)
    verdict = judge([*seen(rows), lone], FACTS)
    assert (verdict.healthy, verdict.cause) == (True, "race")


def test_a_rule_that_keeps_nothing_is_no_reuse():
    rows = [row("sequential", 1, turn, 0, 0, state="cold") for turn in (1, 2, 3)]
    verdict = judge(seen(rows, [0, 1050, 1100]), FACTS)
    assert (verdict.healthy, verdict.cause) == (False, "no reuse")


def test_a_stray_loss_in_parallel_is_not_called_a_replica():
    rows = session("sequential", 1, WHOLE)
    for number in range(1, 7):
        rows += session("parallel", number, [0 if number == 6 else 1040, 1088, 1136])
    verdict = judge(seen(rows), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (None, None, "unexplained")


def test_a_failed_turn_leaves_no_history_to_judge():
    rows = [row("sequential", 1, 1, None, None, state="failed"), row("sequential", 1, 2, 0, 0, state="cold")]
    lone = [Observation(row=one) for one in rows]
    verdict = judge(lone, FACTS)
    assert (verdict.healthy, verdict.cause) == (None, "too few turns")
    assert verdict.text == "A turn that failed left no history to judge: see why it failed, and run the test again."


def test_a_stray_loss_in_sequence_is_not_called_a_replica():
    rows = session("sequential", 1, [1040, 1088, 0, 1200, 1248, 1296])
    verdict = judge(seen(rows), FACTS)
    assert (verdict.healthy, verdict.cause, verdict.replicas) == (None, "unexplained", None)


def test_few_turns_give_no_number_of_replicas():
    verdict = judge(seen(session("sequential", 1, [0, 1088, 0])), FACTS)
    assert (verdict.cause, verdict.replicas) == ("replica", None)
    assert verdict.text.endswith("n = 3).")


def test_a_call_that_overtook_another_where_the_rule_displaces_most_is_capacity_all_the_same():
    rows = [*session("sequential", 1, WHOLE), row("parallel", 1, 1, 0, 0)]
    rows += [row("parallel", 1, turn, 0, expected) for turn, expected in ((2, 0), (3, 1088), (4, 0))]
    shared = [r.expected_cached_tokens for r in rows[:5]] + [1040, 1088, 1136]
    verdict = judge(seen(rows, shared), FACTS)
    assert (verdict.healthy, verdict.routing_is_a_factor, verdict.cause) == (False, False, "capacity")
