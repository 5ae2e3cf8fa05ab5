from collections.abc import Sequence

import pytest

from hitrate.core.model import Happening
from hitrate.core.prompt import Part, Sketch
from hitrate.explain.evidence import Pair, Seen
from hitrate.explain.pairs.pairing import Pairing

KINDS = {"t": "tools", "s": "system", "u": "user", "a": "assistant", "r": "tool"}

TOOLS = ["t search", "t book"]
SYSTEM = "s " + "You are the agent of a small freight forwarder, and you sign nothing. " * 40
HEAD = [*TOOLS, SYSTEM]
ASKED = "u Which sailings are there on the ninth?"
FOUND = "a There are two of them, at noon and at eight."
BOOK = "u Book the one at noon, please."
BOOKED = "a It is booked under number five."
THANKS = "u Thank you; send me the papers."


def sketch(prompt: Sequence[str]) -> Sketch:
    """One part a string: the letter of its kind, a blank and its text."""
    return Sketch(tuple(Part(hash(part), KINDS[part[0]], len(part) - 2, (len(part) - 2,)) for part in prompt))


class Log:
    """Calls as they come; `texts` says whether pairing may ask for the texts of parts."""

    def __init__(self, texts: bool = False) -> None:
        self.prompts: list[Sequence[str]] = []
        self.asked: list[int] = []
        self.pairing = Pairing(self.texts_of if texts else None)

    def texts_of(self, index: int) -> list[str]:
        self.asked.append(index)
        return [part[2:] for part in self.prompts[index]]

    def add(
        self, *prompt: str, session: str = "", answered: bool = True, happenings: tuple[Happening, ...] = ()
    ) -> Pair:
        seen = Seen(index=len(self.prompts), session=session, answered=answered, happenings=happenings)
        self.prompts.append(prompt)
        pair = self.pairing.add(seen, sketch(prompt))
        self.pairing.check_integrity()
        assert seen.conversation == pair.conversation
        return pair


def last_of(*prompts: Sequence[str], texts: bool = False) -> Pair:
    log = Log(texts)
    return [log.add(*prompt) for prompt in prompts][-1]


FIRST = [*HEAD, ASKED]
SECOND = [*FIRST, FOUND, BOOK]
THIRD = [*SECOND, BOOKED, THANKS]


@pytest.mark.parametrize(
    ("prompts", "relation", "against", "shared"),
    [
        ([FIRST], "first", None, 0),
        ([FIRST, SECOND], "append", 0, 4),
        ([FIRST, SECOND, THIRD], "append", 1, 6),
        ([FIRST, FIRST], "repeat", 0, 4),
        ([FIRST, SECOND, FIRST], "repeat", 0, 4),
        ([SECOND, THIRD, [*SECOND, BOOKED]], "rewind", 1, 7),
        ([FIRST, SECOND, [*FIRST, FOUND, "u Book the one at eight."]], "branch", 1, 5),
        ([FIRST, SECOND, [*FIRST, "a None at all.", "u A pity."]], "append", 0, 4),
        ([FIRST, [*HEAD, "u Where is my container?"]], "opening", 0, 3),
        ([THIRD, ["s Give this a title.", "u Which"]], "side", None, 0),
        ([["t one", "s You sort waste.", "u Where does glass go?"], FIRST], "first", None, 0),
    ],
)
def test_healthy_traffic(prompts, relation, against, shared):
    pair = last_of(*prompts)
    assert (pair.relation, pair.against, pair.shared_parts) == (relation, against, shared)
    assert pair.kept_characters == 0


@pytest.mark.parametrize(
    ("was", "now", "shared", "kept", "shift"),
    [
        pytest.param(SECOND, [*TOOLS, SYSTEM + " It is 9:14.", *SECOND[3:], BOOKED], 2, SECOND[3:], 0, id="clock"),
        pytest.param(SECOND, [TOOLS[1], TOOLS[0], *THIRD[2:]], 0, SECOND, 0, id="tool order"),
        pytest.param(SECOND, [*TOOLS, "t track", *THIRD[2:]], 2, SECOND[2:], 0, id="tool added"),
        pytest.param(SECOND, [TOOLS[0], *THIRD[2:]], 1, SECOND[2:], 1, id="tool removed"),
        pytest.param(
            SECOND, [*FIRST, "a There are two.", BOOK, BOOKED, THANKS], 4, [BOOK], 0, id="answer replayed anew"
        ),
        pytest.param(THIRD, [*HEAD, *THIRD[5:], "a Sent."], 3, THIRD[5:], 2, id="window"),
        pytest.param(SECOND, [*FIRST, FOUND, BOOK[:-8], BOOKED, THANKS], 5, [], 0, id="suffix lost on replay"),
        pytest.param(FIRST, [*HEAD, ASKED[:9], FOUND, BOOK], 3, [], 0, id="only message changed"),
        pytest.param(["s Known: " + SYSTEM, ASKED], ["s Known: little", *SECOND[3:]], 0, [ASKED], 0, id="retrieval"),
        pytest.param([*FIRST, "a <think>"], SECOND, 4, [], 0, id="stub of an answer lost"),
    ],
)
@pytest.mark.parametrize("texts", [False, True])
def test_rewrites(was, now, shared, kept, shift, texts):
    pair = last_of(was, now, texts=texts)
    assert (pair.relation, pair.against, pair.shared_parts, pair.shift) == ("rewrite", 0, shared, shift)
    assert pair.kept_characters == sum(len(part) - 2 for part in kept)
    assert pair.shared_characters == sum(len(part) - 2 for part in now[:shared])


