"""A conversation of 100 turns and 50,000 tokens takes at most 5 % of the JSON that was sent."""

from __future__ import annotations

import json
import random

import pytest

from hitrate.core.model import Call, Reply, Usage
from hitrate.logs.store import Store

TURNS = 100
FINAL_BYTES = 200_000
"""50,000 tokens of four bytes."""

RESPONSE_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "date": "Sun, 29 Nov 2026 22:00:00 GMT",
    "openai-processing-ms": "230",
    "openai-version": "2020-10-01",
    "x-ratelimit-limit-requests": "10000",
    "x-ratelimit-limit-tokens": "30000000",
    "x-ratelimit-remaining-requests": "9999",
    "x-ratelimit-remaining-tokens": "29950000",
    "x-ratelimit-reset-requests": "6ms",
    "x-ratelimit-reset-tokens": "40ms",
    "cf-ray": "8f1c2d3e4f5a6b7c-FRA",
    "cf-cache-status": "DYNAMIC",
    "server": "cloudflare",
}
USAGE = {
    "prompt_tokens": 12345,
    "completion_tokens": 123,
    "total_tokens": 12468,
    "prompt_tokens_details": {"cached_tokens": 12288, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0},
}


@pytest.mark.parametrize(
    ("opening", "said", "told"),
    [
        pytest.param(40_000, 600, 1_000, id="an agent: much told, little said"),
        pytest.param(2_000, 1_000, 950, id="as much said as told"),
        pytest.param(2_000, 1_880, 100, id="nearly all of it said by the model"),
        pytest.param(160_000, 200, 200, id="a long opening"),
    ],
)
def test_share_of_the_raw_size(tmp_path, opening, said, told):
    draw = random.Random(7)

    def text(size: int) -> str:
        return "".join(draw.choices("abcdefghij klmno\n", k=size))

    messages = [{"role": "system", "content": text(opening)}]
    raw = 0
    with Store.open(tmp_path / "runs.sqlite3") as store:
        run = store.begin_run("record", "openai", None, "hitrate proxy openai", "2026-11-29T12:00:00Z")
        for turn in range(TURNS):
            messages.append({"role": "user", "content": text(told)})
            body = json.dumps({"model": "gpt-5", "messages": messages, "stream": True}).encode()
            answer = {"role": "assistant", "content": text(said)}
            reply = Reply(message=answer, text=answer["content"], finish_reason="stop", response_id=f"chatcmpl-{turn}")
            store.add_calls(
                run,
                [
                    Call(
                        target="openai",
                        dialect="openai-chat",
                        body=body,
                        session="0198c1c6-6f5e-7cc3-b7b8-0a4c1e9d2f31",
                        headers={
                            "user-agent": "OpenAI/Python 2.9.0",
                            "x-session-id": "0198c1c6-6f5e-7cc3-b7b8-0a4c1e9d2f31",
                        },
                        response_headers={**RESPONSE_HEADERS, "x-request-id": f"req_{draw.getrandbits(128):032x}"},
                        usage=Usage(
                            prompt_tokens=12345,
                            cached_tokens=12288,
                            sources={
                                "prompt_tokens": "usage.prompt_tokens",
                                "cached_tokens": "usage.prompt_tokens_details.cached_tokens",
                            },
                        ),
                        raw_usage=USAGE,
                        reply=reply,
                    )
                ],
            )
            messages.append(answer)
            raw += len(body)
        assert 0.9 * FINAL_BYTES < len(body) < 1.2 * FINAL_BYTES
        assert list(store.calls(run))[-1].body == body
    size = (tmp_path / "runs.sqlite3").stat().st_size
    assert not (tmp_path / "runs.sqlite3-wal").exists()  # closing puts it into the file
    assert size <= 0.05 * raw
