"""The token ids that a llama.cpp server really works with, for predictions that are exact.

Prompt: `prompt_token_ids` gives the ids that /v1/chat/completions makes of the same body, by the server's own template
and tokeniser. Reply: add `generated_ids_members(stream=...)` to the request, and `Reply.token_ids` has them. A slot:
`slot_token_ids` reads what a slot holds, which is what the next prompt is matched with. Every function here is an
extra request: keep them off the path that is timed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hitrate.errors import TargetError
from hitrate.tokens.server import EngineServer

ENGINE = "llama.cpp"

_SLOT_FILE_MAGIC = 0x67677371
"""LLAMA_STATE_SEQ_MAGIC, "ggsq", in llama.cpp's include/llama.h."""
_PACKED_MARK = -1
"""Newer servers write this, a version, the number of tokens, the tokens and a list of media in place of the tokens."""


def apply_template(base_url: str, body: Mapping[str, Any], *, key: str | None = None) -> str:
    """The prompt text that the server renders from a chat-completions body."""
    return str(EngineServer(base_url, ENGINE, key).ask("POST", "/apply-template", body)["prompt"])


def tokenize(
    base_url: str, text: str, *, add_special: bool = True, parse_special: bool = True, key: str | None = None
) -> list[int]:
    """Token ids of a text. As for a prompt: with the model's begin token if it has one, control tokens recognised."""
    members = {"content": text, "add_special": add_special, "parse_special": parse_special}
    return list(EngineServer(base_url, ENGINE, key).ask("POST", "/tokenize", members)["tokens"])


def prompt_token_ids(base_url: str, body: Mapping[str, Any], *, key: str | None = None) -> list[int]:
    """What `usage.prompt_tokens` of the same body counts."""
    return tokenize(base_url, apply_template(base_url, body, key=key), key=key)


def generated_ids_members(*, stream: bool) -> dict[str, Any]:
    """What to add to a chat-completions body so that the reply carries the generated ids.

    Whole bodies have `__verbose.tokens`; `response_fields` keeps the rest of `__verbose`, some 10 kB with the prompt,
    out. Streams leave that list empty, but `n_probs` puts each token's id beside its text (`logprobs` would too, but
    is refused together with tools). It costs a softmax over the vocabulary and some 200 bytes for each token.
    """
    members: dict[str, Any] = {"verbose": True, "response_fields": ["tokens", "id_slot"]}
    return members | ({"n_probs": 1} if stream else {"return_tokens": True})


def used_slot(reply: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> int | None:
    """The slot that answered, if the request had `generated_ids_members`."""
    for chunk in [reply] if isinstance(reply, Mapping) else reply:
        slot = (chunk.get("__verbose") or {}).get("id_slot")
        if slot is not None:
            return int(slot)
    return None


def slot_token_ids(base_url: str, slot: int, slot_folder: Path) -> list[int]:
    """Everything a slot holds: prompt and reply, without the reply's last token, which was never computed on.

    The server writes the slot to a file in `slot_folder` (its --slot-save-path), state and all: a few milliseconds and
    2 kB a token for the tiny model, 45 kB a token for a model of 135 million parameters. Waits until the slot is idle.
    """
    name = f"slot-{slot}.bin"
    path = slot_folder / name
    EngineServer(base_url, ENGINE).ask("POST", f"/slots/{slot}?action=save", {"filename": name})
    try:
        with path.open("rb") as file:
            magic, _version, count = struct.unpack("<3I", file.read(12))
            values = struct.unpack(f"<{count}i", file.read(4 * count))
    except (OSError, struct.error) as error:
        raise TargetError(f"{path}: no slot file of llama.cpp: {error}; is this the server's slot folder?") from error
    finally:
        path.unlink(missing_ok=True)
    if magic != _SLOT_FILE_MAGIC:
        raise TargetError(f"{path}: no slot file of llama.cpp: it begins with {magic:#x}")
    if values[:1] != (_PACKED_MARK,):
        return list(values)
    _mark, _packing_version, length, *packed = values
    return packed[:length]


def user_delimiter(base_url: str, *, key: str | None = None) -> list[int]:
    """The tokens by which the server's template opens a user message; empty where they cannot be told apart.

    It is what stands between an answer and the user message behind it, less what ends a message. llama.cpp finds it by
    its own comparison of rendered messages, and makes checkpoints there.
    """
    said = ("hitrate asks", "hitrate answers", "hitrate asks again")
    roles = ("user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    text = apply_template(base_url, {"messages": messages, "add_generation_prompt": False}, key=key)
    _, _, behind = text.partition(said[1])
    between, found, end = behind.partition(said[2])
    delimiter = between.removeprefix(end).strip() if found and between.startswith(end) else ""
    return tokenize(base_url, delimiter, add_special=False, key=key) if delimiter else []


def places_of(part: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """Where `part` starts in `tokens`; nowhere when it is empty."""
    length = len(part)
    wanted = list(part)
    return [at for at in range(len(tokens) - length + 1) if wanted and list(tokens[at : at + length]) == wanted]


def model_file(base_url: str, *, key: str | None = None) -> str | None:
    """The path of the model, as the server names it on its own machine; None where it tells none."""
    told = EngineServer(base_url, ENGINE, key).ask("GET", "/props").get("model_path")
    return told if isinstance(told, str) and told else None


def slot_sizes(base_url: str, *, key: str | None = None) -> dict[str, int]:
    """How many slots the server has and how many tokens each can hold, named as `caches.slots.SlotCache` takes them."""
    slots = EngineServer(base_url, ENGINE, key).ask("GET", "/slots")
    return {"slots": len(slots), "context_per_slot": int(slots[0]["n_ctx"])}
