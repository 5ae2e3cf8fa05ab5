"""llama.cpp's own completion wire, `POST /completion`: a text or token ids as the prompt, no messages.

https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md. A reply that comes back as part of the next
prompt is text of that prompt like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hitrate.core.prompt import CanonicalPrompt
from hitrate.serve.practice.framing import Event
from hitrate.serve.practice.reading import decode_object, prompt_of, texts
from hitrate.serve.practice.vendors import Vendor
from hitrate.serve.practice.wire import Answer, PracticeRequest, Refused, Reply, Wire
from hitrate.targets.dialects.llamacpp_completion import LlamaCppCompletion

_encode = msgspec.json.encode
_STOP_TYPES = {"stop": "eos", "length": "limit", "tool": "eos"}
_canonical = LlamaCppCompletion().canonical


class LlamaCpp(Wire):
    name = "llamacpp-completion"
    path = "/completion"

    def read(self, body: bytes, place: Mapping[str, str]) -> PracticeRequest:
        sent = decode_object(body)
        limit = sent.get("n_predict")
        if limit is not None and (type(limit) is not int or limit < -1):
            raise Refused(400, f"'n_predict' is {limit!r}; it has to be a whole number, -1 for no limit")
        model = sent.get("model")
        return PracticeRequest(
            model=model if isinstance(model, str) else "",
            prompt=prompt_of(_canonical, body),
            sent=sent,
            stream=sent.get("stream") is True,
            include_usage=True,
            max_tokens=limit if limit is not None and limit > 0 else None,
            stop=texts(sent, "stop"),
        )

    def sent_back(self, reply: Reply) -> CanonicalPrompt:
        return _canonical(_encode({"prompt": reply.text}))

    def body(self, answer: Answer) -> bytes:
        return _encode({"content": answer.reply.text, **_ended(answer)})

    def pieces(self, answer: Answer) -> Iterator[list[Event]]:
        for piece in answer.reply.pieces:
            yield [Event(_encode({"content": piece.text, "stop": False, "id_slot": 0}))]

    def closing(self, answer: Answer) -> list[Event]:
        return [Event(_encode({"content": "", **_ended(answer)}))]

    def error(self, refused: Refused) -> bytes:
        error = {"code": refused.status, "message": refused.message, "type": refused.kind, **refused.members}
        return _encode({"error": error})


def make(vendor: Vendor | None) -> Wire:
    """The same in every vendor's manner."""
    return LlamaCpp()


def _ended(answer: Answer) -> dict[str, Any]:
    generated = len(answer.reply.pieces)
    ended: dict[str, Any] = {
        "stop": True,
        "stop_type": _STOP_TYPES[answer.reply.finish],
        "model": answer.model,
        "tokens_predicted": generated,
        "tokens_evaluated": answer.prompt_tokens,
        # What the slot holds afterwards, not what was served from it.
        "tokens_cached": answer.prompt_tokens + generated - 1,
    }
    if answer.usage and answer.details == "full":
        ended["timings"] = {
            "cache_n": answer.cached_tokens,
            "prompt_n": answer.prompt_tokens - answer.cached_tokens,
            "prompt_ms": 1000 * answer.prefill_s,
            "predicted_n": generated,
            "predicted_ms": 1000 * answer.decode_s,
        }
    return ended
