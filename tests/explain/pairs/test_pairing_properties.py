"""Pairing against slow and obvious answers, on generated logs."""

import hashlib

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hitrate.core.prompt import Part, Sketch
from hitrate.explain.evidence import HEALTHY, Seen
from hitrate.explain.pairs.pairing import Pairing
from hitrate.explain.pairs.prefix_tree import common_front

HEADS = (
    ("tools:search", "tools:book", "system:" + "You ship freight. " * 20),
    ("tools:search", "system:" + "You sort waste into bins. " * 9),
    ("system:" + "You proofread novels, and you are kind to their authors. " * 3,),
    (),
)


def sketch(parts: list[str]) -> Sketch:
    found = []
    for part in parts:
        kind, text = part.split(":", 1)
        found.append(Part(hash(part), kind, len(text), (len(text),)))
    return Sketch(tuple(found))


LETTERS = st.sampled_from(["tools:t", "system:s", "user:u", "user:v", "assistant:a", "assistant:b", "tool:r"])
LOGS = st.lists(st.tuples(st.lists(LETTERS, max_size=7), st.booleans(), st.sampled_from(["", "x", "y"])), max_size=14)


@given(LOGS)
def test_the_best_call_is_the_one_that_comparing_all_pairs_finds(log):
    pairing = Pairing()
    for index, (prompt, answered, session) in enumerate(log):
        now = sketch(prompt)
        pair = pairing.add(Seen(index=index, answered=answered, session=session), now)
        fronts = [(common_front(earlier, prompt), call) for call, (earlier, ok, _) in enumerate(log[:index]) if ok]
        shared, best = max(fronts, default=(0, -1))
        assert pair.best == (best if shared else None)
        assert pair.best_characters == sum(part.characters for part in now.parts[:shared])
        if pair.against is not None:
            was = log[pair.against][0]
            assert pair.shared_parts == common_front(was, prompt)
            assert (pair.relation == "append") <= (prompt[: len(was)] == was)
    pairing.check_integrity()


class Conversation:
    """An agent that sends its whole history. Every third question is one that everybody asks."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.said = 0
        self.prompt = [*HEADS[number % len(HEADS)], self.new("user")]

    def new(self, kind: str) -> str:
        self.said += 1
        if kind == "user" and self.said % 3 == 0:
            return "user:Yes, go on."
        return f"{kind}:" + hashlib.sha256(f"{self.number} {self.said}".encode()).hexdigest()

    def goes_on(self, tool: bool) -> list[str]:
        self.prompt = [*self.prompt, self.new("assistant"), self.new("tool" if tool else "user")]
        return self.prompt


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=1, max_size=40), st.booleans())
def test_interleaved_conversations_that_only_grow_are_found_without_names(turns, named):
    pairing = Pairing()
    agents: dict[int, Conversation] = {}
    numbers: dict[int, int] = {}
    for index, (number, tool) in enumerate(turns):
        begins = number not in agents
        agent = agents.setdefault(number, Conversation(number))
        prompt = agent.prompt if begins else agent.goes_on(tool)
        pair = pairing.add(Seen(index=index, session="one name for all" if named else ""), sketch(prompt))
        assert pair.relation in (("first", "opening", "side") if begins else ("append",))
        assert pair.conversation == numbers.setdefault(number, pair.conversation)
        assert pair.near is None or begins
    assert sorted(numbers.values()) == list(range(len(agents)))


NAMES = st.sampled_from(["none", "one", "own", "wrong"])
STEPS = st.sampled_from(["question", "tool", "again", "failed", "edit", "rewind", "title"])


OTHERS_HISTORY_FOR_A_LONE_QUESTION = [
    *[(4, "question"), (0, "question"), (0, "again"), (1, "question"), (4, "question"), (0, "question"), (0, "rewind")],
    *[(0, "question"), (4, "edit"), (0, "failed"), (0, "question"), (0, "question"), (4, "edit")],
]
OTHERS_HISTORY_FOR_THE_LAST_QUESTION = [(0, step) for step in ("edit", "tool", "question", "edit", "tool", "edit")]
HISTORY_OF_A_FAILED_CALL = [(0, step) for step in ("question", "failed", "question", "edit", "failed", "edit")]


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 4), STEPS), min_size=1, max_size=40), NAMES, st.booleans())
@example(OTHERS_HISTORY_FOR_A_LONE_QUESTION, "wrong", False)
@example(OTHERS_HISTORY_FOR_THE_LAST_QUESTION, "wrong", False)
@example(HISTORY_OF_A_FAILED_CALL, "wrong", False)
def test_nothing_healthy_is_taken_for_a_break(steps, names, texts):
    """Where texts are at hand this holds for conversations, too, whose first calls are not in the log."""
    prompts: list[list[str]] = []
    pairing = Pairing((lambda index: [part.split(":", 1)[1] for part in prompts[index]]) if texts else None)
    agents: dict[int, Conversation] = {}
    for index, (number, step) in enumerate(steps):
        begins = number not in agents
        agent = agents.setdefault(number, Conversation(number))
        prompt = agent.prompt
        if step == "title" and (texts or not begins):
            prompt = ["system:Give this a title.", f"user:{number}"]
        elif (begins and not texts) or step == "again":
            pass
        elif step == "edit":
            prompt = agent.prompt = [*prompt[:-1], f"{agent.new('user')} Or rather {index}."]
        elif step == "rewind":
            prompt = agent.prompt = prompt[:-2] if len(prompt) > len(HEADS[number % len(HEADS)]) + 2 else prompt
        else:
            prompt = agent.goes_on(step == "tool")
        session = {"none": "", "one": "all", "own": str(number), "wrong": str(index % 3)}[names]
        prompts.append(prompt)
        pair = pairing.add(Seen(index=index, session=session, answered=step != "failed"), sketch(prompt))
        assert pair.relation in HEALTHY
    pairing.check_integrity()


FAULTS = st.sampled_from(["clock", "tool added", "answer changed", "window", "result pruned"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=12, max_size=40), st.data())
def test_a_break_in_one_of_several_conversations_is_seen_against_its_own_last_call(turns, data):
    pairing = Pairing()
    agents: dict[int, Conversation] = {}
    newest: dict[int, int] = {}
    broken = data.draw(st.integers(5, len(turns) - 1))
    fault = data.draw(FAULTS)
    for index, number in enumerate(turns):
        agent = agents.setdefault(number, Conversation(number))
        prompt = agent.goes_on(tool=False) if number in newest else agent.prompt
        head = len(HEADS[number % len(HEADS)])
        if index == broken and number in newest and len(prompt) >= head + 7:
            agent.prompt = prompt = damaged(prompt, head, fault, index)
            pair = pairing.add(Seen(index=index), sketch(prompt))
            assert (pair.relation, pair.against) == ("rewrite", newest[number])
            assert pair.shift == (2 if fault == "window" else 0)
        else:
            pair = pairing.add(Seen(index=index), sketch(prompt))
            assert pair.relation in HEALTHY
        newest[number] = index
    pairing.check_integrity()


def damaged(prompt: list[str], head: int, fault: str, index: int) -> list[str]:
    if fault == "clock":
        return [f"system:It is {index}:14.", *prompt[1:]] if head else [f"user:It is {index}:14.", *prompt[1:]]
    if fault == "tool added":
        return ["tools:track", *prompt]
    if fault == "window":
        return [*prompt[:head], *prompt[head + 2 :]]
    changed = "assistant:in other words" if fault == "answer changed" else "assistant:[removed]"
    return [*prompt[: head + 1], changed, *prompt[head + 2 :]]
