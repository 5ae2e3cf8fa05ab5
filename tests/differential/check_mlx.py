"""MLX-LM beside the model of its stored prompts: its `LRUPromptCache` alone, and its server with the tiny model."""

from __future__ import annotations

import http.client
import json
from typing import Any

from interpreters import ask, python_of, recording
from mlx_scripts import (
    RECORDED_SERVER,
    RECORDED_STORE,
    SCRIPTS,
    STORE_RUNS,
    ServerAnswer,
    play,
    store_answers,
    store_operations,
)

from hitrate.engines.external import ExternalEngine, free_port
from hitrate.engines.mlx import mlx_command

ENGINE = "mlx-lm==0.32.2"
NEEDED = f"{ENGINE} with 'mlx[cpu]'"
LONG = 3000
"""Tokens of a held call: many times more than it is given time for."""


def test_every_find_in_the_store() -> None:
    python = python_of("MLX_PYTHON", NEEDED)
    asked: list[Any] = []
    for run in STORE_RUNS:
        asked += [{"sequences": run.sequences, "trims": run.trims}, *store_operations(run)]
    left = iter(ask(python, "mlx_prompt_cache.py", asked))
    recorded: dict[str, list[int]] = {}
    for run in STORE_RUNS:
        operations = store_operations(run)
        theirs = [next(left) for _ in operations]
        recorded[str(run.seed)] = theirs
        # Asked for exactly what is stored, it gives that, which its server then cannot serve.
        capped = [
            min(answer, len(operation[1]) - 1) if operation[0] == "fetch" else answer
            for answer, operation in zip(theirs, operations, strict=True)
        ]
        assert capped == store_answers(run, operations), run
    if recording():
        text = json.dumps({"engine": f"{ENGINE}, LRUPromptCache", "runs": recorded}, separators=(",", ":"))
        RECORDED_STORE.write_text(text + "\n", encoding="utf-8")


class LiveServer:
    def __init__(self, engine: ExternalEngine) -> None:
        self.engine = engine
        self.answers: list[ServerAnswer] = []
        self._held: http.client.HTTPConnection | None = None

    def _post(self, prompt: str | list[dict[str, str]], **members: Any) -> tuple[http.client.HTTPConnection, Any]:
        chat = isinstance(prompt, list)
        body = {"messages" if chat else "prompt": prompt, "temperature": 0, **members}
        connection = http.client.HTTPConnection("127.0.0.1", self.engine.command.port, timeout=60)
        path = "/v1/chat/completions" if chat else "/v1/completions"
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return connection, connection.getresponse()

    def ask(self, prompt: str | list[dict[str, str]], max_tokens: int) -> ServerAnswer:
        connection, response = self._post(prompt, max_tokens=max_tokens)
        reply = json.loads(response.read())
        connection.close()
        usage, choice = reply["usage"], reply["choices"][0]
        text = choice["text"] if "text" in choice else choice["message"]["content"]
        answer = ServerAnswer(usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"], text)
        self.answers.append(answer)
        return answer

    def hold(self, prompt: str | list[dict[str, str]]) -> None:
        self._held, response = self._post(prompt, max_tokens=LONG, stream=True)
        for line in response:
            if b'"content"' in line or b'"text"' in line:
                return
        raise AssertionError("the held call gave no token")

    def release(self) -> None:
        assert self._held is not None
        self._held.close()


def test_every_call_of_the_server() -> None:
    python = python_of("MLX_PYTHON", NEEDED)
    recorded: dict[str, list[ServerAnswer]] = {}
    for script in SCRIPTS:
        command = mlx_command(model=None, port=free_port(), sequences=script.sequences, python=python)
        with ExternalEngine(command) as engine:
            server = LiveServer(engine)
            pairs = list(play(script, server))
        wrong = [(number, pair) for number, pair in enumerate(pairs) if pair.model != pair.server]
        assert wrong == [], script.name
        recorded[script.name] = server.answers
    if recording():
        whole = {"engine": f"{ENGINE}, mlx_lm.server on the CPU, tiny model", "scripts": recorded}
        text = json.dumps(whole, separators=(",", ":")).replace(']],"', ']],\n"')
        RECORDED_SERVER.write_text(text + "\n", encoding="utf-8")
