"""Which conversation a request names, whoever wrote it."""

from __future__ import annotations

import pytest

from hitrate.record.sessions import session_of

USER = "user_5f2a_account_9c1e_session_57a121ec-f78c"
AS_JSON = '{"device_id":"d","account_uuid":"","session_id":"54c1eb09-bc4c"}'


@pytest.mark.parametrize(
    ("headers", "body", "session"),
    [
        pytest.param({}, {}, "", id="none"),
        pytest.param({}, None, "", id="no body"),
        pytest.param(
            {"x-claude-code-session-id": "cc", "x-session-id": "other"}, {"user": "u"}, "cc", id="claude code"
        ),
        pytest.param({"session-id": "cx"}, {"prompt_cache_key": "k"}, "cx", id="codex"),
        pytest.param({"session_id": "cx"}, {}, "cx", id="codex, older"),
        pytest.param({"x-session-id": "oc", "x-session-affinity": "a"}, {}, "oc", id="opencode"),
        pytest.param({"x-grok-conv-id": "g"}, {}, "g", id="xai"),
        pytest.param({"x-dynamo-session-id": "d"}, {}, "d", id="dynamo"),
        pytest.param({"x-session-affinity": "a"}, {"prompt_cache_key": "k"}, "a", id="fireworks, baseten"),
        pytest.param({"x-session-token": "t"}, {}, "t", id="llm-d"),
        pytest.param({"x-session-id": "  "}, {"session_id": "b"}, "b", id="an empty header"),
        pytest.param({}, {"metadata": {"user_id": USER}}, "57a121ec-f78c", id="claude code, metadata"),
        pytest.param({}, {"metadata": {"user_id": AS_JSON}}, "54c1eb09-bc4c", id="claude code, metadata as JSON"),
        pytest.param({}, {"metadata": {"user_id": {"session_id": "s"}}}, "s", id="metadata as an object"),
        pytest.param({}, {"metadata": {"user_id": "{broken"}, "user": "u"}, "{broken", id="broken JSON"),
        pytest.param({}, {"metadata": {"session_id": "m"}, "session_id": "b"}, "m", id="metadata.session_id"),
        pytest.param({}, {"session_id": "b", "prompt_cache_key": "k"}, "b", id="openrouter"),
        pytest.param({}, {"conversation": {"id": "conv_1"}}, "conv_1", id="responses, an object"),
        pytest.param({}, {"conversation": "conv_1", "prompt_cache_key": "k"}, "conv_1", id="responses"),
        pytest.param({}, {"prompt_cache_key": "k", "user": "u"}, "k", id="prompt_cache_key"),
        pytest.param({}, {"user": "u"}, "u", id="user"),
        pytest.param({}, {"metadata": {"user_id": "u"}, "user": "v"}, "u", id="a plain user id"),
        pytest.param({"x-user-id": "h"}, {}, "h", id="a header of a user"),
        pytest.param({}, {"session_id": 17}, "17", id="a number"),
        pytest.param(
            {}, {"session_id": True, "user": ["u"], "metadata": "m", "conversation": None}, "", id="odd types"
        ),
        pytest.param({}, {"session_id": "s" * 600}, "s" * 512, id="far too long"),
    ],
)
def test_session(headers, body, session):
    assert session_of(headers, body) == session
