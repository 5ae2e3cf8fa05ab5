import pytest

from hitrate.live.retry import wait_before_retry

NOON = 1_790_000_000.0  # Mon, 21 Sep 2026 14:13:20 GMT


@pytest.mark.parametrize(
    ("status", "headers", "tries", "wait"),
    [
        (429, {"retry-after": "7"}, 1, 7.0),
        (429, {"retry-after": " 0.5 "}, 1, 0.5),
        (503, {"retry-after": "7"}, 1, 7.0),
        (429, {"retry-after-ms": "250", "retry-after": "1"}, 1, 0.25),
        (429, {"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT"}, 1, 30.0),
        (429, {"retry-after": "Mon, 21 Sep 2026 14:13:00 GMT"}, 1, 0.0),
        (429, {"retry-after": "Mon, 21 Sep 2026 16:00:05 GMT", "date": "Mon, 21 Sep 2026 16:00:00 GMT"}, 1, 5.0),
        (429, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m6.5s"}, 1, 66.5),
        (429, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 1, 0.12),
        (429, {"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6m0s"}, 1, 1.0),
        (429, {"retry-after": "soon"}, 1, 1.0),
        (429, {"retry-after": "-3"}, 1, 1.0),
        (429, {"retry-after": "-120", "date": "Mon, 21 Sep 2026 16:00:00 GMT"}, 3, 4.0),
        (429, {"retry-after-ms": "-250", "retry-after": "-1"}, 1, 1.0),
        (429, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "-5s"}, 1, 1.0),
        (503, {"retry-after": "-3"}, 1, None),
        (429, {}, 1, 1.0),
        (429, {}, 3, 4.0),
        (429, {}, 9, 30.0),
        (503, {}, 1, None),
        (500, {"retry-after": "1"}, 1, None),
        (200, {"retry-after": "1"}, 1, None),
    ],
)
def test_the_wait_is_the_one_the_server_states(status, headers, tries, wait):
    assert wait_before_retry(status, headers, tries=tries, now=NOON) == wait
