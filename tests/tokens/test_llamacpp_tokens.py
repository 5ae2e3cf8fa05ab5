from __future__ import annotations

import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hitrate.errors import TargetError, Unreachable
from hitrate.tokens.llamacpp import (
    apply_template,
    generated_ids_members,
    model_file,
    places_of,
    slot_token_ids,
    tokenize,
    used_slot,
    user_delimiter,
)


def test_the_slot_that_answered():
    assert used_slot([{"choices": []}, {"__verbose": {"tokens": [], "id_slot": 2}}]) == 2
    assert used_slot({"__verbose": {"id_slot": 0}}) == 0
    assert used_slot([{"choices": []}]) is None


def test_members_for_whole_bodies_and_for_streams():
    assert generated_ids_members(stream=False) == {
        "verbose": True, "response_fields": ["tokens", "id_slot"], "return_tokens": True,
    }  # fmt: skip
    assert generated_ids_members(stream=True) == {
        "verbose": True, "response_fields": ["tokens", "id_slot"], "n_probs": 1,
    }  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Answers as the test says, and writes the slot file as a llama.cpp server does when asked to."""

    status = 200
    answer: bytes = b"{}"
    asked: tuple[str, dict] = ("", {})
    slot_file: bytes | None = None
    folder = Path()

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.answer)

    def do_POST(self) -> None:
        members = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked = (self.path, members)
        if self.slot_file is not None:
            (self.folder / members["filename"]).write_bytes(self.slot_file)
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, type[Handler]]]:
    handler = type("OneHandler", (Handler,), {"folder": tmp_path})
    with HTTPServer(("127.0.0.1", 0), handler) as http_server:
        thread = threading.Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http_server.server_port}/v1", handler
        http_server.shutdown()
        thread.join()


def test_llama_cpp_endpoints_lie_beside_v1(server: tuple[str, type[Handler]]):
    base_url, handler = server
    handler.answer = b'{"tokens": [1, 2]}'
    assert tokenize(base_url, "text") == [1, 2]
    assert handler.asked == ("/tokenize", {"content": "text", "add_special": True, "parse_special": True})
    handler.answer = b'{"prompt": "P"}'
    assert apply_template(base_url.removesuffix("/v1") + "/proxy/v1/", {"messages": []}) == "P"
    assert handler.asked == ("/proxy/apply-template", {"messages": []})


@pytest.mark.parametrize(
    ("user", "assistant", "end", "delimiter"),
    [
        ("<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_end|>\n", "<|im_start|>user"),
        ("<start_of_turn>user\n", "<start_of_turn>model\n", "<end_of_turn>\n", "<start_of_turn>user"),
        ("[INST] ", " [/INST] ", "", "[INST]"),
    ],
)
def test_a_user_message_is_told_by_what_the_template_puts_before_it(
    server: tuple[str, type[Handler]], user: str, assistant: str, end: str, delimiter: str
):
    base_url, handler = server
    turns = [(user, "hitrate asks"), (assistant, "hitrate answers"), (user, "hitrate asks again")]
    text = "".join(f"{opening}{said}{end}" for opening, said in turns)
    handler.answer = json.dumps({"prompt": text, "tokens": [7, 8]}).encode()
    assert user_delimiter(base_url) == [7, 8]
    assert handler.asked[1] == {"content": delimiter, "add_special": False, "parse_special": True}


@pytest.mark.parametrize("text", ["hitrate asks", "hitrate answers<end>hitrate asks again<other end>"])
def test_a_template_that_tells_no_messages_apart(server: tuple[str, type[Handler]], text: str):
    base_url, handler = server
    handler.answer = json.dumps({"prompt": text}).encode()
    assert user_delimiter(base_url) == []


def test_places_of_a_run_of_tokens():
    assert places_of([7, 8], [7, 8, 1, 7, 7, 8]) == [0, 4]
    assert places_of([], [1, 2]) == places_of([1, 2, 3], [1, 2]) == []


@pytest.mark.parametrize(
    ("answer", "path"), [(b'{"model_path": "/m.gguf"}', "/m.gguf"), (b'{"model_path": ""}', None), (b"{}", None)]
)
def test_the_file_of_a_servers_model(server: tuple[str, type[Handler]], answer: bytes, path: str | None):
    base_url, handler = server
    handler.answer = answer
    assert model_file(base_url) == path


@pytest.mark.parametrize(
    ("status", "answer", "says"),
    [
        (400, b'{"error": {"message": "bad template"}}', "/apply-template answers 400: bad template"),
        (404, b"not \xff here", "/apply-template answers 404: not \N{REPLACEMENT CHARACTER} here"),
        (501, b'{"error": "no"}', '/apply-template answers 501: {"error": "no"}'),
        (200, b"<html>", "/apply-template does not answer with JSON; is it a llama.cpp server?"),
    ],
)
def test_what_a_refusing_server_says(server: tuple[str, type[Handler]], status: int, answer: bytes, says: str):
    base_url, handler = server
    handler.status, handler.answer = status, answer
    with pytest.raises(TargetError) as caught:
        apply_template(base_url, {})
    assert caught.value.message == f"{base_url}: {says}"


def test_a_server_that_is_not_there():
    with pytest.raises(Unreachable) as caught:
        tokenize("http://127.0.0.1:1/v1", "x")
    assert caught.value.message == (
        "http://127.0.0.1:1/v1: /tokenize failed: [Errno 111] Connection refused; is it a llama.cpp server?"
    )


@pytest.mark.parametrize(
    ("values", "tokens"),
    [((-1, 1, 3, 7, 8, 9, 0), [7, 8, 9]), ((7, 8), [7, 8]), ((), [])],
    ids=["packed", "older, plain", "empty slot"],
)
def test_what_a_slot_holds(
    server: tuple[str, type[Handler]], tmp_path: Path, values: tuple[int, ...], tokens: list[int]
):
    base_url, handler = server
    handler.slot_file = struct.pack(f"<3I{len(values)}i", 0x67677371, 4, len(values), *values) + b"state"
    assert slot_token_ids(base_url, 3, tmp_path) == tokens
    assert handler.asked == ("/slots/3?action=save", {"filename": "slot-3.bin"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("slot_file", "says"),
    [
        (b"GGUF" + bytes(20), "no slot file of llama.cpp: it begins with 0x46554747"),
        (b"", "no slot file of llama.cpp: unpack requires a buffer of 12 bytes; is this the server's slot folder?"),
    ],
)
def test_a_file_that_is_no_slot(server: tuple[str, type[Handler]], tmp_path: Path, slot_file: bytes, says: str):
    base_url, handler = server
    handler.slot_file = slot_file
    with pytest.raises(TargetError) as caught:
        slot_token_ids(base_url, 0, tmp_path)
    assert caught.value.message == f"{tmp_path / 'slot-0.bin'}: {says}"
