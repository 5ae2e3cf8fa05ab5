"""Every probe against practice servers in virtual time: what the server was told is what has to come out."""

from __future__ import annotations

import asyncio

import pytest
from virtual_target import probed, virtual_lab

from hitrate.core.probe_results import PROBES
from hitrate.errors import UsageError
from hitrate.explain.probing.documented import Documented
from hitrate.live.probes.registry import chosen, probe_called
from hitrate.live.probes.runner import run_probes


def probe(*names, **how):
    return asyncio.run(probed(*names, **how))


def one(name, **how):
    return next(answer for (probe_name, _), answer in probe(name, **how).items() if probe_name == name)


JITTERED = {"jitter": 0.2}


def test_honesty_is_asked_side_by_side_where_other_probes_met_a_busy_target():
    """What they sent cold took equally long at all lengths: prompts sent cold and warm in turns still tell."""
    lab = virtual_lab()
    probe("granularity", lab=lab)
    lab.colds[:] = [(tokens, 3.0) for tokens, _ in lab.colds]
    calls, answers = lab.calls, []
    asyncio.run(run_probes(lab, ["honesty"], Documented(), answers))
    assert [(answer.choice, answer.calls) for answer in answers] == [("match", 12)]
    assert lab.calls == calls + 12


def test_an_unknown_target_costs_at_most_150_calls():
    lab = virtual_lab()
    answers = probe(lab=lab)
    assert list(dict.fromkeys(probe_name for probe_name, _ in answers)) == list(PROBES)
    assert lab.calls == sum(answer.calls for answer in answers.values()) <= 150
    assert {answer.status for answer in answers.values()} == {"answered", "not applicable"}
    assert all(len(answer.observations) == answer.calls for answer in answers.values())


