"""Exchanges without content: what is left of them, and that nothing else is."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
import streams
from exchanges import chat, exchange, streamed
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hitrate.logs.hashed.stand_ins import expand_body, expand_call, expand_text
from hitrate.logs.store import Store
from hitrate.record.content_key import ContentKey, content_key
from hitrate.record.journal import Journal
from hitrate.record.keeper import Keeper
from hitrate.record.no_content import ContentHasher, WithoutContent
from hitrate.record.places import journal_folder
from hitrate.record.reading import call_of

KEY = ContentKey(b"k" * 32, 1.79e9)
TOOL = {
    "name": "look_up_patient",
    "description": "Finds a patient of the Northgate clinic",
    "input_schema": {
        "type": "object",
        "properties": {"surname_of_patient": {"type": "string", "enum": ["Abernathy-Jones", "Montgomery"]}},
        "required": ["surname_of_patient"],
    },
}


@pytest.fixture
def hasher():
    return ContentHasher(KEY)


def body(text: str, name: str = "surname_of_patient") -> bytes:
    """A request with the text wherever content can stand."""
    call = {"type": "tool_use", "id": "toolu_1", "name": text, "input": {name: text, "limit": 12345678, "type": text}}
    value = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32,
        "metadata": {"user_id": text},
        "tools": [{**TOOL, "description": text}],
        "system": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": text},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": text, "signature": text}, call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": text, "content": text}]},
        ],
        "stop_sequences": [text],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


# What is kept


def test_structure_words_of_the_wire_and_figures_stay(hasher):
    hashed = json.loads(hasher.hash_request(body("Alice Abernathy has an appointment")))
    assert (hashed["model"], hashed["max_tokens"]) == ("claude-sonnet-4-5", 32)
    assert hashed["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert hashed["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert [message["role"] for message in hashed["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in hashed["messages"][1]["content"]] == ["thinking", "tool_use"]
    assert hashed["tools"][0]["input_schema"]["type"] == "object"


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "Current time: 2026-10-01 14:02:07 UTC\n\n## Open tasks\n- [x] call back\n",
        'tab\there "quoted" back\\slash {"a": [1, 2.5, true], "b": null}',
        "<memory>\nLikes tea.\n</memory> h=9b1d4; id: 6f1c9e7a-0f5e-4a51-9a1c-0d4f0c5f7d55",
        "형 텐트 두 동 · naïve café — 东京 2026年7月31日",
        "\u200bzero\u200bwidth\ufeff  double\u00a0spaces",
        "1234567890123 and 42, 3,600.5, 00:12, -7 %",
        "   \n\n\t",
    ],
)
def test_stand_ins_have_the_length_and_the_white_space_at_line_ends(hasher, text):
    shown = json.loads(expand_body(hasher.hash_request(body(text))))["messages"][0]["content"]
    assert len(shown) == len(text)
    assert [len(line) for line in shown.split("\n")] == [len(line) for line in text.split("\n")]


def test_json_text_stays_json(hasher):
    text = '{"city": "Paris", "days": [1, 20, 300], "ok": true, "note": "line\\nbreak \\u00e9"}'
    shown = json.loads(json.loads(expand_body(hasher.hash_request(body(text))))["messages"][0]["content"])
    assert [type(value) for value in shown.values()] == [str, list, bool, str]


def test_equal_content_is_equal_and_other_content_is_not(hasher):
    texts = [
        "a",
        "b",
        "ab",
        "7",
        "8",
        "ok",
        "no",
        "plan",
        "todo",
        "12:03",
        "Yes",
        "YES",
        "yes",
        "x y",
        "x  y",
        "12",
        "21",
    ]
    for expand in (lambda hashed: hashed, expand_body):
        shown = [expand(ContentHasher(KEY).hash_request(body(text))) for text in texts]
        assert shown == [expand(hasher.hash_request(body(text))) for text in texts]
        assert len(set(shown)) == len(texts)


def test_another_key_gives_other_hashes():
    other = ContentHasher(ContentKey(b"o" * 32, 1.79e9))
    assert other.hash_request(body("Alice")) != ContentHasher(KEY).hash_request(body("Alice"))


def test_white_space_and_order_of_members_stay_as_sent(hasher):
    sent = b'{ "stream" : true,\n  "messages":[ {"content":"hello there","role":"user"} ],"model":"m-1" }'
    hashed = hasher.hash_request(sent).decode()
    text = json.loads(hashed)["messages"][0]["content"]
    assert hashed.replace(text, "hello there").encode() == sent


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b'{"messages": [{"role": "user", "content": "cut o',
        b'{"a": NaN, "messages": []}',
        b'{"messages": "x", "messages": "secret words"}',
        b'{"\\u0061": "secret words"}',
        b'[{"role": "user"}]',
        b"[" * 2000 + b"]" * 2000,
    ],
)
def test_odd_bodies_are_taken(hasher, sent):
    hashed = hasher.hash_request(sent)
    assert b"secret words" not in hashed and b"not json" not in hashed
    assert (hashed == b"") == (sent == b"")


# What is not


def pieces(text: str) -> set[str]:
    return {text[at : at + 8] for at in range(len(text) - 7)}


TEXTS = st.text(min_size=8, max_size=60) | st.lists(
    st.sampled_from(
        ["Alice", "plan", "2026-10-01", "14:02:07", "id:", "4711", "<b>", "secretary", "\n", "{", "8f2c1e77aa"]
    ),
    min_size=4,
).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.text(min_size=8, max_size=20))
@example("Current time: 2026-10-01 14:02:07, unix 1790000000", "patient_name")
@example("ignore:" * 4, "properties")
def test_no_eight_characters_of_content_survive(text, name):
    hasher = ContentHasher(KEY)
    hashed = hasher.hash_request(body(text, name)).decode("utf-8", "surrogatepass")
    bare = hasher.hash_request(body("", "")).decode()
    assert not [piece for piece in pieces(text) | pieces(name) if piece in hashed and piece not in bare]


def test_names_and_numbers_of_tool_inputs_and_schemas_go(hasher):
    hashed = hasher.hash_request(body("some text")).decode()
    for word in ("look_up_patient", "surname", "Abernathy", "Northgate", "12345678"):
        assert word not in hashed


def test_headers_and_queries_that_name_somebody_are_hashed(hasher):
    sent = chat(
        path="/v1/chat/completions?api-version=2026-01&user=alice-abernathy",
        request_headers={"x-session-id": "alice-monday", "user-agent": "openai-python", "anthropic-beta": "b-1"},
    )
    found = hasher.hash_exchange(sent)
    assert found.request_headers["user-agent"] == "openai-python"
    assert found.request_headers["anthropic-beta"] == "b-1"
    assert "alice" not in found.request_headers["x-session-id"]
    assert found.path.startswith("/v1/chat/completions?api-version=2026-01&user=~1:")


@pytest.mark.parametrize(
    "user",
    ["user_ab12_account_cd34_session_6f1c9e7a-0f5e", json.dumps({"device_id": "d", "session_id": "6f1c9e7a-0f5e"})],
)
def test_a_session_among_other_ids_is_still_found(hasher, user):
    request = json.dumps({"model": "m", "messages": [], "metadata": {"user_id": user}}).encode()
    plain = exchange(request, b"{}")
    call = call_of(hasher.hash_exchange(plain))
    assert call_of(plain).session == "6f1c9e7a-0f5e"
    assert call.session.startswith("~1:") and len(expand_text(call.session)) == len("6f1c9e7a-0f5e")


# Responses

WIRES = {
    "/v1/chat/completions": streams.CHAT,
    "/v1/messages": streams.MESSAGES,
}


@pytest.mark.parametrize("path", WIRES)
def test_a_stream_keeps_usage_times_and_lengths(hasher, path):
    plain = streamed(body("hello"), WIRES[path], path=path)
    hashed = hasher.hash_exchange(plain)
    assert b"Good" not in hashed.response_body
    was, now = call_of(plain), call_of(hashed)
    assert (now.usage, now.timing, now.raw_usage, now.error) == (was.usage, was.timing, was.raw_usage, was.error)
    assert now.reply.finish_reason == was.reply.finish_reason and now.reply.response_id == was.reply.response_id
    assert len(expand_call(now).reply.text) == len(was.reply.text)


def test_a_compressed_stream_keeps_its_times(hasher):
    pieces_sent = streams.CHAT
    packer = zlib.compressobj(wbits=31)
    packed = [packer.compress(piece) + packer.flush(2) for piece in pieces_sent[:-1]]
    packed.append(packer.compress(pieces_sent[-1]) + packer.flush())
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    plain = streamed(
        gzip.compress(body("hello")), packed, request_headers={"content-encoding": "gzip"}, response_headers=headers
    )
    was, now = call_of(plain), call_of(hasher.hash_exchange(plain))
    assert (now.usage, now.timing) == (was.usage, was.timing)
    assert json.loads(now.body)["model"] == "claude-sonnet-4-5"


def test_a_message_of_the_stream_of_aws_stays_one(hasher):
    sent = streams.aws("contentBlockDelta", {"delta": {"text": "Good day."}, "contentBlockIndex": 0})
    hashed = hasher.hash_exchange(
        streamed(b"{}", [sent], response_headers={"content-type": "application/vnd.amazon.eventstream"})
    ).response_body
    assert hashed == streams.aws("contentBlockDelta", {"delta": {"text": "~1:l9;"}, "contentBlockIndex": 0})


def test_what_an_upstream_says_of_an_error_goes(hasher):
    reply = json.dumps(
        {"error": {"type": "invalid_request_error", "code": 7, "message": "bad word: abernathy"}}
    ).encode()
    found = json.loads(hasher.hash_exchange(exchange(b"{}", reply, status=400)).response_body)
    assert found == {"error": {"type": "invalid_request_error", "code": 7, "message": "[not kept]"}}


def test_a_reply_hashes_like_the_message_it_becomes(hasher):
    reply = json.loads(hasher.hash_exchange(chat()).response_body)["choices"][0]["message"]["content"]
    request = json.dumps({"messages": [{"role": "assistant", "content": "Yes."}]}).encode()
    assert json.loads(hasher.hash_request(request))["messages"][0]["content"] == reply


class Kept:
    """A sink that keeps what it is given."""

    def __init__(self):
        self.exchanges = []

    def record(self, exchange):
        self.exchanges.append(exchange)
        return True


def test_a_sink_is_given_what_was_hashed(hasher):
    kept = Kept()
    assert WithoutContent(kept, hasher).record(chat()) is True
    assert kept.exchanges == [ContentHasher(KEY).hash_exchange(chat())]


def test_what_cannot_be_hashed_is_recorded_without_anything_of_it(hasher, monkeypatch):
    monkeypatch.setattr(hasher, "hash_exchange", lambda exchange: 1 / 0)
    kept = Kept()
    assert WithoutContent(kept, hasher).record(chat(path="/v1/chat/completions?user=alice")) is True
    (found,) = kept.exchanges
    assert b"question" not in found.request_body and b"Yes." not in found.response_body
    assert (found.path, found.status, found.at, call_of(found).status) == (found.path, 200, chat().at, 200)
    assert "alice" not in found.path


# The key


def test_the_key_is_made_once_for_the_user_alone(tmp_path):
    store = tmp_path / "data" / "runs.sqlite3"
    key = content_key(store)
    file = tmp_path / "data" / "runs.sqlite3.content-key"
    assert content_key(store) == key and len(key.secret) == 32
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_damaged_key_is_said(tmp_path):
    (tmp_path / "runs.sqlite3.content-key").write_text("zz")
    with pytest.raises(Exception, match="is damaged"):
        content_key(tmp_path / "runs.sqlite3")


# In the store


def test_no_file_of_a_recording_holds_content(tmp_path):
    path = tmp_path / "runs.sqlite3"
    with Store.open(path) as store:
        run = store.begin_run("record", "practice", None, "hitrate proxy --no-content", "2026-11-29", content="hashed")
        folder = journal_folder(path, run)
        journal = Journal(folder)
        sink = WithoutContent(journal, ContentHasher(content_key(path)))
        for number in range(3):
            request = body(f"Alice Abernathy asks for the {number}th time about her pancreas")
            assert sink.record(streamed(request, streams.MESSAGES, path="/v1/messages", error=None))
        written = [file.read_bytes() for file in folder.iterdir()]
        journal.close()
        keeper = Keeper(folder, store, run)
        assert keeper.drain() == 3
        keeper.close()
        calls = list(store.calls(run))
    assert [call.usage.cached_tokens for call in calls] == [32, 32, 32]
    assert [json.loads(expand_call(call).body)["model"] for call in calls] == ["claude-sonnet-4-5"] * 3
    written += [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    for word in (b"Abernathy", b"pancreas", b"Good ", b"patient"):
        assert not any(word in data for data in written)
