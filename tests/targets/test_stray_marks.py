import json

import pytest

from hitrate.targets.stray_marks import stray_marks

MARK = {"type": "ephemeral"}
POINT = {"cachePoint": {"type": "default"}}


@pytest.mark.parametrize(
    ("dialect", "body", "pointers"),
    [
        (
            "bedrock-converse",
            {
                "system": [{"text": "a", "cache_control": MARK}],
                "messages": [{"content": [{"text": "b", "cache_control": MARK}]}],
            },
            ("/system/0/cache_control", "/messages/0/content/0/cache_control"),
        ),
        ("bedrock-converse", {"messages": [{"content": [{"text": "b"}, POINT]}]}, ()),
        (
            "bedrock-converse",
            {"messages": [{"content": [{"text": "b"}, {"cache_point": {}}]}]},
            ("/messages/0/content/1/cache_point",),
        ),
        (
            "bedrock-converse",
            {"toolConfig": {"tools": [{"toolSpec": {"name": "x", "cache_control": MARK}}]}, "messages": []},
            ("/toolConfig/tools/0/toolSpec/cache_control",),
        ),
        ("anthropic-messages", {"messages": [{"content": [{"type": "text", "cache_control": MARK}]}]}, ()),
        (
            "anthropic-messages",
            {"messages": [{"content": [{"type": "text", "cacheControl": MARK}]}]},
            ("/messages/0/content/0/cacheControl",),
        ),
        ("anthropic-messages", {"system": [POINT], "messages": []}, ("/system/0/cachePoint",)),
        ("openai-chat", {"messages": [{"content": [{"text": "b", "cache_control": MARK}]}]}, ()),
        ("openai-chat", {"messages": [{"content": [POINT]}]}, ("/messages/0/content/0/cachePoint",)),
        (
            "openai-responses",
            {"input": [{"content": [{"cache_control": MARK}]}]},
            ("/input/0/content/0/cache_control",),
        ),
        (
            "gemini-generate",
            {"contents": [{"parts": [{"text": "b", "cache_control": MARK}]}]},
            ("/contents/0/parts/0/cache_control",),
        ),
        (
            "gemini-generate",
            {"systemInstruction": {"parts": [{"cache_control": MARK}]}},
            ("/systemInstruction/parts/0/cache_control",),
        ),
        ("llamacpp-completion", {"prompt": "a", "cache_control": MARK}, ()),
    ],
)
def test_markers_that_the_wire_does_not_read(dialect, body, pointers):
    assert stray_marks(json.dumps(body).encode(), dialect) == pointers


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"content": [{"toolUse": {"input": {"cache_control": {"max_age": 3}}}}]}]},
        {"messages": [{"content": [{"text": 'a header says "cache_control"'}]}]},
        {
            "toolConfig": {"tools": [{"toolSpec": {"inputSchema": {"json": {"properties": {"cache_control": {}}}}}}]},
            "messages": [],
        },
        {"messages": [{"content": [{"text": "b", "cache_control": None}]}]},
    ],
)
def test_data_with_such_a_name_is_no_marker(body):
    assert stray_marks(json.dumps(body).encode(), "bedrock-converse") == ()


@pytest.mark.parametrize(
    "body", [b"", b"{", b'["cache_control"]', b'"cache_control"', b'{"messages": 3, "cache_control": null}']
)
def test_odd_bodies_have_none(body):
    assert stray_marks(body, "bedrock-converse") == ()
