"""Expectations with a tokeniser of one token a character, so that every place can be counted in the bodies."""

import json

import pytest

from hitrate.caches.block_chain import BlockChainCache
from hitrate.caches.radix import RadixCache
from hitrate.core.model import Call, Reply, Timing, Usage
from hitrate.explain.turns.rows import Expected
from hitrate.live.expectation import RenderedTokens, expectations
from hitrate.targets.dialects.openai_chat import OpenAIChat


class Letters:
    name = "letters"
    exact = True

    def encode(self, text):
        return [ord(character) for character in text]


def call(sent, *contents, session="s", reported=None, cached=None, ttft=0.1, total=0.2, answer="yes"):
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(contents)]
    return Call(
        target="t",
        dialect="openai-chat",
        body=json.dumps({"messages": messages}).encode(),
        session=session,
        usage=Usage(prompt_tokens=reported, cached_tokens=cached),
        timing=Timing(at=sent, sent_at_s=sent, ttft_s=ttft, total_s=total),
        reply=None if answer is None else Reply(message={"role": "assistant", "content": answer}, text=answer),
    )


def expected(calls, cache=RadixCache, *, exact=True, granularity=1):
    return expectations(calls, RenderedTokens(OpenAIChat(), Letters(), exact=exact), cache, granularity)


def test_a_turn_finds_the_prompt_and_the_reply_of_the_one_before():
    """A message is its letters between two marks, a prompt ends with the opening of the answer: 12 + 1, 12 + 5 + 1."""
    first, second = expected([call(0, "q" * 10), call(1, "q" * 10, "yes", "w")])
    assert first == Expected(0, 0)
    assert second == Expected(12 + 5 - 1, 12 + 5 - 1)  # the last token of a reply is in no cache


@pytest.mark.parametrize(("size", "cached"), [(4, 16), (8, 16), (16, 16), (32, 0)])
def test_blocks(size, cached):
    assert expected([call(0, "q" * 10), call(1, "q" * 10, "yes", "w")], lambda: BlockChainCache(size))[1] == Expected(
        cached, 16
    )


def test_calls_at_once_find_nothing_of_each_other_but_share_it():
    one, other = expected([call(0.0, "q" * 10, session="a"), call(0.001, "q" * 10, session="b")])
    assert {one, other} == {Expected(0, 0), Expected(0, 12)}


def test_calls_at_once_find_what_is_being_computed_where_the_rule_says_so():
    calls = [call(number / 1000, "q" * 10, session=str(number)) for number in range(3)]
    source = RenderedTokens(OpenAIChat(), Letters(), exact=True)
    found = expectations(calls, source, lambda: BlockChainCache(4), found_while_computed=True)
    assert found == [Expected(0, 0), Expected(12, 12), Expected(12, 12)]


@pytest.mark.parametrize("failed", [{"ttft": None, "total": None}, {"answer": None}])
def test_calls_without_a_token_have_no_expectation_and_leave_nothing(failed):
    first, second = expected([call(0, "q" * 10, **failed), call(1, "q" * 10)])
    assert (first.cached_tokens, second) == (None, Expected(0, 0))


def test_a_reply_that_is_not_streamed_is_known_when_it_is_there():
    first, second = expected([call(0, "q" * 10, ttft=None), call(1, "q" * 10, "yes", "w")])
    assert (first, second) == (Expected(0, 0), Expected(12 + 5 - 1, 12 + 5 - 1))


def test_an_estimate_is_the_share_of_the_prompt_that_was_reported():
    """13 letters and marks are 130 tokens of the engine; all but the last of them can be reused."""
    same = [call(0, "q" * 10, reported=130), call(1, "q" * 10, reported=130)]
    assert expected(same, exact=False)[1] == Expected(120, 120)
    assert expected(same, exact=False, granularity=16)[1] == Expected(112, 120)


def test_an_estimate_goes_on_from_the_prompt_before_as_it_was_reported():
    """The opening takes the engine far more tokens than the letters say, the turns far fewer: 13 are 1,300, the next
    11 are 10. A share of the whole would give 16 / 24 of 1,310, which is 873, below what the prompt before had."""
    calls = [call(0, "q" * 10, reported=1300), call(1, "q" * 10, "yes", "wwww", reported=1310)]
    (_, second) = expected(calls, exact=False)
    assert second.cached_tokens == 1302


def test_a_session_whose_prompts_do_not_go_on_from_each_other_is_scaled_as_a_whole():
    calls = [call(0, "abcdefghij", reported=130), call(1, "abcdeXXXXXXXXX", reported=170)]
    assert expected(calls, exact=False)[1] == Expected(60, 60)


def test_nothing_is_expected_where_the_prompt_tokens_are_not_reported():
    assert expected([call(0, "q"), call(1, "q")], exact=False) == [Expected(), Expected()]
