import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.core import spans


def places(node):
    """Every node below and including `node`."""
    yield node
    for child in [*node.members().values(), *node.items()]:
        yield from places(child)


@pytest.mark.parametrize(
    ("text", "pointer", "sent"),
    [
        ('{"a":1}', "/a", "1"),
        (' \n{ "a" :\t[ 1 , "x\\n\\u00e9" ] }\r\n', "/a/1", '"x\\n\\u00e9"'),
        ('\ufeff{"a":null}', "/a", "null"),
        ('{"a/b":{"~c":{"":[[],{}]}}}', "/a~1b/~0c//1", "{}"),
        ('{"k":1,"k":[2, 3]}', "/k", "[2, 3]"),
        ('["\\ud83d\\ude00", "😀x", -0.5e3]', "/2", "-0.5e3"),
        ('{"a":{"b":{"c":{"d":{"e":"deep"}}}}}', "/a/b/c/d/e", '"deep"'),
        ('{"a": NaN}', "/a", "NaN"),
    ],
)
def test_span_of_a_value(text, pointer, sent):
    found = {node.pointer: node for node in places(spans.parse(text))}
    assert text[found[pointer].start : found[pointer].end] == sent


def test_members_keep_the_order_sent_and_of_duplicates_the_last():
    root = spans.parse('{"b":1,"a":2,"b":3}')
    assert [(name, node.value, node.start) for name, node in root.members().items()] == [("b", 3, 17), ("a", 2, 11)]
    assert root.value == {"b": 3, "a": 2}


@pytest.mark.parametrize("text", ['"text"', "1", "[]", "{}", "null"])
def test_values_without_children(text):
    root = spans.parse(text)
    assert root.members() == {}
    assert root.items() == []
    assert root.get("a") is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "line 1 column 1"),
        ("\ufeff", "line 1 column 2"),
        ('{"a":}', "line 1 column 6"),
        ('{"a" 1}', "line 1 column 6"),
        ('{"a":1,}', "line 1 column [78]"),  # the comma from Python 3.13 on, the bracket before
        ('{"a":1 "b":2}', "line 1 column 8"),
        ("{a:1}", "line 1 column 2"),
        ("[1,2", "line 1 column 5"),
        ("[1 2]", "line 1 column 4"),
        ('{"a":1}\n{"b":2}', "line 2 column 1"),
        ('{\n "a": [\n  1,\n  tru]}', "line 4 column 3"),
        ('{"a":"unended', "line 1 column 6"),
        ('{"a":"tab\there"}', "line 1 column 10"),
        ('{"a":{"b":{"c":{"d":[}}}}', "line 1 column 22"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 5_000, "4300 digits"),
    ],
)
def test_faults_name_the_place(text, place):
    with pytest.raises(ValueError, match=place) as caught:
        spans.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "text"), [(b'{"a":"\xc3\xa9"}', '{"a":"é"}'), (b"\xef\xbb\xbf{}", "\ufeff{}"), (b"", "")]
)
def test_decode_text(body, text):
    assert spans.decode_text(body) == text


def test_decode_text_names_the_byte():
    with pytest.raises(ValueError, match=r"not UTF-8 at byte 7 \(line 2\)"):
        spans.decode_text(b'{\n"a":"\xff"}')


@pytest.mark.parametrize(("pointer", "value"), [("", {"a/b": [{"~": 5}]}), ("/a~1b", [{"~": 5}]), ("/a~1b/0/~0", 5)])
def test_resolve(pointer, value):
    assert spans.resolve({"a/b": [{"~": 5}]}, pointer) == value


@pytest.mark.parametrize(
    ("pointer", "error"), [("a", ValueError), ("/b", KeyError), ("/a~1b/3", IndexError), ("/a~1b/x", ValueError)]
)
def test_resolve_refuses(pointer, error):
    with pytest.raises(error):
        spans.resolve({"a/b": [1]}, pointer)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=4), children, max_size=4),
    max_leaves=25,
)


@given(value=json_values, indent=st.sampled_from([None, 0, 3, "\t"]), ascii_only=st.booleans(), mark=st.booleans())
def test_every_span_decodes_to_the_value_its_pointer_names(value, indent, ascii_only, mark):
    text = "\ufeff" * mark + json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    for node in places(spans.parse(text)):
        assert json.loads(text[node.start : node.end]) == node.value == spans.resolve(value, node.pointer)


@given(text=st.text(alphabet='{}[]",:01etrufalsn\\ \n', max_size=20))
def test_reads_what_json_reads_and_refuses_what_json_refuses(text):
    try:
        expected = json.loads(text)
    except ValueError as error:
        with pytest.raises(ValueError) as caught:
            spans.parse(text)
        assert str(caught.value) == str(error)
    else:
        assert spans.parse(text).value == expected