def test_a_retry_is_compared_with_the_answered_call_before_the_failed_one():
    log = Log()
    log.add(*FIRST)
    failed = log.add(*SECOND, answered=False)
    again = log.add(*SECOND)
    after = log.add(*THIRD)
    assert (failed.relation, failed.against) == ("append", 0)
    assert (again.relation, again.against, again.retry_of, again.shared_parts) == ("repeat", 0, 1, 4)
    assert (after.relation, after.against, after.retry_of) == ("append", 2, None)
    assert {pair.conversation for pair in (failed, again, after)} == {0}


def test_a_break_stays_a_break_when_it_is_sent_again():
    log = Log()
    log.add(*FIRST)
    changed = ["t search", "t book a place", *SECOND[2:]]
    assert log.add(*changed, answered=False).relation == "rewrite"
    again = log.add(*changed)
    assert (again.relation, again.against, again.shared_parts, again.retry_of) == ("rewrite", 0, 1, 1)
    assert again.kept_characters == sum(len(part) - 2 for part in FIRST[2:])


def test_a_first_call_that_failed_leaves_nothing_to_compare_with():
    log = Log()
    log.add(*FIRST, answered=False)
    again = log.add(*FIRST)
    assert (again.relation, again.against, again.retry_of, again.best) == ("first", None, 0, None)
    assert log.add(*SECOND).against == 1


def test_a_retry_of_a_first_call_has_what_other_conversations_left():
    log = Log()
    log.add(*FIRST)
    other = [*HEAD, "u Where is my container?"]
    failed, again = log.add(*other, answered=False), log.add(*other)
    assert (again.relation, again.against, again.shared_parts, again.retry_of) == ("opening", 0, 3, 1)
    assert again.conversation == failed.conversation == 1


def test_agents_that_take_turns_under_one_session_name_are_kept_apart():
    log = Log()
    other = ["s You sort waste.", "u Where does glass go?"]
    calls = [FIRST, other, SECOND, [*other, "a There.", "u And tins?"], THIRD]
    pairs = [log.add(*prompt, session="main") for prompt in calls]
    assert [pair.conversation for pair in pairs] == [0, 1, 0, 1, 0]
    assert [pair.against for pair in pairs] == [None, None, 0, 1, 2]


def test_conversations_that_begin_alike_part_where_their_answers_do():
    log = Log()
    one, two = [*FIRST, "a Two."], [*FIRST, "a I see two of them."]
    pairs = [log.add(*prompt) for prompt in (FIRST, FIRST, [*one, BOOK], [*two, BOOK], [*one, BOOK, BOOKED, THANKS])]
    assert [pair.relation for pair in pairs] == ["first", "repeat", "append", "append", "append"]
    assert [pair.against for pair in pairs] == [None, 0, 1, 1, 2]
    assert [pair.conversation for pair in pairs] == [0, 0, 0, 1, 0]


THOUGHTS = ["a I look at the ninth.", "a The one at noon it is."]
THOUGHT = [*FIRST, THOUGHTS[0], FOUND, BOOK, THOUGHTS[1], BOOKED, THANKS]
MORE = ["a Sent.", "u Good."]


@pytest.mark.parametrize(
    ("tip", "now", "shift"),
    [
        pytest.param(THOUGHT, [*THIRD, *MORE], 1, id="thoughts dropped"),
        pytest.param(THIRD, [*THOUGHT, *MORE], 0, id="thoughts added"),
        pytest.param(THIRD, [*FIRST, BOOKED, THANKS, *MORE], 2, id="window that keeps the first question"),
        pytest.param([*THIRD, *MORE], [*FIRST, *MORE, "a Yes.", "u Bye."], 4, id="window of larger steps"),
        pytest.param([*THIRD, *MORE], [*FIRST, BOOKED, THANKS, *MORE], 2, id="sent again without a turn"),
    ],
)
@pytest.mark.parametrize("session", ["", "main"])
def test_a_history_that_comes_again_with_parts_of_it_gone_is_no_fork(tip, now, shift, session):
    log = Log()
    log.add(*FIRST, session=session)
    log.add(*tip, session=session)
    pair = log.add(*now, session=session)
    assert (pair.relation, pair.against, pair.shared_parts, pair.shift) == ("rewrite", 1, 4, shift)


