"""Prompts that go on with what another call was answered, beside a call that has something else in that place."""

import pytest
from test_pairing import ASKED, BOOK, BOOKED, FIRST, FOUND, HEAD, SECOND, THANKS, Log

from hitrate.explain.evidence import HEALTHY

AT_EIGHT = "u Book the one at eight instead."
PAPERS = "u And where are the papers?"

HISTORY = [*FIRST, FOUND, AT_EIGHT, BOOKED, THANKS]
ASKS_OTHERWISE = [*HISTORY[:-1], PAPERS]
CUT = [*HISTORY[:-1], THANKS[:11], "a They are sent.", "u Good."]


def add_all(*calls: tuple[list[str], str, bool], texts: bool = False):
    log = Log(texts)
    return [log.add(*prompt, session=session, answered=answered) for prompt, session, answered in calls]


@pytest.mark.parametrize("answered", [True, False])
def test_a_question_asked_otherwise_is_no_change_of_what_else_the_session_asked(answered):
    """The history is that of a call in between, though the log names another session for it."""
    pairs = add_all(
        (FIRST, "monday", True),
        (FIRST, "tuesday", True),
        (SECOND, "monday", True),
        (HISTORY[:-2], "tuesday", True),
        (HISTORY, "tuesday", answered),
        (ASKS_OTHERWISE, "monday", True),
    )
    assert {pair.relation for pair in pairs} <= HEALTHY


@pytest.mark.parametrize("texts", [False, True])
def test_a_change_of_that_history_is_seen_against_the_call_that_had_it(texts):
    pair = add_all((SECOND, "monday", True), (HISTORY, "tuesday", True), (CUT, "monday", True), texts=texts)[-1]
    assert (pair.relation, pair.against, pair.shared_parts) == ("rewrite", 1, len(HISTORY) - 1)


@pytest.mark.parametrize("texts", [False, True])
def test_a_break_in_a_failed_call_is_one_in_the_call_that_asks_otherwise_behind_it(texts):
    changed = [*HEAD, ASKED[:9], FOUND]
    pairs = add_all((FIRST, "", True), ([*changed, BOOK], "", False), ([*changed, AT_EIGHT], "", True), texts=texts)
    assert [(pair.relation, pair.against) for pair in pairs[1:]] == [("rewrite", 0), ("rewrite", 0)]


@pytest.mark.parametrize("texts", [False, True])
def test_a_question_may_be_changed_into_one_that_others_asked(texts):
    """Only the answers tell whose is whose."""
    first, changed = [*HEAD, ASKED], [*HEAD, ASKED[:27]]
    pairs = add_all(
        (first, "monday", True),
        ([*changed, FOUND, BOOK], "monday", True),
        ([*changed, THANKS], "tuesday", True),
        (first, "wednesday", True),
        ([*changed, "a None at all.", PAPERS], "wednesday", True),
        texts=texts,
    )
    assert [(pair.relation, pair.against) for pair in (pairs[1], pairs[4])] == [("rewrite", 0), ("rewrite", 3)]
