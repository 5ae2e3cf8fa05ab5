"""Prompts that bring together what several conversations said."""

import os
from pathlib import Path

import pytest
from test_pairing import Log

from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply

TRACES = os.environ.get("HITRATE_TRACES")

LEAD = "s You lead, and you put together what the others found. " * 3
AGENTS = ["s You read for speed, and for nothing else.", "s You read for safety alone.", "s You read for style."]
TASKS = ["u Is it fast enough for a harbour?", "u Is it safe enough for a harbour?", "u Is it well written?"]
ANSWERS = ["a Fast enough.", "a It leaks keys.", "a It could be shorter."]
ALL = [message for pair in zip(TASKS, ANSWERS, strict=True) for message in pair]
TOGETHER = "u Now put the three together."


def relations(*prompts: list[str], session: str = "s") -> list[tuple[str, int | None]]:
    log = Log(texts=True)
    pairs = [log.add(*prompt, session=session) for prompt in prompts]
    return [(pair.relation, pair.against) for pair in pairs]


@pytest.mark.parametrize("session", ["s", ""])
@pytest.mark.parametrize(
    ("agents", "lead", "relation"),
    [
        pytest.param(AGENTS, [LEAD], "first", id="each with instructions of its own"),
        pytest.param([LEAD] * 3, [LEAD], "append", id="the same instructions"),
        pytest.param([None] * 3, [], "append", id="no instructions"),
    ],
)
def test_one_agent_reads_what_the_others_answered(agents, lead, relation, session):
    prompts = [[agent, task] if agent else [task] for agent, task in zip(agents, TASKS, strict=True)]
    found = relations(
        *prompts, [*lead, *ALL, TOGETHER], [*lead, *ALL, TOGETHER, "a Done.", "u Thanks."], session=session
    )
    assert found[3:] == [(relation, 0 if relation == "append" else None), ("append", 3)]
    assert all(one in ("first", "side", "opening") for one, _ in found[:3])


def test_a_conversation_takes_in_its_branch():
    start, answer = "u Look at this code.", "a Which code?"
    one, other, found = "u The first file.", "u The second file.", ["a A fault.", "a None."]
    joined = [start, answer, one, found[0], other, found[1], "u Mend the first."]
    assert relations([start], [start, answer, one], [start, answer, other], joined) == [
        ("first", None),
        ("append", 0),
        ("branch", 1),
        ("append", 1),
    ]


def test_other_instructions_for_one_conversation_are_a_rewrite():
    """Its messages stand whole behind them, too, and no other conversation's do."""
    history = [TASKS[0], ANSWERS[0], "u And in winter?"]
    assert relations([AGENTS[0], *history], [LEAD, *history, "a Slower.", TOGETHER])[1] == ("rewrite", 0)


def test_instructions_that_change_and_change_back_are_rewrites():
    one, two = ([AGENTS[0], TASKS[0]], [LEAD, TASKS[0], ANSWERS[0], "u And in winter?"])
    three = [AGENTS[0], *two[1:], "a Slower.", "u And in May?"]
    assert relations(one, two, three)[1:] == [("rewrite", 0), ("rewrite", 1)]


def test_a_message_put_into_a_history_is_a_rewrite():
    history = [LEAD, TASKS[0], ANSWERS[0], TASKS[1]]
    put_in = [*history[:2], "u Remember the tide.", *history[2:], ANSWERS[1], TOGETHER]
    assert relations(history[:2], history, put_in)[1:] == [("append", 0), ("rewrite", 1)]


@pytest.mark.skipif(TRACES is None, reason="HITRATE_TRACES is not set")
@pytest.mark.parametrize("path", ["otel/*.json", "vllm_measured/*.jsonl.gz"])
def test_published_traces_without_a_break_are_healthy(path):
    """Agents that hand on to each other (https://github.com/kubernetes-sigs/inference-perf), unrelated questions
    (https://github.com/casys-kaist/LLMServingSim)."""
    files = sorted(Path(TRACES).glob(path))
    found = {file.name: explain_log(open_log(str(file), read_reply)).findings for file in files}
    assert found == dict.fromkeys((file.name for file in files), ())
    assert files
