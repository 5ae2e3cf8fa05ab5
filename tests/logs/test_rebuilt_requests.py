"""Which logs hold the requests, and from which they are put together."""

from __future__ import annotations

import json

import pytest
from exports import body, langfuse, litellm_payload, litellm_spend
from log_files import chat, jsonl, read

HELLO = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
SPAN = {
    "span_id": "1",
    "name": "chat",
    "attributes": {"gen_ai.request.model": "m", "gen_ai.input.messages": json.dumps(HELLO[:1])},
}
VLLM = "INFO 11-01 12:00:00 [logger.py:41] Received request r: prompt: 'hi', params: SamplingParams(n=1)\n"
SGLANG = "[2026-11-01 12:00:00] Receive: obj=GenerateReqInput(rid='1', text='hi', input_ids=None, stream=True)\n"


@pytest.mark.parametrize(
    ("data", "format", "rebuilt"),
    [
        (jsonl(SPAN), "otel", True),
        (jsonl({"task_id": 1, "reward": 1.0, "traj": HELLO}), "tau-bench", True),
        (json.dumps({"history": HELLO, "trajectory": []}).encode(), "swe-agent", True),
        (json.dumps({"trajectory": [{"response": "Hello.", "messages": HELLO[:1]}]}).encode(), "swe-agent", True),
        (jsonl({"text": "hi", "output": "Hello."}), "rendered", True),
        (b"[1, 2, 3]\n", "token-ids", True),
        (VLLM.encode(), "vllm", True),
        (SGLANG.encode(), "sglang", True),
        (jsonl(langfuse(0)), "langfuse", True),
        (jsonl(litellm_payload(0)), "litellm", True),
        (jsonl(litellm_spend(0, proxy_server_request=body(0))), "litellm", False),
        (jsonl(chat(10, 0)), None, False),
    ],
)
def test_whether_the_log_holds_the_request(tmp_path, data, format, rebuilt):
    calls, _ = read(tmp_path, data, format)
    assert [(bool(call.body), call.rebuilt) for call in calls] == [(True, rebuilt)]
