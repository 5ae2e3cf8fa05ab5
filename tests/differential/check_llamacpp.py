"""A real llama.cpp server beside the slot model: the same slot and the same cached tokens on every call."""

from __future__ import annotations

import http.client
import importlib.metadata
import json
from typing import Any

import pytest
from interpreters import recording
from llamacpp_scripts import RECORDED, SCRIPTS, Answer, Held, play

from hitrate.engines.llamacpp import LlamaCppEngine
from hitrate.tokens.llamacpp import slot_token_ids

pytest.importorskip("xllamacpp", reason="install the extra `engine`")
LONG = 3000
"""Tokens of a held call: many times more than it is given time for."""


class LiveServer:
    def __init__(self, engine: LlamaCppEngine) -> None:
        self.engine = engine
        self.answers: list[tuple[Any, ...]] = []
        self._held: list[tuple[http.client.HTTPConnection, int, list[int]]] = []

    def _ask(self, path: str, body: dict[str, Any] | None) -> tuple[http.client.HTTPConnection, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.engine.port, timeout=60)
        verb, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        connection.request(verb, path, data, {"Content-Type": "application/json"})
        return connection, connection.getresponse()

    def _busy_slots(self) -> set[int]:
        connection, response = self._ask("/slots", None)
        busy = {slot["id"] for slot in json.loads(response.read()) if slot["is_processing"]}
        connection.close()
        return busy

    def complete(self, tokens: list[int], reply_tokens: int, **request: Any) -> Answer:
        body = {"prompt": tokens, "n_predict": reply_tokens, "return_tokens": True, "temperature": 0, **request}
        connection, response = self._ask("/completion", body)
        reply = json.loads(response.read())
        connection.close()
        answer = Answer(reply["id_slot"], reply["timings"]["cache_n"], reply["tokens"])
        self.answers.append(answer)
        return answer

    def hold(self, tokens: list[int]) -> None:
        body = {"prompt": tokens, "n_predict": LONG, "stream": True, "temperature": 0}
        connection, response = self._ask("/completion", body)
        first = response.readline()
        assert first.startswith(b"data: "), first
        # The chunks of a stream do not name the slot.
        (slot,) = self._busy_slots() - {one for _, one, _ in self._held}
        self._held.append((connection, slot, tokens))

    def release(self) -> Held:
        connection, slot, tokens = self._held.pop(0)
        connection.close()
        kept = slot_token_ids(self.engine.base_url, slot, self.engine.slot_folder)
        assert kept[: len(tokens)] == tokens and len(kept) < len(tokens) + LONG - 1, "the held call ended by itself"
        answer = Held(slot, kept[len(tokens) :])
        self.answers.append(answer)
        return answer


def test_every_call() -> None:
    recorded: dict[str, Any] = {}
    for script in SCRIPTS:
        with LlamaCppEngine(need_tokens=0, threads=1, **script.server) as engine:
            server = LiveServer(engine)
            pairs = list(play(script, server, engine.context_per_slot))
            assert [pair.model for pair in pairs] == [pair.server for pair in pairs], script.name
            recorded[script.name] = {"context_per_slot": engine.context_per_slot, "answers": server.answers}
    if recording():
        version = importlib.metadata.version("xllamacpp")
        whole = {"engine": f"llama.cpp server of xllamacpp {version}, tiny model", "scripts": recorded}
        text = json.dumps(whole, separators=(",", ":")).replace('},"', '},\n"')
        RECORDED.write_text(text + "\n", encoding="utf-8")
