"""Token, path and key: which upstream a request goes to, and which requests go to none."""

import pytest

from hitrate.errors import UsageError
from hitrate.serve.proxy.heads import RequestHead
from hitrate.serve.proxy.refusals import Refused
from hitrate.serve.proxy.routes import Routes, is_loopback, key_prefixes
from hitrate.serve.proxy.upstreams import parse_upstreams
from hitrate.targets.presets import all_names


def head(target, *headers, method="POST"):
    lines = "".join(f"{header}\r\n" for header in ("Host: 127.0.0.1:8787", *headers))
    return RequestHead(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode())


def found(routes, target, *headers):
    route = routes.find(head(target, *headers))
    return (route.upstream and route.upstream.name), route.target.decode()


def refusal(routes, target, *headers, **options):
    with pytest.raises(Refused) as refused:
        routes.find(head(target, *headers, **options))
    return refused.value.status, refused.value.message


SEVERAL = ["openai", "claude=anthropic", "groq", "local=http://h:1"]


@pytest.mark.parametrize(
    ("target", "headers", "name", "leads_to"),
    [
        ("/openai/v1/chat/completions", (), "openai", "/v1/chat/completions"),
        ("/groq/v1/models", (), "groq", "/openai/v1/models"),
        ("/claude/v1/messages?beta=true", (), "claude", "/v1/messages?beta=true"),
        ("/local/health", (), "local", "/health"),
        ("/local", (), "local", "/"),
        ("http://elsewhere/local/v1/x", (), "local", "/v1/x"),
        # the path wins over the key
        ("/local/v1/x", ("Authorization: Bearer gsk_abc",), "local", "/v1/x"),
        ("/v1/chat/completions", ("Authorization: Bearer gsk_abc",), "groq", "/openai/v1/chat/completions"),
        ("/v1/chat/completions", ("authorization: bearer  sk-proj-abc",), "openai", "/v1/chat/completions"),
        ("/v1/messages", ("X-Api-Key: sk-ant-api03-abc",), "claude", "/v1/messages"),
        ("/v1/messages", ("Authorization: Bearer sk-ant-oat01-abc",), "claude", "/v1/messages"),
        ("/v1/x", ("Authorization: Bearer my-abc",), "local", "/v1/x"),
        ("/v1/x", ("api-key: my-abc",), "local", "/v1/x"),
        # the longer beginning wins
        ("/v1/x", ("api-key: my-gsk-abc",), "groq", "/openai/v1/x"),
    ],
)
def test_several_upstreams(target, headers, name, leads_to):
    routes = Routes(parse_upstreams(SEVERAL), key_upstreams={"my-": "local", "my-gsk": "groq"})
    assert found(routes, target, *headers) == (name, leads_to)


@pytest.mark.parametrize("headers", [(), ("Authorization: Bearer sk-abc",), ("Authorization: gsk_abc",)])
def test_neither_path_nor_key_decide(headers):
    status, message = refusal(Routes(parse_upstreams(SEVERAL)), "/v1/x", *headers)
    assert status == 502
    assert "/openai/..., /claude/..., /groq/..., /local/..." in message
    assert "abc" not in message


def test_what_the_user_says_of_keys_wins():
    routes = Routes(parse_upstreams(["openai", "anthropic"]), key_upstreams={"sk-ant-": "openai"})
    assert found(routes, "/v1/x", "x-api-key: sk-ant-abc")[0] == "openai"


def test_of_two_upstreams_of_one_vendor_the_first_gets_its_keys():
    routes = Routes(parse_upstreams(["a=openai", "b=openai"]))
    assert found(routes, "/v1/x", "Authorization: Bearer sk-proj-1")[0] == "a"


def test_a_key_that_decides_nothing_is_an_error():
    with pytest.raises(UsageError, match="there is only one"):
        Routes(parse_upstreams(["openai"]), key_upstreams={"a": "openai"})
    with pytest.raises(UsageError, match="no upstream is called 'c'; there are a, b"):
        Routes(parse_upstreams(["a=openai", "b=groq"]), key_upstreams={"x": "c"})


def test_known_beginnings_of_keys_lead_to_presets():
    assert set(key_prefixes().values()) <= set(all_names())
    assert key_prefixes()["sk-ant-"] == "anthropic"


@pytest.mark.parametrize(
    ("target", "headers", "leads_to"),
    [
        ("/v1/x", ("X-Hitrate-Token: s3cret",), "/v1/x"),
        ("/t/s3cret/v1/x?y", (), "/v1/x?y"),
        ("/t/s3cret", (), "/"),
        ("http://any/t/s3cret/v1/x", (), "/v1/x"),
    ],
)
def test_who_has_the_token_is_let_in(target, headers, leads_to):
    routes = Routes(parse_upstreams(["http://h"]), token="s3cret")
    assert found(routes, target, *headers) == ("h", leads_to)
    assert routes.find(head(target, *headers)).secrets == (b"s3cret",)


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/v1/x", ()),
        ("/v1/x", ("X-Hitrate-Token: s3cre",)),
        ("/v1/x", ("X-Hitrate-Token: s3cret\xe9",)),
        ("/t/wrong/v1/x", ("X-Hitrate-Token: s3cret",)),
        ("/t/", ()),
        ("/_hitrate/", ()),
    ],
)
def test_who_has_not_is_not(target, headers):
    status, message = refusal(Routes(parse_upstreams(["http://h"]), token="s3cret"), target, *headers)
    assert status == 401
    assert "s3cret" not in message


@pytest.mark.parametrize("target", ["/_hitrate", "/_hitrate/", "/_hitrate?x", "/_hitrate/sessions/1"])
def test_own_pages(target):
    assert found(Routes(parse_upstreams(["http://h"])), target) == (None, target)
    token = Routes(parse_upstreams(["http://h"]), token="s3cret")
    assert found(token, f"/t/s3cret{target}") == (None, target)


def test_own_pages_are_not_shown_to_a_page_elsewhere():
    """A name that was made to lead here (DNS rebinding) stands in the Host header."""
    routes = Routes(parse_upstreams(["http://h"]))
    elsewhere = RequestHead(b"GET /_hitrate/ HTTP/1.1\r\nHost: evil.example:8787\r\n\r\n")
    with pytest.raises(Refused) as refused:
        routes.find(elsewhere)
    assert refused.value.status == 403


def test_other_paths_that_begin_alike_are_the_upstreams():
    assert found(Routes(parse_upstreams(["http://h"])), "/_hitratex") == ("h", "/_hitratex")
    assert found(Routes(parse_upstreams(["http://h"])), "/t/x/v1") == ("h", "/t/x/v1")


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.com", False),
    ],
)
def test_loopback(host, own):
    assert is_loopback(host) is own
