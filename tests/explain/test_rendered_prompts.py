"""Prompts that were rendered before they were sent, explained from log to findings."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.json import encode

from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.pytest_plugin import assert_prefix_stable
from hitrate.targets.dialects.by_shape import read_reply


def explained(tmp_path, records: list[dict[str, Any]]):
    file = tmp_path / "log.jsonl"
    file.write_bytes(b"".join(encode(one) + b"\n" for one in records))
    return explain_log(open_log(str(file), read_reply))


def test_requests_that_cannot_be_read_are_listed(tmp_path):
    usage = {"prompt_tokens": 50, "completion_tokens": 1}
    prompts = ["one", ["two", "prompts"], "one and more"]
    report = explained(tmp_path, [{"body": {"prompt": prompt}, "response": {"usage": usage}} for prompt in prompts])
    records = report.records
    assert (records.read, records.used, records.damaged, records.left_out) == (3, 3, 0, 1)
    assert [(one.line, one.reason, one.counted) for one in records.skipped] == [
        (2, "the request of call 1 cannot be read: /prompt: several prompts in one request", True)
    ]
    assert report.waterfall.prompt_tokens == 150


RULES = " ".join(
    f"Rule {number}: plants of kind {number} may come back within {number + 7} days." for number in range(80)
)
TEMPLATES = {
    "chatml": ("<|im_start|>{role}\n", "<|im_end|>\n", "assistant"),
    "llama": ("<|start_header_id|>{role}<|end_header_id|>\n\n", "<|eot_id|>", "assistant"),
    "phi": ("<|{role}|>\n", "<|end|>\n", "assistant"),
}
Turns = list[tuple[str, str]]


def rendered(template: str, turns: Turns) -> str:
    """As the template prints it; Gemma and Mistral put the instructions into the first user's turn."""
    if template in TEMPLATES:
        opening, closing, answers = TEMPLATES[template]
        text = "".join(opening.format(role=role) + said + closing for role, said in turns)
        return ("<|begin_of_text|>" if template == "llama" else "") + text + opening.format(role=answers)
    if template == "plain":
        return "".join(f"{said}\n" if role == "system" else f"{role}: {said}\n" for role, said in turns)
    (_, system), (_, question), *rest = turns
    turns = [("user", f"{system}\n\n{question}"), *rest]
    if template == "gemma":
        names = {"user": "user", "assistant": "model"}
        said = "".join(f"<start_of_turn>{names[role]}\n{text}<end_of_turn>\n" for role, text in turns)
        return f"<bos>{said}<start_of_turn>model\n"
    return "<s>" + "".join(f"[INST] {text} [/INST]" if role == "user" else f" {text}</s>" for role, text in turns)


ALL = pytest.mark.parametrize("template", [*TEMPLATES, "gemma", "mistral", "plain"])


def ids_of(text: str) -> list[int]:
    return [1000 + sum(map(ord, word)) for word in text.split(" ")]


def question(number: int) -> str:
    return f"Question {number}: my {['roses', 'tulips', 'asters', 'lilies'][number % 4]}, {'and ' * number}what now?"


def history(turn: int) -> Turns:
    said = [("user", question(0))]
    for number in range(1, turn + 1):
        said += [("assistant", f"Answer {number}: send a photograph of plant {number}."), ("user", question(number))]
    return said