@pytest.mark.parametrize(
    "now",
    [
        pytest.param([*FIRST, "a Two.", BOOK], id="another answer"),
        pytest.param([*FIRST, "a Two.", BOOK, "a Done.", THANKS], id="the same questions behind other answers"),
        pytest.param([*FIRST, "a Two.", "u Book the one at eight.", BOOKED], id="an answer alone comes again"),
    ],
)
def test_other_answers_to_the_same_questions_are_a_fork(now):
    log = Log()
    for prompt in (FIRST, THIRD):
        log.add(*prompt)
    pair = log.add(*now)
    assert (pair.relation, pair.against, pair.conversation) == ("append", 0, 1)


OTHER_HEAD = [*TOOLS, "s You review what others booked, and you book nothing. "]
ALIKE_HEAD = [*TOOLS, SYSTEM + "Be brief."]


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("head", [OTHER_HEAD, ALIKE_HEAD])
def test_agents_with_other_instructions_go_through_one_history_side_by_side(head, texts):
    log = Log(texts)
    pairs = [log.add(*front, *turn[3:]) for turn in (FIRST, SECOND, THIRD) for front in (HEAD, head)]
    assert [(pair.relation, pair.against) for pair in pairs[2:]] == [("append", call) for call in range(4)]
    assert pairs[2].conversation != pairs[3].conversation
    assert [pair.denied for pair in pairs] == [None, None, 1 if pairs[1].relation == "rewrite" else None, *[None] * 3]


def test_session_names_tell_conversations_apart_that_begin_alike():
    log = Log()
    calls = [(FIRST, "one"), (FIRST, "two"), (SECOND, "one"), (SECOND, "two"), (THIRD, "one")]
    pairs = [log.add(*prompt, session=session) for prompt, session in calls]
    assert [pair.conversation for pair in pairs] == [0, 1, 0, 1, 0]
    assert [pair.against for pair in pairs] == [None, 0, 0, 1, 2]
    assert [pair.best for pair in pairs] == [None, 0, 1, 2, 3]


def test_a_conversation_that_is_resumed_under_another_name_goes_on():
    log = Log()
    log.add(*SECOND, session="monday")
    pair = log.add(*THIRD, session="tuesday")
    assert (pair.relation, pair.against, pair.conversation) == ("append", 0, 0)


def test_short_answers_that_everybody_gives_do_not_make_one_conversation():
    log = Log()
    one = [*HEAD, "u Plan the tour through the north.", "a Shall I begin?"]
    two = [*HEAD, "u Count the pallets in hall four.", "a May I open the hall?"]
    log.add(*one, "u Yes.")
    log.add(*two, "u Yes.")
    pair = log.add(*one, "u Yes.", "a It is planned. Shall I print it?", "u Yes.")
    assert (pair.relation, pair.against, pair.conversation) == ("append", 0, 0)
    pair = log.add(*two, "u Yes.", "a I counted twelve. Shall I go on?", "u Yes.")
    assert (pair.relation, pair.against, pair.conversation) == ("append", 1, 1)


TRANSCRIPT = "u Sum up: " + " / ".join(part[2:] for part in THIRD[3:])
APART = ["s You write summaries for another agent.", TRANSCRIPT]


@pytest.mark.parametrize("texts", [False, True])
def test_a_summary_belongs_to_the_conversation_and_does_not_carry_it_on(texts):
    log = Log(texts)
    log.add(*SECOND)
    log.add(*THIRD)
    summary = log.add(*APART)
    after = log.add(*THIRD, "a Sent.", "u Good.")
    assert (summary.relation, summary.against, summary.conversation) == ("summary", 1, 0)
    assert (after.relation, after.against, after.conversation) == ("append", 1, 0)


def test_a_long_question_about_something_else_is_no_summary():
    unrelated = ["s You proofread novels.", "u " + "The lamp on the pier went out, and nobody came to light it. " * 3]
    assert last_of(THIRD[2:], unrelated, texts=True).relation == "side"


LONG = "You look after the orders of a garden shop and answer in one short sentence. " * 4


