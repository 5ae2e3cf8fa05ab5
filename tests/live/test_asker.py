import asyncio

import pytest
from fake_client import DOLLAR, FakeClient, asker_on

from hitrate.core.model import Usage
from hitrate.errors import ContextTooSmall, RateLimited, TargetError
from hitrate.live.asker import BudgetSpent
from hitrate.targets.dialects.anthropic_messages import AnthropicMessages
from hitrate.targets.presets import Knob, Target

HELLO = [{"role": "user", "content": "Hello"}]


def ask(asker, times=1, **how):
    async def calls():
        return [await asker.ask(HELLO, session="s", **how) for _ in range(times)]

    return asyncio.run(calls())


def sent(client, number=-1):
    return client.sent[number]


@pytest.mark.parametrize(
    ("target", "affinity", "members", "headers", "words"),
    [
        (Target(name="t"), "auto", {}, {}, None),
        (
            Target(name="t", affinity=(Knob("body", "prompt_cache_key"), Knob("header", "x-id"))),
            "auto",
            {"prompt_cache_key": "s"},
            {},
            "body member prompt_cache_key",
        ),
        (Target(name="t", affinity=(Knob("header", "x-id"),)), "auto", {}, {"x-id": "s"}, "header x-id"),
        (Target(name="t", affinity=(Knob("header", "x-id"),)), "none", {}, {}, None),
        (Target(name="t", affinity=(Knob("header", "x-id"),)), "user", {"user": "s"}, {}, "body member user"),
        (Target(name="t"), "x-mine:", {}, {"x-mine": "s"}, "header x-mine"),
    ],
)
def test_affinity(target, affinity, members, headers, words):
    client = FakeClient()
    asker = asker_on(client, target=target, affinity=affinity)
    ask(asker)
    body, _, sent_headers = sent(client)
    assert {name: body[name] for name in ("prompt_cache_key", "user") if name in body} == members
    assert sent_headers == headers
    assert asker.affinity_sent == words


@pytest.mark.parametrize(
    ("knob", "members", "headers"),
    [
        (None, {}, {}),
        (Knob("body", "cache_salt"), {"cache_salt": "i"}, {}),
        (Knob("header", "x-isolation"), {}, {"x-isolation": "i"}),
    ],
)
def test_isolation_goes_to_the_targets_cold_knob(knob, members, headers):
    client = FakeClient()
    ask(asker_on(client, target=Target(name="t", cold_knob=knob)), isolation="i")
    body, _, sent_headers = sent(client)
    assert ({"cache_salt": body["cache_salt"]} if "cache_salt" in body else {}, sent_headers) == (members, headers)


def test_parameters():
    client = FakeClient()
    target = Target(name="t", max_tokens_member="max_completion_tokens", not_accepted=("stream_options", "temperature"))
    ask(asker_on(client, target=target, max_tokens=7, extra={"seed": 1}), extra={"top_k": 2})
    body, _, _ = sent(client)
    assert {name: body.get(name) for name in ("max_completion_tokens", "seed", "top_k")} == {
        "max_completion_tokens": 7,
        "seed": 1,
        "top_k": 2,
    }
    assert not {"max_tokens", "temperature", "stream_options"} & body.keys()


@pytest.mark.parametrize(
    ("markers", "cold", "marker"),
    [("auto", False, {"type": "ephemeral"}), ("1h", False, {"type": "ephemeral", "ttl": "1h"}), ("1h", True, None)],
)
def test_cache_breakpoints_are_the_targets_and_cold_calls_have_none(markers, cold, marker):
    client = FakeClient()
    ask(asker_on(client, dialect=AnthropicMessages(), target=Target(name="t", markers=markers)), cold=cold)
    (block,) = sent(client)[0]["messages"][0]["content"]
    assert block.get("cache_control") == marker


def test_a_reply_is_not_limited_below_what_the_target_takes():
    client = FakeClient()
    asker = asker_on(client, target=Target(name="t", least_max_tokens=16), max_tokens=32)
    ask(asker, max_tokens=1)
    ask(asker)
    assert [body["max_tokens"] for body, _, _ in client.sent] == [16, 32]