def logged(prompts: list[Any], cached: int = 0) -> list[dict[str, Any]]:
    usage = {"prompt_tokens": 1500, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": cached}}
    return [{"body": {"model": "llama-3-8b", "prompt": prompt}, "response": {"usage": usage}} for prompt in prompts]


@ALL
@pytest.mark.parametrize("questions", [lambda turn: history(turn)[-1:], history], ids=["one-shot", "turns"])
@pytest.mark.parametrize("body", [lambda text: text, lambda text: [text]], ids=["text", "list of a text"])
def test_a_clock_on_top_costs_all_that_stands_behind_it(tmp_path, template, questions, body):
    prompts = [
        body(rendered(template, [("system", f"Now 09:14:0{turn}\n{RULES}"), *questions(turn)])) for turn in range(4)
    ]
    report = explained(tmp_path, logged(prompts))
    (finding,) = report.findings
    assert (finding.cause, finding.call, finding.calls) == ("clock-in-prefix", 1, (1, 2, 3))
    assert finding.pointer is not None and finding.pointer.startswith("/prompt")
    assert finding.was is not None and finding.was.startswith("0\nRule 0")
    assert finding.cacheable_chars is not None and finding.cacheable_chars < 80
    assert 0.85 < finding.lost_tokens / 4500 < 1


@ALL
@pytest.mark.parametrize("questions", [lambda turn: history(turn)[-1:], history], ids=["one-shot", "turns"])
def test_the_same_instructions_are_healthy(tmp_path, template, questions):
    prompts = [rendered(template, [("system", f"Now 09:14:00\n{RULES}"), *questions(turn)]) for turn in range(4)]
    report = explained(tmp_path, logged(prompts, cached=1400))
    assert (report.findings, report.records.skipped) == ((), ())


@ALL
def test_other_documents_under_short_instructions_are_healthy(tmp_path, template):
    words = RULES.split(" ")
    documents = [" ".join(words[place::7] + [str(place)] * 40) for place in range(4)]
    turns = [[("system", "Sum this up."), ("user", document)] for document in documents]
    assert explained(tmp_path, logged([rendered(template, one) for one in turns])).findings == ()


def test_a_clock_in_token_ids(tmp_path):
    prompts = [ids_of(f"Now 09:14:0{turn} {RULES} {question(turn)}") for turn in range(4)]
    report = explained(tmp_path, logged(prompts))
    assert [(one.verdict, one.pointer) for one in report.findings] == [("prefix_break", "/prompt/1")]


@ALL
def test_the_plugin_sees_it_in_two_prompts_of_one_conversation(template):
    prompts = [rendered(template, [("system", f"Now 09:14:0{turn}\n{RULES}"), *history(turn)]) for turn in range(2)]
    with pytest.raises(AssertionError, match="clock-in-prefix"):
        assert_prefix_stable(*prompts)
    assert_prefix_stable(*(rendered(template, [("system", RULES), *history(turn)]) for turn in range(2)))


@ALL
def test_the_plugin_sees_it_in_two_questions(template):
    prompts = [rendered(template, [("system", f"Now 09:14:0{turn}\n{RULES}"), *history(turn)[-1:]]) for turn in (0, 1)]
    with pytest.raises(AssertionError, match="clock-in-prefix"):
        assert_prefix_stable(*prompts)


def ids(number: int, start: int) -> list[int]:
    return [(start + 7919 * place) % 120_000 for place in range(number)]


OPENING, QUESTION, OTHER = ids(640, 5), ids(30, 900_001), ids(90, 700_003)
TABLE = ids(128, 333_331)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param(
            [*ids(704, 11), *TABLE, *ids(500, 17)], [*ids(1728, 23), *TABLE, *ids(400, 29)], id="a table in two texts"
        ),
        pytest.param([*OPENING, *QUESTION], [*OPENING, *OTHER], id="another question behind one opening"),
        pytest.param(
            [*OPENING[:64], *ids(640, 41), *TABLE, *ids(640, 43)],
            [*OPENING[:64], *ids(1280, 47), *TABLE, *ids(640, 53)],
            id="a table behind a common opening",
        ),
        pytest.param([*OPENING, *QUESTION], [*OPENING, *QUESTION, *OTHER], id="one that goes on"),
    ],
)
def test_unrelated_token_ids_are_healthy(tmp_path, was, now):
    report = explained(tmp_path, [{"input_tok_ids": was}, {"input_tok_ids": now}])
    assert (report.format, report.findings) == ("token-ids", ())


def test_token_ids_of_which_some_changed_are_one_prompt(tmp_path):
    """In front, where most stands behind it still; and in the last piece, the end of which comes again."""
    for place in (10, 648):
        was = [*OPENING, *QUESTION]
        now = [*was[:place], 119_999, *was[place + 1 :], *OTHER]
        report = explained(tmp_path, [{"input_tok_ids": was}, {"input_tok_ids": now}])
        assert [(one.cause, one.pointer) for one in report.findings] == [("prompt-changed", f"/prompt/{place}")]


def test_prompts_of_an_unknown_engine_are_under_no_rule(tmp_path):
    report = explained(tmp_path, [{"input_tok_ids": OPENING}, {"input_tok_ids": [*OPENING, *QUESTION]}])
    assert report.rule_set is None
