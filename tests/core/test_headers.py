import pytest

from hitrate.core.headers import kept_request_headers, kept_response_headers


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([("X-Session-Affinity", "s1"), ("Authorization", "Bearer k")], {"x-session-affinity": "s1"}),
        ([("api-key", "k"), ("x-api-key", "k"), ("Cookie", "c"), ("X-Amz-Security-Token", "t")], {}),
        ([("x-grok-conv-id", "1"), ("X-HitRate-Run", "r")], {"x-grok-conv-id": "1", "x-hitrate-run": "r"}),
        ([("x-key-of-tomorrow", "k")], {}),
    ],
)
def test_request_headers(given, kept):
    assert kept_request_headers(given) == kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([("Set-Cookie", "c"), ("CF-Ray", "r"), ("Server", "vllm")], {"cf-ray": "r", "server": "vllm"}),
        ([("fireworks-cached-prompt-tokens", "64")], {"fireworks-cached-prompt-tokens": "64"}),
        (
            [("x-ratelimit-limit-requests", "60"), ("Retry-After", "2")],
            {"x-ratelimit-limit-requests": "60", "retry-after": "2"},
        ),
        ([("x-hitrate-replica", "3"), ("x-hitrate-replica", "4")], {"x-hitrate-replica": "4"}),
        ([("Authorization", "Bearer k"), ("WWW-Authenticate", "x")], {}),
    ],
)
def test_response_headers(given, kept):
    assert kept_response_headers(given) == kept
