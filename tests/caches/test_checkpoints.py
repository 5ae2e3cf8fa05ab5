"""llama.cpp's checkpoints by literal numbers, most of them from a server's own log.

`test_recorded_checkpoints` has what a real server answered, `make differential` asks it.
"""

from __future__ import annotations

from typing import Any

import pytest

from hitrate.caches.checkpoints import CheckpointCache


def prompt(letter: str, length: int) -> list[int]:
    return [1000 * ord(letter) + number for number in range(length)]


def send(cache: CheckpointCache, tokens: list[int], replied: int = 0, **request: Any) -> int:
    """Tokens served; the reply has `replied` tokens."""
    expected = cache.peek(tokens, **request)
    lease = cache.begin(tokens, **request)
    assert lease is not None and lease.cached_tokens == expected
    cache.finish(lease, reply(replied))
    cache.check_integrity()
    return lease.cached_tokens


def reply(length: int) -> list[int]:
    return prompt("r", length)


def places(cache: CheckpointCache, slot: int = 0) -> list[int]:
    return [copy.tokens for copy in cache.checkpoints_of(slot)]


@pytest.mark.parametrize(
    ("window", "served", "copies"),
    [
        (
            128,
            [0, 603, 653, 500, 83],
            [[84, 596], [84, 596, 603, 650], [84, 596, 603, 650, 653], [84, 500, 516], [84, 83, 116]],
        ),
        (None, [0, 603, 650, 84, 84], [[84, 596], [84, 596, 603, 650], [84, 596, 603, 650], [84, 516], [84, 116]]),
    ],
    ids=["window", "recurrent"],
)
def test_a_prompt_goes_on_from_what_is_there_or_from_a_copy(
    window: int | None, served: list[int], copies: list[list[int]]
) -> None:
    cache = CheckpointCache(1, 8192, window=window, host_cache_bytes=0)
    first = prompt("a", 600)
    second = first + reply(4) + prompt("b", 50)
    calls = [first, second, second, second[:500] + prompt("c", 20), second[:100] + prompt("d", 20)]
    found = []
    for tokens in calls:
        found.append((send(cache, tokens, 4), places(cache)))
    assert found == list(zip(served, copies, strict=True))


def test_a_copy_is_made_before_the_last_user_message() -> None:
    cache = CheckpointCache(1, 8192, window=128)
    send(cache, prompt("a", 266), user_starts=[106, 248])
    assert places(cache) == [106, 248, 262]
    assert send(cache, prompt("a", 248) + prompt("b", 30), user_starts=[106, 248]) == 248


@pytest.mark.parametrize(
    ("min_step", "copies"),
    [(20, [10, 40, 90, 100, 196]), (60, [10, 90, 100, 196]), (8192, [10, 100, 196])],
)
def test_other_user_messages_only_a_step_away(min_step: int, copies: list[int]) -> None:
    cache = CheckpointCache(1, 8192, checkpoint_min_step=min_step, micro_batch=8)
    send(cache, prompt("a", 200), user_starts=[10, 40, 90, 100])
    assert places(cache) == [*copies[:-1], 188, copies[-1]]


def test_batches_end_where_they_are_full_and_are_copied_only_near_the_end() -> None:
    cache = CheckpointCache(1, 8192, batch=50, micro_batch=30, checkpoint_min_step=0)
    send(cache, prompt("a", 210))
    # 50, 100 and 150 end batches, too; 210 - 34 and 210 - 4 lie near the end.
    assert places(cache) == [176, 206]


def test_a_full_list_loses_what_is_close_and_then_its_oldest() -> None:
    cache = CheckpointCache(1, 8192, checkpoints=3, checkpoint_min_step=50, micro_batch=16)
    whole = prompt("a", 400)
    found = []
    for length in (100, 200, 230, 240):
        send(cache, whole[:length])
        found.append(places(cache))
    assert found == [[80, 96], [80, 180, 196], [180, 210, 226], [180, 230, 236]]


def test_without_copies_only_what_the_memory_still_has_is_found() -> None:
    for window, served in ((128, [0, 600, 400, 0]), (None, [0, 600, 0, 0])):
        cache = CheckpointCache(1, 8192, window=window, checkpoints=0, host_cache_bytes=0)
        whole = prompt("a", 700)
        calls = [whole[:600], whole, whole[:400] + prompt("b", 300), whole[:20]]
        assert [send(cache, tokens) for tokens in calls] == served


def test_a_full_window_needs_no_copies() -> None:
    cache = CheckpointCache(1, 8192, window=128, full_window=True, host_cache_bytes=0)
    whole = prompt("a", 2000)
    assert [send(cache, tokens) for tokens in (whole, whole[:30], whole[:30])] == [0, 29, 29]
    assert places(cache) == []


def test_what_comes_back_from_the_host_store_has_its_window_and_its_copies() -> None:
    cache = CheckpointCache(1, 8192, window=128)
    whole = prompt("a", 1500)
    send(cache, whole)
    send(cache, prompt("b", 300))
    # The state stored holds the positions from 1,372 on: an edit at 1,450 has to go back to the copy at 984.
    assert send(cache, whole[:1450] + prompt("c", 9)) == 983
    assert places(cache) == [984, 983, 1455]


def test_a_reply_is_served_but_for_its_last_token() -> None:
    for window in (128, None):
        cache = CheckpointCache(2, 8192, window=window)
        assert send(cache, prompt("a", 150), 10) == 0
        assert send(cache, prompt("a", 150) + reply(10) + prompt("b", 5)) == 159


def test_a_prompt_within_the_window_goes_back_to_a_copy_although_all_of_it_is_there() -> None:
    """The server asks for a position before the window's first, which no memory has while all fits the window."""
    cache = CheckpointCache(1, 8192, window=128)
    first = prompt("a", 50)
    assert [send(cache, first, 10), send(cache, first + reply(10) + prompt("b", 5))] == [0, 45]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"window": 0}, "window is 0, it has to be at least 1, or None for a recurrent model"),
        ({"checkpoints": -1}, "checkpoints is -1, it has to be at least 0"),
        ({"micro_batch": 0}, "micro_batch is 0, it has to be at least 1"),
        (
            {"cache_reuse": 8},
            "cache_reuse is not modelled for a recurrent model, or with a window that keeps all tokens",
        ),
    ],
)
def test_what_cannot_be(options: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        CheckpointCache(1, 8192, **options)


def test_the_server_ignores_cache_reuse_where_a_window_forgets() -> None:
    cache = CheckpointCache(1, 8192, window=128, cache_reuse=8)
    whole = prompt("a", 100)
    assert [send(cache, whole), send(cache, whole[:40] + whole[50:])] == [0, 0]


def test_reset_forgets_all() -> None:
    cache = CheckpointCache(2, window=128)
    lease = cache.begin(prompt("a", 300))
    assert lease is not None
    cache.reset()
    cache.finish(lease, [1])
    cache.check_integrity()
    assert (send(cache, prompt("a", 300)), cache.host_tokens) == (0, [])
