import asyncio
import random

from fake_client import DOLLAR, FakeClient, asker_on

from hitrate.live.padding import _FILLER, apart, padded, run_padding
from hitrate.tokens import tokenizer


def test_filler_is_one_token_a_word():
    encode = tokenizer("o200k").encode
    assert all(len(encode(f" {word}")) == 1 for word in _FILLER)
    short, long = (len(encode(padded("S", length, random.Random(0)))) for length in (100, 600))
    assert abs(long - short - 500) <= 2


def test_lengths_never_lie_whole_steps_apart():
    """Whatever the step: 512, 1,024, 1,536 and 2,048 end at different places in it."""
    lengths = [512 * number + apart(number) for number in range(1, 5)]
    for step in (16, 32, 64, 128, 256):
        assert len({length % step for length in lengths}) > 1


def test_each_length_is_sent_twice_alike_and_apart_from_all_others():
    client, pairs = FakeClient(), []
    warnings = asyncio.run(run_padding(asker_on(client), "S", (5, 8), random.Random(0), "p", pairs))
    assert warnings == []
    prompts = [body["messages"][0]["content"] for body, _, _ in client.sent]
    assert prompts[0] == prompts[1] != prompts[2] == prompts[3]
    assert all(prompt.endswith("\nS") for prompt in prompts)
    assert [len(prompt.split("\n")[1].split()) for prompt in prompts] == [5, 5, 11, 11]
    assert prompts[0][:8] != prompts[2][:8]
    assert [(pad, first.label, second.session) for pad, first, second in pairs] == [
        (5, "pad 5", "p-pad-1"),
        (8, "pad 8", "p-pad-2"),
    ]
    assert {body["max_tokens"] for body, _, _ in client.sent} == {1}


def test_pairs_that_were_whole_are_kept_when_the_budget_is_spent():
    pairs = []
    asker = asker_on(FakeClient(), price=DOLLAR, max_tokens=1, budget_usd=120.0)
    (warning,) = asyncio.run(run_padding(asker, "S", (1, 1, 1, 1), random.Random(0), "p", pairs))
    assert warning.startswith("stopped by --budget: ")
    assert 0 < len(pairs) < 4
