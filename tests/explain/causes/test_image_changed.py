from __future__ import annotations

import pytest
from breaks import evidence, place, recognised

IMAGE = "image-changed"


@pytest.mark.parametrize(
    ("pointer", "change", "kind", "was", "now"),
    [
        ("/messages/0/content/0", "block type", "user", "type image", "type text"),
        ("/messages/0/content/1", "block type", "user", "type image_url", "type text"),
        ("/input/0/content/1", "block type", "user", "type input_image", "type input_text"),
        ("/contents/0/parts/1", "block type", "user", "type inlineData", "type text"),
        ("/messages/0/content/0", "block type", "tool", "type text", "type image"),
        ("/messages/0/content/0/source/data", "image", "image", "iVBORw0A", "/9j/4AAQ"),
        ("/messages/0/content/0/image_url/url", "image", "image", "data:image/png;base64,iV", "https://x/1.png"),
        ("/messages/0/content/0", "list members", "image", '{"type":"image"', ""),
        ("/messages/0/content/0/image_url", "member added", "image", "", "member detail"),
    ],
)
def test_images(pointer, change, kind, was, now):
    name, said = recognised(evidence(place(pointer, change, kind=kind, was=was, now=now)))
    assert (name, said.confidence) == (IMAGE, "certain")


@pytest.mark.parametrize(
    ("pointer", "change", "kind", "was", "now", "name"),
    [
        ("/messages/1/content/0", "block type", "assistant", "type thinking", "type text", "reasoning-not-replayed"),
        ("/messages/1/content/0", "block type", "assistant", "type tool_use", "type text", "history-edited"),
        ("/tools/0/function/name", "list members", "tools", "draw_image", "", "tool-set-changed"),
        ("/tools/0/description", "value", "tools", "an image", "a picture", "tool-text-changed"),
        ("/messages/0/content/0", "list members", "user", '{"type":"text"', "", "block-not-persisted"),
    ],
)
def test_no_images(pointer, change, kind, was, now, name):
    assert recognised(evidence(place(pointer, change, kind=kind, was=was, now=now)))[0] == name


def test_what_it_says():
    found = place(
        "/messages/0/content/0",
        "block type",
        kind="user",
        was="type image",
        now="type text",
        words='block 1 in message 1 (user) was of type "image" and is now of type "text"',
    )
    assert recognised(evidence(found))[1].summary == (
        "An image sent before is not the same in an earlier user message (/messages/0/content/0): block 1 in message 1 "
        '(user) was of type "image" and is now of type "text".'
    )