@pytest.mark.parametrize(
    ("block", "minimum"), [(16, 0), (24, 0), (32, 1024), (64, 300), (128, 1024), (256, 0), (512, 0)]
)
def test_block_size_and_minimum(block, minimum):
    found = probe("granularity", "minimum", block_size=block, minimum_tokens=minimum, **JITTERED)
    step, least = found["granularity", ""], found["minimum", ""]
    assert step.value == block
    assert least.value == max(block, -(-minimum // block) * block)
    assert least.low < least.value + 1 <= least.high or least.choice == "none seen"


@pytest.mark.parametrize(("block", "least"), [(32, 32), (128, 128)])
def test_one_block_is_found_though_all_lengths_of_the_granularity_had_more(block, least, monkeypatch):
    """As where a word takes several tokens, which is learnt only from the first calls."""
    monkeypatch.setattr("hitrate.live.probes.granularity.LENGTHS", (317, 541, 877, 1290, 1805))
    found = probe("granularity", "minimum", block_size=block, **JITTERED)["minimum", ""]
    assert (found.value, found.status) == (least, "answered")


def test_a_layer_of_whole_prompts_does_not_hide_the_step():
    found = probe("granularity", "minimum", "generated", imitates="moonshot", **JITTERED)
    step = found["granularity", ""]
    assert (step.value, step.status, step.calls) == (256, "answered", 34)
    assert step.text.endswith("The very same prompt is credited whole; these are prompts that went on.")
    assert found["minimum", ""].value == 256
    assert found["generated", ""].choice == "reused"


@pytest.mark.parametrize(
    ("preset", "shortest"),
    [("anthropic", 1026), ("minimax", 514), ("openai", 1026), ("openai-before-gpt-5.6", 1025), ("deepseek", 64)],
)
def test_shortest_credited_prompt_of_vendors(preset, shortest):
    answer = one("minimum", imitates=preset, mark=preset == "minimax")
    assert answer.low < shortest <= answer.high <= answer.low + 12


@pytest.mark.parametrize(("ttl_s", "seed"), [(1.7, 0), (9.0, 1), (9.0, 2), (47.0, 3), (90.0, 4)])
def test_lifetime(ttl_s, seed):
    answer = one("lifetime", ttl_s=ttl_s, seed=seed, **JITTERED)
    assert answer.low <= ttl_s <= answer.high < 2.1 * answer.low


def test_a_lifetime_beyond_the_time_given_is_a_lower_bound():
    answer = one("lifetime", time_s=30)
    assert (answer.choice, answer.high) == ("at least", None)
    assert 29 < answer.low <= 31


def test_prefixes_that_are_pushed_out_do_not_look_expired():
    answer = one("lifetime", capacity_tokens=9000, time_s=30)
    assert answer.status == "could not tell"
    assert "push them out" in answer.text


@pytest.mark.parametrize("delay_s", [0.7, 3.0, 6.0, 11.0])
def test_write_delay(delay_s):
    answer = one("write-delay", write_delay_ms=1000 * delay_s, **JITTERED)
    assert answer.low <= delay_s <= answer.high < delay_s + 2


def test_no_write_delay():
    answer = one("write-delay", **JITTERED)
    assert (answer.value, answer.low) == (0, 0) and answer.high < 0.2


@pytest.mark.parametrize(
    ("preset", "choice"),
    [
        ("deepseek", "third call"),
        ("openai", "never"),
        ("anthropic", "second call"),
        ("llamacpp", "second call"),
        ("vllm", "second call"),
    ],
)
def test_opening(preset, choice):
    assert one("opening", imitates=preset, **JITTERED).choice == choice


@pytest.mark.parametrize(
    ("preset", "choice"),
    [("llamacpp", "reused"), ("deepseek", "reused"), ("moonshot", "reused"), ("anthropic", "not reused")],
)
def test_generated_tokens(preset, choice):
    assert probe("granularity", "generated", imitates=preset)["generated", ""].choice == choice


def test_replies_shorter_than_a_step_cannot_tell():
    found = probe("granularity", "generated", block_size=256, reply_tokens=5)
    assert found["generated", ""].status == "could not tell"
    assert "too short" in found["generated", ""].text


@pytest.mark.parametrize(
    ("preset", "value", "unit"),
    [("anthropic", 20, "blocks"), ("bedrock", 20, "blocks"), ("openai", 21, "messages"), ("crusoe", None, "messages")],
)
def test_look_back(preset, value, unit):
    answer = one("look-back", imitates=preset)
    assert (answer.value, answer.unit) == (value, unit)


def test_look_back_of_explicit_markers_on_the_chat_wire():
    assert one("look-back", imitates="dashscope", mark=True).value == 20


@pytest.mark.parametrize("number", [1, 2, 4, 9, 18])
def test_replicas(number):
    answer = one("replicas", replicas=number, **JITTERED)
    assert answer.low <= number <= answer.high
    assert one("replicas", replicas=number, routing="round-robin").value == number


def test_a_shared_store_looks_like_one_replica():
    assert one("replicas", replicas=6, shared=True).high == 1


@pytest.mark.parametrize("number", [2, 4, 18])
def test_a_knob_that_works_and_one_that_does_not(number):
    assert one("affinity", replicas=number, routing="session-affinity", **JITTERED).choice == "works"
    assert one("affinity", replicas=number, routing="random", **JITTERED).choice == "no effect"


def test_with_one_replica_a_knob_has_nothing_to_do():
    assert one("affinity").choice is None


def test_a_knob_that_works_is_used_by_later_probes():
    lab = virtual_lab(replicas=8, routing="session-affinity")
    found = probe("granularity", "opening", "generated", lab=lab)
    assert [answer.status for answer in found.values()] == ["answered"] * 4
    lab = virtual_lab(replicas=8)
    found = probe("replicas", "affinity", "granularity", "opening", lab=lab)
    assert found["granularity", ""].value == 16
    assert found["opening", ""].status == "could not tell"
    assert "8 replicas" in found["opening", ""].text


def test_caching_only_with_a_key():
    lab = virtual_lab(imitates="mistral")
    found = probe("replicas", "affinity", "granularity", lab=lab)
    assert found["replicas", ""].status == "could not tell"
    assert found["affinity", "body member prompt_cache_key"].choice == "works"
    assert found["granularity", ""].value == 64


@pytest.mark.parametrize("faults", [(), ("no-details",)])
@pytest.mark.parametrize("seed", range(3))
def test_scope_of_sharing(faults, seed):
    found = probe("sharing", faults=faults, seed=seed, **JITTERED)
    assert found["sharing", "another user"].choice in ("shared", None)
    assert found["sharing", "another body member cache_salt"].choice in ("not shared", None)
    assert {answer.choice for (name, _), answer in found.items() if name == "sharing"} != {None}


def test_another_key_is_asked_with_another_client():
    lab = virtual_lab()
    lab.other_key = lab.asker.with_client(lab.asker.client)
    answer = probe("sharing", lab=lab)["sharing", "another API key"]
    assert answer.choice == "shared" and answer.p_value < 0.02


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ({}, "reported"),
        ({"faults": ("no-details",)}, "hidden"),
        ({"faults": ("null-details",)}, "hidden"),
        ({"rule": "none"}, "none seen"),
        ({"rule": "none", "faults": ("no-details",)}, "none seen"),
        ({"imitates": "ollama"}, "hidden"),
    ],
)
def test_hidden_caching(options, choice):
    assert one("hidden", **options, **JITTERED).choice == choice