def test_refused_parameters_are_left_out_from_then_on():
    no_limit = {"status": 400, "error": "Unsupported parameter: 'max_tokens'"}
    no_heat = {"status": 422, "error": "temperature does not support 0"}
    client = FakeClient(no_limit, no_heat, {})
    asker = asker_on(client)
    calls = ask(asker, times=2)
    assert [sorted(body.keys() & {"max_tokens", "temperature"}) for body, _, _ in client.sent] == [
        ["max_tokens", "temperature"],
        ["temperature"],
        [],
        [],
    ]
    assert asker.calls == calls  # what was refused is no call of the run


def test_a_refusal_counts_until_something_was_answered_and_then_costs_a_row():
    context = {"status": 400, "error": "maximum context length is 10 tokens"}
    with pytest.raises(ContextTooSmall):
        ask(asker_on(FakeClient(context)))
    assert [call.status for call in ask(asker_on(FakeClient({}, context)), times=2)] == [200, 400]


def test_a_refused_key_always_counts():
    with pytest.raises(TargetError):
        ask(asker_on(FakeClient({}, {"status": 401})), times=2)


def test_an_answered_warm_up_does_not_excuse_the_first_real_call():
    client = FakeClient({}, {"status": 429})
    asker = asker_on(client)
    asyncio.run(asker.warm_up())
    assert (sent(client)[0]["max_tokens"], asker.calls[0].label) == (1, "warm-up")
    with pytest.raises(RateLimited):
        ask(asker)


def test_every_finished_call_is_told():
    heard = []
    calls = ask(asker_on(FakeClient(), on_call=lambda call, idle: heard.append((call, idle))), times=2)
    assert heard == [(call, True) for call in calls]


def test_a_budget_is_kept_before_each_call():
    """A call costs 11 dollars and may cost len(body) / 3 + 5 at most, which is about 50."""
    asker = asker_on(FakeClient(), price=DOLLAR, max_tokens=5, budget_usd=75.0)
    with pytest.raises(BudgetSpent, match=r"^\$22.0000 of \$75 spent, and the next call may cost \$5\d\.0000$"):
        ask(asker, times=10)
    assert (len(asker.calls), asker.spent_usd) == (2, 22.0)


def test_calls_under_way_count_with_the_most_they_may_cost():
    class Slow(FakeClient):
        async def call(self, *arguments, **options):
            await asyncio.sleep(0)
            return await super().call(*arguments, **options)

    client = Slow()
    asker = asker_on(client, price=DOLLAR, max_tokens=5, budget_usd=75.0)

    async def both():
        tasks = [asker.ask(HELLO, session=session) for session in "ab"]
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second = asyncio.run(both())
    assert (first.status, type(second)) == (200, BudgetSpent)
    assert len(client.sent) == 1


def test_a_call_whose_cost_is_not_known_counts_with_the_most_it_may_have_cost():
    asker = asker_on(FakeClient({"usage": Usage()}), price=DOLLAR, max_tokens=5, budget_usd=1000.0)
    (call,) = ask(asker)
    assert asker.spent_usd == len(call.body) // 3 + 5


@pytest.mark.parametrize(
    ("affinity", "member", "header"),
    [("none", None, None), ("user", "user", None), ("x-session-id:", None, "x-session-id")],
)
def test_a_call_may_have_another_knob_than_the_run(affinity, member, header):
    client = FakeClient()
    target = Target(name="t", affinity=(Knob("body", "prompt_cache_key"),))
    asyncio.run(asker_on(client, target=target).ask(HELLO, session="s", affinity=affinity))
    [(body, _, headers)] = client.sent
    assert "prompt_cache_key" not in body
    assert (body.get("user"), headers.get("x-session-id")) == ("s" if member else None, "s" if header else None)


def test_the_same_run_through_another_client_shares_its_calls():
    first, second = FakeClient(), FakeClient()
    asker = asker_on(first)
    asyncio.run(asker.ask(HELLO, session="a"))
    asyncio.run(asker.with_client(second).ask(HELLO, session="b"))
    assert [call.session for call in asker.calls] == ["a", "b"]
    assert [session for _, session, _ in second.sent] == ["b"]


def test_the_budget_counts_the_reply_that_a_call_may_have():
    asker = asker_on(FakeClient(), price=DOLLAR, max_tokens=1, budget_usd=200.0)
    with pytest.raises(BudgetSpent, match="the next call may cost"):
        asyncio.run(asker.ask(HELLO, session="s", max_tokens=500))
