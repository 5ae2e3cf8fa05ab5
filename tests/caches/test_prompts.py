"""MLX-LM's rule by literal numbers: what is kept of a call, what of it the next one finds, and which sequence goes."""

from __future__ import annotations

import pytest

from hitrate.caches.prompts import SYSTEM, USER, PromptCache, Segment


def send(cache: PromptCache, prompt: str, reply: str = "", segments: list[Segment] | None = None) -> int:
    lease = cache.begin([*prompt.encode()], segments=segments or ())
    cache.finish(lease, [*reply.encode()])
    cache.check_integrity()
    return lease.cached_tokens


def kept(cache: PromptCache) -> list[str]:
    return [bytes(tokens).decode() for tokens in cache.stored_tokens]


@pytest.mark.parametrize(
    ("prompt", "served"),
    [("abcd", 3), ("abcdxy", 6), ("abcdx", 4), ("abcz", 3), ("abcdxyz", 6), ("a", 0), ("zabc", 0), ("", 0)],
)
def test_served_is_the_longest_common_beginning_but_never_the_last_token(prompt: str, served: int) -> None:
    cache = PromptCache()
    send(cache, "abcd", "xy")
    assert cache.peek([*prompt.encode()]) == min(served, max(0, len(prompt) - 1))
    assert kept(cache) == ["abcdxy"]


def test_a_conversation_that_goes_on_is_one_sequence_and_a_branch_is_another() -> None:
    cache = PromptCache()
    assert [send(cache, *call) for call in [("abc", "d"), ("abcdef", "g"), ("abX", "Y")]] == [0, 4, 2]
    assert kept(cache) == ["abcdefg", "abXY"]


def test_the_last_token_of_a_reply_is_kept_too() -> None:
    cache = PromptCache()
    send(cache, "ab", "cd")
    assert cache.peek([*b"abcde"]) == 4


def test_the_sequence_stored_first_goes_first_whatever_was_read_since() -> None:
    cache = PromptCache(sequences=2)
    send(cache, "aaa", "1")
    send(cache, "bbb", "2")
    assert cache.peek([*b"aaa1x"]) == 4
    send(cache, "ccc", "3")
    assert kept(cache) == ["bbb2", "ccc3"]
    # Room is made while the prompt is computed, before a conversation that goes on replaces its own sequence.
    send(cache, "bbb2x", "4")
    assert kept(cache) == ["ccc3", "bbb2x4"]


def test_the_opening_is_found_before_the_first_reply_has_ended() -> None:
    cache = PromptCache()
    segments = [(4, SYSTEM), (7, USER)]
    first = cache.begin([*b"sys:abc"], segments=segments)
    assert cache.peek([*b"sys:xyz"]) == 0
    cache.publish(first)
    assert kept(cache) == ["sys:ab"]  # All but the last token; it replaces the opening, which it begins with.
    assert cache.peek([*b"sys:xyz"]) == 4
    cache.abort(first)
    assert kept(cache) == ["sys:ab"]
    assert send(cache, "sys:abc", "d", segments) == 6


def test_prompts_that_were_broken_off_outlive_replies_while_they_are_more() -> None:
    cache = PromptCache(sequences=3)
    for name in "abc":
        lease = cache.begin([*f"{name}{name}x".encode()], segments=[(3, USER)])
        cache.publish(lease)
        cache.abort(lease)
    assert kept(cache) == ["aa", "bb", "cc"]
    send(cache, "dd", "e")
    # A reply is not the first to go while fewer replies than prompts are kept: the oldest prompt is.
    assert kept(cache) == ["bb", "cc", "dde"]


def test_state_that_cannot_be_cut_is_found_as_a_whole_or_not() -> None:
    cache = PromptCache(trims=False)
    send(cache, "abcd", "ef")
    assert kept(cache) == ["abc", "abcdef"]  # Neither replaces the other.
    assert [cache.peek([*prompt.encode()]) for prompt in ("abcdefg", "abcdeX", "abX", "abcd")] == [6, 3, 0, 3]


def test_namespaces_never_match_and_reset_forgets() -> None:
    cache = PromptCache()
    lease = cache.begin([1, 2, 3], namespace="adapter")
    cache.finish(lease)
    assert (cache.peek([1, 2, 3]), cache.peek([1, 2, 3], namespace="adapter")) == (0, 2)
    lease = cache.begin([1, 2, 3, 4])
    cache.reset()
    cache.publish(lease)
    cache.finish(lease, [5])
    assert cache.stored_tokens == []


@pytest.mark.parametrize("segments", [[(2, SYSTEM)], [(2, SYSTEM), (2, USER), (3, USER)], [(4, USER)]])
def test_segments_have_to_lead_to_the_end_of_the_prompt(segments: list[Segment]) -> None:
    with pytest.raises(ValueError, match="segments have to ascend to the prompt's end at 3"):
        PromptCache().begin([1, 2, 3], segments=segments)


def test_at_least_one_sequence_is_kept() -> None:
    with pytest.raises(ValueError, match="sequences is 0"):
        PromptCache(sequences=0)
