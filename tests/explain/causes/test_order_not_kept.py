from __future__ import annotations

import pytest
from breaks import evidence, named, place, recognised

ORDER = "order-not-kept"


@pytest.mark.parametrize(
    ("was", "now", "kind", "pointer", "name"),
    [
        ("- oak\n- elm\n", "- elm\n- oak\n", "system", "/messages/0/content", ORDER),
        ("a.py\nb.py", "b.py\na.py", "tool", "/messages/3/content", ORDER),
        ("Eiche\nUlme\nEsche", "Ulme\nEsche\nEiche", "system", "/system/0/text", ORDER),
        ("樫\n楡", "楡\n樫", "system", "/instructions", ORDER),
        ("Agents:\nanna\njon", "Agents:\njon\nanna", "tools", "/tools/0/function/description", ORDER),
        ("- oak\n- elm\n", "- elm\n- ash\n", "system", "/messages/0/content", "system-text-changed"),
        ("oak, elm", "elm, oak", "system", "/messages/0/content", "system-text-changed"),
        ("- oak\n\n- elm", "- oak\n- elm", "system", "/messages/0/content", "text-form-changed"),
    ],
)
def test_lines(was, now, kind, pointer, name):
    assert named(was, now, kind=kind, pointer=pointer) == name


@pytest.mark.parametrize(
    ("pointer", "kind", "name"),
    [
        ("/messages/4/content", "tool", ORDER),
        ("/messages/1/content/0", "user", ORDER),
        ("/input/3/output", "tool", ORDER),
        ("/tools/1/function/name", "tools", "tool-order"),
        ("/response_format/json_schema/schema/required/0", "schema", "schema-key-order"),
    ],
)
def test_lists(pointer, kind, name):
    found = place(pointer, "list order", kind=kind, words="2 messages from message 5 on stand in another order")
    assert recognised(evidence(found))[0] == name
