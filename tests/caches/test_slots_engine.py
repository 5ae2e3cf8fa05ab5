"""The slot model against a real llama.cpp server: the same number on every call, and the same slot."""

from __future__ import annotations

import http.client
import json
import random
from typing import Any

import pytest
from llamacpp_scripts import MIB, TINY_MODEL, random_prompt

from hitrate.caches.slots import SlotCache
from hitrate.engines.llamacpp import LlamaCppEngine
from hitrate.tokens.llamacpp import generated_ids_members, prompt_token_ids

pytestmark = pytest.mark.engine
pytest.importorskip("xllamacpp", reason="needs the extra `engine`")


def post(engine: LlamaCppEngine, path: str, body: dict[str, Any]) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    reply: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return reply


class Pair:
    """A server and the model of it. Every call goes to both."""

    def __init__(self, engine: LlamaCppEngine, **parameters: Any) -> None:
        self.engine = engine
        self.model = SlotCache(engine.slots, engine.context_per_slot, **parameters)
        self.calls: list[tuple[tuple[int, int], tuple[int, int]]] = []
        """(slot, cached tokens) of the server and of the model."""

    def complete(self, tokens: list[int], reply_tokens: int = 4, **request: Any) -> list[int]:
        body = {"prompt": tokens, "n_predict": reply_tokens, "return_tokens": True, "temperature": 0, **request}
        lease = self.model.begin(tokens, **request)
        reply = post(self.engine, "/completion", body)
        return self._end(lease, reply["tokens"], (reply["id_slot"], reply["timings"]["cache_n"]))

    def chat(self, messages: list[dict[str, str]]) -> str:
        body = {"messages": messages, "max_tokens": 6, "temperature": 0, **generated_ids_members(stream=False)}
        lease = self.model.begin(prompt_token_ids(self.engine.base_url, body))
        reply = post(self.engine, "/v1/chat/completions", body)
        usage = reply["usage"]
        assert usage["prompt_tokens"] == lease.prompt_tokens  # type: ignore[union-attr]
        server = (reply["__verbose"]["id_slot"], usage["prompt_tokens_details"]["cached_tokens"])
        self._end(lease, reply["__verbose"]["tokens"], server)
        text: str = reply["choices"][0]["message"]["content"]
        return text

    def _end(self, lease: Any, generated: list[int], server: tuple[int, int]) -> list[int]:
        self.model.finish(lease, generated)
        self.model.check_integrity()
        self.calls.append((server, (lease.slot, lease.cached_tokens)))
        return generated

    def agree(self) -> bool:
        return [server for server, _ in self.calls] == [model for _, model in self.calls]

    @property
    def served(self) -> list[int]:
        return [cached_tokens for (_, cached_tokens), _ in self.calls]


def small_engine(slots: int = 4, **options: Any) -> LlamaCppEngine:
    return LlamaCppEngine(slots=slots, context=options.pop("context", 256 * slots), need_tokens=0, threads=1, **options)


def question(number: int) -> dict[str, str]:
    return {"role": "user", "content": f"Question {number}: how long does order {number * 7919} take?"}


def test_a_growing_session_an_edited_one_and_a_repeated_prompt() -> None:
    with small_engine(context=4096) as engine:
        pair = Pair(engine)
        messages = [{"role": "system", "content": "You answer questions about orders. " * 5}]
        for turn in range(10):
            messages.append(question(turn))
            messages.append({"role": "assistant", "content": pair.chat(messages)})
        assert pair.agree() and pair.served == sorted(pair.served) and pair.served[1] > 0
        edited = [dict(message) for message in messages[:-1]]
        edited[7]["content"] += " Please hurry."
        for again in (edited, edited, messages[:-1], edited):
            pair.chat(again)
        assert pair.agree()


@pytest.mark.parametrize(("host_cache_mib", "is_warm"), [(8192, True), (0, False)])
def test_five_sessions_in_turn_on_four_slots(host_cache_mib: int, is_warm: bool) -> None:
    with small_engine(context=2048, host_cache_mib=host_cache_mib) as engine:
        pair = Pair(engine, host_cache_bytes=host_cache_mib * MIB, **TINY_MODEL)
        sessions = [[{"role": "system", "content": f"{name} " * 30}] for name in ("Ada", "Bo", "Cy", "Di", "Ed")]
        for turn in range(4):
            for session in sessions:
                session.append(question(turn))
                session.append({"role": "assistant", "content": pair.chat(session)})
        assert pair.agree()
        assert (min(pair.served[5:]) > 30) is is_warm


@pytest.mark.parametrize(
    ("server", "model"),
    [
        ({"slots": 4}, {}),
        ({"slots": 2, "host_cache_mib": 1}, {"host_cache_bytes": MIB}),
        ({"slots": 3, "host_cache_mib": 0, "cache_reuse": 8}, {"host_cache_bytes": 0, "cache_reuse": 8}),
        ({"slots": 4, "host_cache_mib": -1}, {"host_cache_bytes": None}),
        ({"slots": 4, "unified": True, "context": 256}, {"kv_unified": True}),
        (
            {"slots": 3, "unified": True, "context": 256, "host_cache_mib": 0, "slot_similarity": 0.5},
            {"kv_unified": True, "host_cache_bytes": 0, "slot_prompt_similarity": 0.5},
        ),
    ],
    ids=["default", "1 MiB store", "no store, reuse 8", "store by tokens", "one pool", "one pool, no store"],
)
def test_a_hundred_random_calls(server: dict[str, Any], model: dict[str, Any]) -> None:
    randomness = random.Random(11)
    with small_engine(**server) as engine:
        pair = Pair(engine, **TINY_MODEL, **model)
        seen: list[list[int]] = []
        for _ in range(100):
            tokens = random_prompt(randomness, seen)
            request: dict[str, Any] = {}
            if randomness.random() < 0.1:
                request["id_slot"] = randomness.randrange(4)
            if randomness.random() < 0.1:
                request["cache_prompt"] = False
            seen.append(tokens + pair.complete(tokens, randomness.choice([0, 1, 2, 9]), **request))
        assert pair.agree()
        assert sum(cached_tokens > 0 for cached_tokens in pair.served) > 40


def test_a_busy_slot_is_passed_over() -> None:
    with small_engine(context=16384) as engine:
        pair = Pair(engine)
        opening = list(range(300, 340))
        pair.complete(opening)
        connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
        # Far more tokens than the second call leaves time for; closing the connection ends it.
        body = {"prompt": opening, "n_predict": 4000, "stream": True, "temperature": 0}
        busy = pair.model.begin(opening)
        connection.request("POST", "/completion", json.dumps(body))
        assert connection.getresponse().readline().startswith(b"data: ")
        pair.complete([*opening, 1], 1)
        connection.close()
        assert busy is not None and pair.agree()
        assert pair.calls[1][0] == ((busy.slot - 1) % 4, 0)  # A busy slot's tokens serve nobody else.
