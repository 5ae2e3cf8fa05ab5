"""Which requests are calls of a model, and on which wire: by the path first, then by the shape of the body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from hitrate.core.wires import RENDERED, wire_named
from hitrate.logs.shapes import guess_dialect


class Endpoint(NamedTuple):
    """`dialect` is None where the body has to say. `model` is named in the path on some wires."""

    dialect: str | None
    model: str | None = None


_BY_PATH = (
    (r"/chat/completions", "openai-chat"),
    (r"/responses", "openai-responses"),
    (r"/messages", "anthropic-messages"),
    (r"/completions?", RENDERED),
    (r"/models/(?P<model>[^/]+):(?:streamG|g)enerateContent", "gemini-generate"),
    (r"/models/(?P<model>[^/]+):(?:streamR|r)awPredict", "anthropic-messages"),
    (r"/model/(?P<model>[^/]+)/converse(?:-stream)?", "bedrock-converse"),
    (r"/model/(?P<model>[^/]+)/invoke(?:-with-response-stream)?", None),
)
"""Ends of paths. Anthropic's models on Vertex AI and on Bedrock are asked with the body of Messages."""

_KNOWN = [(re.compile(f"(?:.*)(?:{pattern})/?"), dialect) for pattern, dialect in _BY_PATH]

_LONGEST_KNOWN = 512
"""Characters of a path that is kept in mind."""

_OTHERS = re.compile(
    r"(count_?tokens|input_tokens|tokenize|embed|rerank|score|moderation|classif|audio|images?|speech|transcri|files?"
    r"|batch|fine_tun|uploads|apply-template|render|realtime|infill|pooling|vector_stores|assistants|threads"
    r"|cachedContents|slots|lora|/cancel$|/compact$)",
    re.IGNORECASE,
)
"""Paths of what takes a prompt, or something of its shape, and answers without a model's reply."""


def endpoint_of(method: str, path: str) -> Endpoint | None:
    """None for a request that is no call of a model, whatever its body."""
    if method != "POST":
        return None
    place = path.partition("?")[0]
    return _endpoint_at(place) if len(place) <= _LONGEST_KNOWN else _endpoint_at.__wrapped__(place)


@lru_cache(maxsize=256)
def _endpoint_at(place: str) -> Endpoint | None:
    place = unquote(place)
    for pattern, dialect in _KNOWN:
        found = pattern.fullmatch(place)
        if found:
            return Endpoint(dialect, found.groupdict().get("model"))
    return None if _OTHERS.search(place) else Endpoint(None)


def wire_of(endpoint: Endpoint, body: Mapping[str, Any] | None) -> str | None:
    """The wire of a call; None where neither the path nor the body names one, and it counts as no call.

    A path that is not known makes no wire of a body with `input` alone, which many services take.
    """
    if endpoint.dialect is not None:
        return endpoint.dialect
    guessed = guess_dialect(body)
    if guessed is None or (endpoint.model is None and guessed == "openai-responses"):
        return None
    return wire_named(guessed)
