"""The causes that are one changed setting each: which of them speaks for which setting."""

import pytest
from beside_given import CLAUDE, OPENAI, VLLM, call, evidence

from hitrate.core.prompt import Setting
from hitrate.explain.causes.adapter_switched import AdapterSwitched
from hitrate.explain.causes.beside_the_text import OTHER_CAUSES
from hitrate.explain.causes.beta_header_changed import BetaHeaderChanged
from hitrate.explain.causes.effort_switched import EffortSwitched
from hitrate.explain.causes.key_setting_changed import KeySettingChanged
from hitrate.explain.causes.key_settings import changes, concerns
from hitrate.explain.causes.salt_changed import SaltChanged

MODEL = {"/model": '"m"'}


def switched(pointer, was, now, facts=VLLM, **more):
    old = {pointer: was} if was is not None else {}
    new = {pointer: now} if now is not None else {}
    return evidence(
        call(0, 2000, 0, key={**MODEL, **old}, **more), call(1, 2100, 0, key={**MODEL, **new}, **more), facts=facts
    )


@pytest.mark.parametrize(
    ("cause", "pointer", "was", "now", "shown"),
    [
        (EffortSwitched, "/reasoning/effort", '"low"', '"high"', ("low", "high")),
        (EffortSwitched, "/reasoning_effort", '"low"', None, ("low", None)),
        (EffortSwitched, "/output_config/effort", '"medium"', '"max"', ("medium", "max")),
        (EffortSwitched, "/thinking/type", '"disabled"', '"enabled"', ("disabled", "enabled")),
        (EffortSwitched, "/thinking/budget_tokens", "1024", "4096", ("1024", "4096")),
        (EffortSwitched, "/generationConfig/thinkingConfig/thinkingBudget", "0", "512", ("0", "512")),
        (EffortSwitched, "/text/verbosity", '"low"', '"high"', ("low", "high")),
        (AdapterSwitched, "/lora_path", '"a"', '"b"', ("a", "b")),
        (AdapterSwitched, "/lora_request/lora_name", '"a"', None, ("a", None)),
        (AdapterSwitched, "/lora", '[{"id":0}]', '[{"id":1}]', ('[{"id":0}]', '[{"id":1}]')),
        (AdapterSwitched, "x-lora-adapter:", '"a"', '"b"', ("a", "b")),
        (SaltChanged, "/cache_salt", '"t-81c2"', '"t-0f9a"', ("t-81c2", "t-0f9a")),
        (SaltChanged, "/extra_body/cache_salt", '"a"', '"b"', ("a", "b")),
        (SaltChanged, "/prompt_cache_isolation_key", None, '"b"', (None, "b")),
        (BetaHeaderChanged, "anthropic-beta:", '"x"', '"x,y"', ("x", "x,y")),
        (KeySettingChanged, "/chat_template_kwargs/tools_in_user", "true", "false", ("true", "false")),
        (KeySettingChanged, "/service_tier", '"flex"', '"priority"', ("flex", "priority")),
        (KeySettingChanged, "/prompt_cache_retention", '"24h"', None, ("24h", None)),
    ],
)
def test_a_setting_is_named_by_the_cause_made_for_it(cause, pointer, was, now, shown):
    given = switched(pointer, was, now)
    found = cause().recognise(given)
    assert found is not None
    assert (found.pointer, found.was, found.now) == (pointer, *shown)
    assert next(one for one in OTHER_CAUSES if one.recognise(given) is not None).name == cause.name


def test_going_back_to_a_known_effort_costs_nothing():
    low, high = {"/reasoning/effort": '"low"'}, {"/reasoning/effort": '"high"'}
    calls = (
        call(0, 1336, 0, key=low),
        call(1, 1399, 1280, key=low),
        call(2, 1437, 0, key=high),
        call(3, 1477, 1280, key=low),
    )
    assert EffortSwitched().recognise(evidence(*calls, at=2)) is not None
    assert all(one.recognise(evidence(*calls, at=3)) is None for one in OTHER_CAUSES)


def test_a_switch_that_spares_the_front_is_a_switch_all_the_same():
    old, new = {"/thinking/type": '"disabled"'}, {"/thinking/type": '"enabled"'}
    given = evidence(
        call(0, 9000, 0, 8990, key=old, marks=((8, 35960),)),
        call(1, 9100, 3000, 6090, key=new, marks=((10, 36360),)),
        facts=CLAUDE,
    )
    found = EffortSwitched().recognise(given)
    assert found is not None
    assert found.confidence == "likely"


def test_single_calls_with_a_new_salt_each_share_nothing():
    salts = [call(number, 2000, 0, key={"/cache_salt": f'"{number}"'}, conversation=number) for number in range(3)]
    given = evidence(salts[0], salts[2], between=(salts[1],), relation="opening", alone=True, facts=VLLM)
    found = SaltChanged().recognise(given)
    assert found is not None
    assert found.pointer == "/cache_salt"


@pytest.mark.parametrize(
    "salts",
    [
        ('"tenant-a"', '"tenant-b"'),
        ('"tenant-a"', '"tenant-b"', '"tenant-a"'),
        ('"tenant-a"', '"tenant-b"', '"tenant-b"', '"tenant-a"'),
    ],
)
def test_tenants_with_a_salt_each_are_no_fault(salts):
    calls = [call(number, 2000, 0, key={"/cache_salt": salt}, conversation=number) for number, salt in enumerate(salts)]
    given = evidence(calls[0], calls[-1], between=calls[1:-1], relation="opening", alone=True, facts=VLLM)
    assert SaltChanged().recognise(given) is None


def test_a_loss_within_the_step_is_no_loss():
    given = evidence(
        call(0, 2000, 0, key={"/reasoning/effort": '"low"'}),
        call(1, 2100, 1792, key={"/reasoning/effort": '"high"'}),
        facts=OPENAI,
    )
    assert EffortSwitched().recognise(given) is None


@pytest.mark.parametrize(
    ("pointer", "names", "expected"),
    [
        ("/model", {"model"}, True),
        ("/model_kwargs", {"model"}, False),
        ("/reasoning/effort", {"effort"}, True),
        ("/reasoning/effort", {"reasoning"}, True),
        ("anthropic-beta:", {"anthropic-beta:"}, True),
    ],
)
def test_concerns(pointer, names, expected):
    assert concerns(pointer, names) is expected


def test_changes_are_in_the_order_of_the_later_call_with_what_is_gone_at_the_end():
    before = (Setting("/a", "1"), Setting("/b", "2"), Setting("/gone", "3"))
    now = (Setting("/new", '"x"'), Setting("/a", "1"), Setting("/b", "5"))
    assert [tuple(one) for one in changes(before, now)] == [
        ("/new", None, "x"),
        ("/b", "2", "5"),
        ("/gone", "3", None),
    ]
