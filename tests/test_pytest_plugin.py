"""What an agent's own tests see."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from hitrate.pytest_plugin import assert_prefix_stable

pytest_plugins = ["pytester"]

PLUGIN = () if any(one.name == "hitrate" for one in entry_points(group="pytest11")) else ("-p", "hitrate.pytest_plugin")
"""Needed where this is not installed, or was installed before the plugin came: pytest takes no plugin twice."""

HANDBOOK = "You are the support agent of a mail-order nursery. " + " ".join(
    f"Rule {number}: plants of kind {number} may come back within {number + 7} days." for number in range(60)
)


def request(turn: int, *, clock: bool = False, **members):
    system = f"Now: 2026-03-11 09:14:{7 + turn:02} UTC\n\n{HANDBOOK}" if clock else HANDBOOK
    messages = [{"role": "system", "content": system}]
    for number in range(turn + 1):
        messages.append({"role": "user", "content": f"Question {number} about my roses?"})
        messages.append({"role": "assistant", "content": f"Answer {number}: send a photograph."})
    return {"model": "small", "messages": messages[:-1], **members}


def test_a_prompt_that_only_grows_passes():
    assert_prefix_stable(request)
    assert_prefix_stable(request, turns=5)
    assert_prefix_stable([request(0), request(1)])
    assert_prefix_stable(request(0), request(1), request(2))
    assert_prefix_stable(lambda number: request(number, temperature=number), turns=[0, 1, 2])


def test_bytes_and_text_are_taken_as_sent():
    assert_prefix_stable(json.dumps(request(0)).encode(), json.dumps(request(1)))


@pytest.mark.parametrize(
    "arguments",
    [
        (lambda turn: request(turn, clock=True),),
        ([request(turn, clock=True) for turn in range(3)],),
        tuple(request(turn, clock=True) for turn in range(2)),
        tuple(json.dumps(request(turn, clock=True)) for turn in range(2)),
    ],
)
def test_a_clock_fails_and_says_where(arguments):
    with pytest.raises(AssertionError) as failure:
        assert_prefix_stable(*arguments)
    lines = str(failure.value).splitlines()
    assert lines[0] == "the prefix is not stable"
    assert lines[1].startswith("call 1 against 0 · /messages/0/content, character ")
    assert '" became "' in lines[1]
    assert lines[1].endswith(": clock-in-prefix")
    assert lines[2].startswith("  The time in the system prompt")
    assert lines[3].startswith("  what to do: Move the time behind the stable text")


def test_an_allowed_cause_passes():
    assert_prefix_stable(lambda turn: request(turn, clock=True), allow=["clock-in-prefix"])


def test_another_model_is_another_key():
    with pytest.raises(AssertionError, match="model-switched"):
        assert_prefix_stable(request(0), request(1) | {"model": "large"})


def test_rendered_prompts():
    def render(turn):
        return HANDBOOK + "".join(f"\nUser: question {number}\nAgent: answer" for number in range(turn + 1))

    assert_prefix_stable(render)
    with pytest.raises(AssertionError, match='call 1 against 0 · /prompt, character 0 · "9:14'):
        assert_prefix_stable(*(f"{9 + turn}:14 Uhr. {render(turn)}" for turn in range(2)))
    with pytest.raises(AssertionError, match="/prompt, character 1"):
        assert_prefix_stable(lambda turn: f"{10 + turn}:14 Uhr. {render(turn)}")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("You sell roses. " * 30, "Vous vendez des roses. " * 30),
        ("You sell roses. " * 30, "You buy ships. " * 30),
    ],
)
def test_instructions_of_another_kind_are_no_conversation(first, second):
    def body(system):
        return {"model": "m", "messages": [{"role": "system", "content": system}, {"role": "user", "content": "hi"}]}

    with pytest.raises(AssertionError, match="call 1 against 0 · /messages/0/content"):
        assert_prefix_stable(body(first), body(second))


def test_other_questions_behind_the_same_opening_pass():
    def body(question):
        system = {"role": "system", "content": HANDBOOK}
        return {"model": "m", "messages": [system, {"role": "user", "content": question}]}

    assert_prefix_stable(body, turns=["roses?", "seeds?", "tools?"])


def test_what_cannot_be_seen_is_shown():
    with pytest.raises(AssertionError) as failure:
        assert_prefix_stable(request(0), json.dumps(request(1)).replace("the support agent", "the\\u00a0support agent"))
    assert "\\xa0" in str(failure.value)
    assert "\u00a0" not in str(failure.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "two requests on; got 0"),
        ((request(0),), "two requests on; got 1"),
        (([request(0)],), "two requests on; got 1"),
        (({"odd": 1}, {"odd": 2}), "wire format is not recognised"),
        (({"messages": 5, "model": "m"}, {"messages": 6, "model": "m"}), "wire format is not recognised"),
        ((b"[1]", b"[2]"), "wire format is not recognised"),
        ((b"{", b"{"), None),
    ],
)
def test_what_cannot_be_compared_is_no_pass(arguments, says):
    with pytest.raises(ValueError, match=says):
        assert_prefix_stable(*arguments)


def test_the_fixture_and_the_report_of_a_failure(pytester):
    pytester.makepyfile(
        """
        SYSTEM = "You answer customers of a nursery, and you are brief and kind. " * 40

        def request(turn, first):
            return {"model": "m", "messages": [
                {"role": "system", "content": first + SYSTEM},
                *[{"role": "user", "content": f"question {number}"} for number in range(turn + 1)],
            ]}

        def test_stable(assert_prefix_stable):
            assert_prefix_stable(lambda turn: request(turn, ""))

        def test_broken(assert_prefix_stable):
            assert_prefix_stable(lambda turn: request(turn, f"Time: 09:14:{10 + turn}. "))
        """
    )
    result = pytester.runpytest(*PLUGIN, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*AssertionError: the prefix is not stable", "E*call 1 against 0 · *"])
    assert "pytest_plugin.py" not in "\n".join(line for line in result.outlines if line.startswith(">"))


def test_the_plugin_loads_nothing_until_it_is_asked():
    script = (
        "import sys; import pytest; before = set(sys.modules); import hitrate.pytest_plugin;"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["hitrate", "hitrate.pytest_plugin"]


def test_the_assertion_needs_no_command_line():
    script = (
        "import sys; from hitrate.pytest_plugin import assert_prefix_stable as a;"
        "b = {'model': 'm', 'messages': [{'role': 'user', 'content': 'x' * 99}]};"
        "a(b, b); print(*sorted({'rich', 'click', 'jinja2', 'hitrate.cli'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
