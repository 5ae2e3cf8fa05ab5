"""A real llama.cpp server with a sliding-window and a recurrent model beside the model of its checkpoints."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

import pytest
from check_llamacpp import LiveServer
from checkpoint_scripts import RECORDED, SCRIPTS, USER, ChatAnswer, play, play_chats
from interpreters import recording

from hitrate.engines.llamacpp import LlamaCppEngine
from hitrate.tokens.llamacpp import generated_ids_members, prompt_token_ids, user_delimiter

pytest.importorskip("xllamacpp", reason="install the extra `engine`")


class LiveChats(LiveServer):
    def chat(self, messages: list[dict[str, str]], reply_tokens: int) -> ChatAnswer:
        body = {
            "messages": messages,
            "max_tokens": reply_tokens,
            "temperature": 0,
            **generated_ids_members(stream=False),
        }
        connection, response = self._ask("/v1/chat/completions", body)
        reply = json.loads(response.read())
        connection.close()
        engines_own = reply["__verbose"]
        answer = ChatAnswer(
            engines_own["id_slot"],
            reply["usage"]["prompt_tokens_details"]["cached_tokens"],
            engines_own["tokens"],
            reply["choices"][0]["message"]["content"],
            prompt_token_ids(self.engine.base_url, body),
        )
        self.answers.append(answer)
        return answer


def test_every_call() -> None:
    recorded: dict[str, Any] = {}
    for script in SCRIPTS:
        with LlamaCppEngine(need_tokens=0, threads=1, **script.engine_options) as engine:
            server = LiveChats(engine)
            assert user_delimiter(engine.base_url) == USER
            by = play_chats if script.chats else play
            pairs = list(by(script, server, engine.context_per_slot))
            assert [pair.model for pair in pairs] == [pair.server for pair in pairs], script.name
            recorded[script.name] = {"context_per_slot": engine.context_per_slot, "answers": server.answers}
    if recording():
        version = importlib.metadata.version("xllamacpp")
        models = "tiny-swa and tiny-recurrent"
        whole = {"engine": f"llama.cpp server of xllamacpp {version}, models {models}", "scripts": recorded}
        text = json.dumps(whole, separators=(",", ":")).replace('},"', '},\n"')
        RECORDED.write_text(text + "\n", encoding="utf-8")
