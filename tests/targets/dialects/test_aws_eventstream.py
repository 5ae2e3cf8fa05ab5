import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate.targets.dialects.aws_eventstream import Message, decode, split_events

# AWS's own example of an empty message: lengths 16 and 0, and the two checksums.
EMPTY = bytes.fromhex("00000010000000000 5c248eb7d98c8ff".replace(" ", ""))


def header(name, kind, value):
    return bytes([len(name)]) + name.encode() + bytes([kind]) + value


def text_header(name, value):
    return header(name, 7, struct.pack(">H", len(value.encode())) + value.encode())


def message(payload=b"{}", headers=b""):
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    start = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
    return start + struct.pack(">I", zlib.crc32(start))


def event(kind, value):
    headers = text_header(":event-type", kind) + text_header(":message-type", "event")
    return message(json.dumps(value).encode(), headers)


def test_an_empty_message():
    assert message(b"") == EMPTY
    assert decode(EMPTY) == ([Message(16, {}, b"")], None)


def test_headers_of_every_type():
    headers = b"".join(
        [
            header("yes", 0, b""),
            header("no", 1, b""),
            header("byte", 2, b"\xff"),
            header("short", 3, b"\x01\x00"),
            header("int", 4, b"\x00\x00\x00\x07"),
            header("long", 5, b"\xff" * 8),
            header("bytes", 6, b"\x00\x02hi"),
            text_header("text", "é"),
            header("time", 8, struct.pack(">q", 1700000000000)),
            header("uuid", 9, bytes(range(16))),
        ]
    )
    (found,), fault = decode(message(b"x", headers))
    assert found.headers == {
        "yes": True,
        "no": False,
        "byte": -1,
        "short": 256,
        "int": 7,
        "long": -1,
        "bytes": b"hi",
        "text": "é",
        "time": 1700000000000,
        "uuid": bytes(range(16)),
    }
    assert (found.payload, fault) == (b"x", None)


WHOLE = event("messageStart", {"role": "assistant"})


@pytest.mark.parametrize(
    ("data", "messages", "fault"),
    [
        (b"", 0, None),
        (WHOLE * 3, 3, None),
        (WHOLE + WHOLE[:5], 1, "the event stream ends in the middle of a message"),
        (WHOLE + WHOLE[:-1], 1, "the event stream ends in the middle of a message"),
        (WHOLE + b"<html>Service Unavailable</html>", 1, f"the event stream is damaged at byte {len(WHOLE)} (checksum"),
        (WHOLE[:-1] + b"x" + WHOLE, 0, "the event stream is damaged at byte 0 (checksum of the message)"),
        (WHOLE[:20] + b"x" + WHOLE[21:], 0, "the event stream is damaged at byte 0 (checksum of the message)"),
        (message(headers=header("a", 99, b"")), 0, "the event stream is damaged at byte 0 (headers)"),
        (message(headers=header("a", 7, b"\x00\x09x")), 0, "the event stream is damaged at byte 0 (headers)"),
        (message(headers=b"\x05a"), 0, "the event stream is damaged at byte 0 (headers)"),
    ],
    ids=["nothing", "three", "lengths cut", "cut", "no stream", "checksum", "bit", "type", "value cut", "name cut"],
)
def test_damage(data, messages, fault):
    found, said = decode(data)
    assert len(found) == messages
    assert (said or "").startswith(fault or "")
    assert (said is None) == (fault is None)


def test_a_length_beyond_reason():
    lengths = struct.pack(">II", 1 << 30, 0)
    assert decode(lengths + struct.pack(">I", zlib.crc32(lengths)))[1] == (
        "the event stream is damaged at byte 0 (a length of 1073741824 bytes)"
    )


def test_events_take_the_stamp_of_the_read_that_ended_them():
    data = WHOLE + event("messageStop", {"stopReason": "end_turn"})
    middle = len(WHOLE) + 9
    found = split_events([(10, 1, data[:3]), (20, 2, data[3:middle]), (30, 3, data[middle:])])
    assert [(one.stamp_ns, one.read, json.loads(one.data)) for one in found] == [
        (20, 2, {"messageStart": {"role": "assistant"}}),
        (30, 3, {"messageStop": {"stopReason": "end_turn"}}),
    ]


@pytest.mark.parametrize(
    ("data", "event_data"),
    [
        (
            message(b'{"message":"slow"}', text_header(":exception-type", "throttlingException")),
            {"throttlingException": {"message": "slow"}},
        ),
        (
            message(b"", text_header(":error-code", "Internal") + text_header(":error-message", "broken")),
            {"error": {"code": "Internal", "message": "broken"}},
        ),
        (message(b"", text_header(":event-type", "ping")), {"ping": None}),
        (
            b"\x00" * 12,
            {"framingFault": {"message": "the event stream is damaged at byte 0 (checksum of the lengths)"}},
        ),
    ],
    ids=["exception", "error", "no payload", "damage"],
)
def test_what_stands_for_a_message(data, event_data):
    (found,) = split_events([(1, 1, data)])
    assert json.loads(found.data) == event_data


@given(st.binary(max_size=80), st.lists(st.integers(0, 200), max_size=3))
def test_damage_never_raises_and_whole_messages_before_it_count(junk, flips):
    data = bytearray(WHOLE + WHOLE + junk)
    for place in flips:
        data[len(WHOLE) + place % (len(data) - len(WHOLE))] ^= 0x10
    found, _ = decode(bytes(data))
    assert found[0].payload == b'{"role": "assistant"}'


def test_the_same_as_botocore():
    eventstream = pytest.importorskip("botocore.eventstream")
    buffer = eventstream.EventStreamBuffer()
    data = WHOLE + event("contentBlockDelta", {"delta": {"text": "é"}, "p": "abc"}) + EMPTY
    buffer.add_data(data)
    theirs = [(one.headers, one.payload) for one in buffer]
    assert [(one.headers, one.payload) for one in decode(data)[0]] == theirs