@pytest.mark.parametrize("options", [{}, {"faults": ("no-details",)}])
def test_without_time_to_look_again_nothing_is_ruled_out(options):
    answer = one("hidden", rule="none", time_s=5.0, **options, **JITTERED)
    assert (answer.status, answer.choice) == ("could not tell", None)
    assert answer.advice == "give more with --time: 31 s are enough"


def test_where_no_reply_tells_any_count_lengths_by_words_and_times_do():
    found = probe(faults=("no-usage",), ttl_s=9, jitter=0.1)
    assert found["hidden", ""].choice == "hidden"
    assert "token counts are not reported, lengths are estimated by words" in found["hidden", ""].text
    assert {answer.basis for answer in found.values() if answer.status == "answered"} == {"time"}
    assert found["replicas", ""].high == 1
    assert found["opening", ""].choice == "second call"
    assert found["lifetime", ""].low <= 9 <= found["lifetime", ""].high
    assert {one.prompt_tokens for answer in found.values() for one in answer.observations} == {None}


def test_where_nothing_is_reused_no_other_probe_makes_a_call():
    found = probe(rule="none", faults=("no-details",), **JITTERED)
    assert {answer.status for (name, _), answer in found.items() if name != "hidden"} == {"could not tell"}
    assert sum(answer.calls for answer in found.values()) == found["hidden", ""].calls


def test_by_time_alone():
    found = probe(faults=("no-details",), replicas=4, routing="session-affinity", ttl_s=9, jitter=0.1)
    assert {answer.basis for answer in found.values() if answer.status == "answered"} == {"time"}
    assert found["replicas", ""].low <= 4 <= found["replicas", ""].high
    assert found["opening", ""].choice == "second call"
    assert found["lifetime", ""].low <= 9 <= found["lifetime", ""].high
    assert found["granularity", ""].status == "could not tell"


def test_a_step_by_time_on_a_quiet_line():
    assert one("granularity", faults=("no-details",), block_size=64).value == 64


def test_honesty():
    assert one("honesty", **JITTERED).choice == "match"
    assert one("honesty", faults=("no-details",)).status == "not applicable"


def test_a_429_is_waited_for_and_no_miss():
    lab = virtual_lab(rpm_limit=30)
    found = probe("granularity", "opening", "lifetime", lab=lab)
    assert (found["granularity", ""].value, found["opening", ""].choice, lab.failed) == (16, "second call", 0)


@pytest.mark.parametrize("fault", ["500:every=5", "cut:every=7", "malformed:every=5", "no-usage:every=6"])
def test_failed_calls_are_no_misses(fault):
    lab = virtual_lab(faults=(fault,), ttl_s=20)
    found = probe(lab=lab)
    assert lab.failed > 5
    assert found["granularity", ""].value == 16
    assert found["replicas", ""].high == 1
    assert found["opening", ""].choice in ("second call", None)
    assert found["look-back", ""].choice == "no limit"
    assert found["sharing", "another user"].choice in ("shared", None)
    assert found["sharing", "another body member cache_salt"].choice in ("not shared", None)
    lifetime = found["lifetime", ""]
    assert lifetime.status == "could not tell" or lifetime.low <= 20 <= lifetime.high


def test_a_target_that_stops_answering_ends_every_probe():
    lab = virtual_lab(faults=("500",))
    found = probe(lab=lab)
    assert lab.calls == 5
    assert "5 calls in a row failed" in found["hidden", ""].text
    assert {answer.status for answer in found.values()} == {"could not tell"}


def test_the_cap_holds():
    lab = virtual_lab(max_calls=30)
    found = probe(lab=lab)
    assert lab.calls == 30
    assert found["hidden", ""].status == "answered"
    assert "cap of 30 calls" in found["opening", ""].text


@pytest.mark.parametrize("name", PROBES)
def test_no_probe_takes_more_than_it_says(name):
    most = probe_called(name).most(120.0)
    for options in ({"replicas": 5}, {"faults": ("no-details",)}, {"write_delay_ms": 5000, "ttl_s": 30}):
        answers = probe(name, max_calls=1000, **options)
        assert sum(answer.calls for (probe_name, _), answer in answers.items() if probe_name == name) <= most.calls


def test_names():
    assert chosen(()) == list(PROBES)
    assert chosen(("lifetime", "granularity")) == ["hidden", "granularity", "lifetime"]
    with pytest.raises(UsageError, match=r"--only lifetme: there is no such probe \(did you mean lifetime\?\)"):
        chosen(("lifetme",))