@pytest.mark.parametrize(
    ("was", "now", "near"),
    [
        pytest.param(["s Hi Ana! " + LONG], ["s Hi Bernhard! " + LONG], True, id="name on top"),
        pytest.param(
            ["t " + LONG, "s Short."], ["t " + LONG, "s Another, and of another length."], True, id="same tools"
        ),
        pytest.param(["t one", "t two", "s " + LONG], ["t two", "t one", "s " + LONG], True, id="tool order"),
        pytest.param(["t one", "s " + LONG], ["t one", "t three", "s " + LONG], True, id="tool added"),
        pytest.param(["s " + LONG], ["s " + LONG], False, id="same head"),
        pytest.param(["s " + LONG], ["s " + "Reply in rhymes. " * 30], False, id="other tenant"),
        pytest.param(["s Hi Ana!"], ["s Hi Bob!"], False, id="too short to matter"),
    ],
)
def test_heads_of_the_same_shape(was, now, near):
    log = Log()
    log.add(*was, "u Where is my order?")
    newest = log.add(*was, "u Where is my order?", "a On its way.", "u Thanks.")
    assert newest.near is None
    pair = log.add(*now, "u Do you sell seeds?")
    assert pair.near == (1 if near else None)
    assert pair.conversation == 1


@pytest.mark.parametrize("rhymes", [pytest.param(30, id="longer"), pytest.param(18, id="as long")])
def test_a_question_that_two_tenants_share_does_not_make_them_one(rhymes):
    log = Log(texts=True)
    log.add("s " + LONG, "u Hello")
    pair = log.add("s " + "Reply in rhymes. " * rhymes, "u Hello")
    assert (pair.relation, pair.conversation) == ("first", 1)
    after = log.add("s " + LONG, "u Hello", "a Hello, too.", "u Where is my order?")
    assert (after.relation, after.against, after.conversation) == ("append", 0, 0)


@pytest.mark.parametrize(
    ("system", "relation"), [("s " + "Reply in rhymes. " * 18, "opening"), ("s 9:14 " + LONG, "rewrite")]
)
def test_the_same_question_under_other_instructions_is_another_conversation(system, relation):
    log = Log(texts=True)
    log.add("t search", "s " + LONG, "u Where is my order?")
    pair = log.add("t search", system, "u Where is my order?")
    assert (pair.relation, pair.against) == (relation, 0)


def test_the_head_nearest_in_length_is_chosen():
    log = Log()
    log.add("s Hi Ana! " + LONG, "u Hello")
    log.add("s " + "Sell flowers, ask for the date, be brief. " * 8, "u Which flowers?")
    assert log.add("s Hi Bob! " + LONG, "u Do you sell seeds?").near == 0


@pytest.mark.parametrize(
    ("end", "relation"), [("u Look at this. And at that.", "append"), ("u See here: this", "rewrite")]
)
def test_a_last_message_that_grew_in_place_is_no_change(end, relation):
    log = Log(texts=True)
    log.add(*FIRST, FOUND, "u Look at this.")
    pair = log.add(*FIRST, FOUND, end, "a I see.", "u Look at this.")
    assert pair.relation == relation
    assert pair.against == 0


IDS = [f"u {first} {first + 1} " for first in range(100, 120, 2)]


def test_the_last_piece_of_token_ids_may_be_a_part_of_the_one_that_follows():
    log = Log(texts=True)
    log.add(*IDS, "u 7 ")
    pair = log.add(*IDS, "u 7 8 ", "u 9 ")
    assert (pair.relation, pair.against, pair.shared_parts) == ("append", 0, 10)
    assert pair.shared_characters == sum(len(part) - 2 for part in IDS) + 2
    assert (pair.best, pair.best_characters) == (0, pair.shared_characters)


def test_texts_are_not_asked_for_while_hashes_can_tell():
    log = Log(texts=True)
    for prompt in (FIRST, SECOND, SECOND, THIRD, [*HEAD, "u Where is my container?"]):
        log.add(*prompt)
    assert log.asked == []


def test_a_compaction_that_the_log_tells_of_is_a_rewrite():
    log = Log()
    log.add(*THIRD, session="main")
    pair = log.add(*HEAD, "u So far: two sailings.", session="main", happenings=(Happening(kind="compaction"),))
    assert (pair.relation, pair.against, pair.shared_parts, pair.conversation) == ("rewrite", 0, 3, 0)


def test_the_best_call_may_be_of_another_conversation():
    log = Log()
    log.add(*FIRST)
    log.add(*TOOLS, "s Hello.", "u Which?")
    pair = log.add(*HEAD, "u Where is my container?")
    assert (pair.best, pair.best_characters) == (0, sum(len(part) - 2 for part in HEAD))


def test_indexes_need_not_be_consecutive():
    pairing = Pairing()
    pairing.add(Seen(index=4), sketch(FIRST))
    pair = pairing.add(Seen(index=9), sketch(SECOND))
    assert (pair.against, pair.best) == (4, 4)


@pytest.mark.parametrize("prompt", [[], HEAD, ["u "], ["a "], ["s Only instructions."]])
def test_odd_prompts_are_paired(prompt):
    log = Log(texts=True)
    for answered in (False, True, True):
        pair = log.add(*prompt, answered=answered)
    assert pair.conversation >= 0
    assert log.add(*prompt, "u More.").relation in ("first", "append", "opening", "side")
