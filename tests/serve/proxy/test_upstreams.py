"""Names, base URLs, and where a client's path leads."""

import pytest

from hitrate.errors import UsageError
from hitrate.serve.proxy.upstreams import parse_upstreams


@pytest.mark.parametrize(
    ("base", "path", "leads_to"),
    [
        # the base URL ends in /v1: clients put /v1 or nothing in front
        ("http://h/v1", "/v1/chat/completions", "/v1/chat/completions"),
        ("http://h/v1/", "/v1/chat/completions", "/v1/chat/completions"),
        ("http://h/v1", "/chat/completions", "/v1/chat/completions"),
        ("http://h/v1", "/v1/messages?beta=true", "/v1/messages?beta=true"),
        ("http://h/v1", "/messages?beta=true", "/v1/messages?beta=true"),
        ("http://h/v1", "/v1", "/v1"),
        ("http://h/v1", "/v1?x", "/v1?x"),
        ("http://h/v1", "/health", "/health"),
        ("http://h/v1", "/completion", "/completion"),
        ("http://h/v1", "/v1beta/models", "/v1beta/models"),
        # it has none
        ("http://h", "/v1/chat/completions", "/v1/chat/completions"),
        ("http://h/", "/chat/completions", "/chat/completions"),
        ("http://h", "/anything?a=b", "/anything?a=b"),
        # a vendor's own place
        ("https://h/openai/v1", "/v1/chat/completions", "/openai/v1/chat/completions"),
        ("https://h/openai/v1", "/chat/completions", "/openai/v1/chat/completions"),
        ("https://h/openai/v1", "/openai/v1/models", "/openai/v1/models"),
        ("https://h/openai/v1", "/openai/deployments/x/chat?v=1", "/openai/deployments/x/chat?v=1"),
        ("https://h/openai/v1", "/v1/models", "/openai/v1/models"),
        ("https://h/openai/v1", "*", "*"),
        ("https://h/api/paas/v4", "/v1/chat/completions", "/api/paas/v4/chat/completions"),
        ("https://h/api/paas/v4", "/v4/chat/completions", "/api/paas/v4/chat/completions"),
        ("https://h/api/v1", "/v1/messages", "/api/v1/messages"),
        ("https://h/v1/openai", "/v1/chat/completions", "/v1/openai/chat/completions"),
        ("https://h/v1/openai", "/v1/openai/chat/completions", "/v1/openai/chat/completions"),
        ("https://h/v1beta", "/v1beta/models/m:generateContent?key=k", "/v1beta/models/m:generateContent?key=k"),
        # a prefix without a version stands in front of everything
        ("https://h/gateway", "/v1/messages", "/gateway/v1/messages"),
        ("https://h/gateway", "/gateway/v1/messages", "/gateway/v1/messages"),
        ("https://h/gateway", "/gatewayx", "/gateway/gatewayx"),
    ],
)
def test_where_a_path_leads(base, path, leads_to):
    (upstream,) = parse_upstreams([base])
    assert upstream.path_for(path.encode()).decode() == leads_to


@pytest.mark.parametrize(
    ("text", "name", "given", "preset", "address"),
    [
        ("openai", "openai", "openai", "openai", "https://api.openai.com"),
        ("claude=anthropic", "claude", "anthropic", "anthropic", "https://api.anthropic.com"),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", "http://127.0.0.1:8080", None, "http://127.0.0.1:8080"),
        ("my=https://h/v1/", "my", "https://h/v1", None, "https://h"),
        ("http://h/v1?", "h", "http://h/v1?", None, "http://h"),
    ],
)
def test_names(text, name, given, preset, address):
    (upstream,) = parse_upstreams([text])
    assert (upstream.name, upstream.given, upstream.preset, str(upstream.address)) == (name, given, preset, address)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["openai", "openai"], "two upstreams are called 'openai'"),
        (["a=openai", "a=groq"], "two upstreams are called 'a'"),
        (["v1=openai"], "'v1' is no name"),
        (["_hitrate=openai"], "'_hitrate' is no name"),
        (["t=openai"], "'t' is no name"),
        (["a/b=openai"], "'a/b' is no name"),
        (["=openai"], "'' is no name"),
        (["nobody"], "no target called 'nobody'"),
        (["azure"], "azure has no base URL of its own"),
        (["ftp://h"], "no http:// or https://"),
        (["http://user:secret@h"], "holds a user name or password"),
        (["http://h/v1?a=b"], "has a query in its base URL"),
    ],
)
def test_what_is_no_upstream(texts, message):
    with pytest.raises(UsageError) as refused:
        parse_upstreams(texts)
    assert message in refused.value.message
    assert "secret" not in refused.value.message
