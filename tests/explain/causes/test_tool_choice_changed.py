import pytest
from beside_given import CLAUDE, VLLM, call, evidence

from hitrate.explain.causes.tool_choice_changed import ToolChoiceChanged

AUTO, ANY = {"/tool_choice/type": '"auto"'}, {"/tool_choice/type": '"any"'}


def test_at_anthropic_the_messages_are_read_anew():
    given = evidence(
        call(0, 9000, 0, 8990, key=AUTO, marks=((8, 35960),), dialect="anthropic-messages"),
        call(1, 9100, 3000, 6090, key=ANY, marks=((10, 36360),), dialect="anthropic-messages"),
        facts=CLAUDE,
    )
    found = ToolChoiceChanged().recognise(given)
    assert found is not None
    assert (found.confidence, found.pointer, found.was, found.now) == ("likely", "/tool_choice/type", "auto", "any")


def test_elsewhere_it_is_only_possible():
    given = evidence(
        call(0, 2000, 0, others={"/tool_choice": '"auto"'}, dialect="openai-chat"),
        call(1, 2100, 0, others={"/tool_choice": '"none"'}, dialect="openai-chat"),
        facts=VLLM,
    )
    found = ToolChoiceChanged().recognise(given)
    assert found is not None
    assert found.confidence == "possible"


NO_FINDING = {
    "the same choice": evidence(call(0, key=AUTO), call(1, key=AUTO), facts=VLLM),
    "served": evidence(call(0, 9000, 0, 8990, key=AUTO), call(1, 9100, 8990, 100, key=ANY), facts=CLAUDE),
    "back to the first choice": evidence(
        call(0, 9000, 0, 8990, key=AUTO),
        call(1, 9100, 3000, 6000, key=ANY),
        call(2, 9200, 8990, 200, key=AUTO),
        facts=CLAUDE,
    ),
    "another request": evidence(call(0, key=AUTO), call(1, key=ANY), relation="opening", alone=True, facts=VLLM),
    "sampling alone": evidence(call(0, others={"/x": "1"}), call(1, others={"/x": "2"}), facts=VLLM),
    "no earlier call": evidence(call(0, key=ANY), facts=VLLM),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert ToolChoiceChanged().recognise(given) is None
