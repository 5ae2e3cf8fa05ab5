"""Files about requests that hold no prompts, and no cached tokens either: why nothing can be said of them.

Each is told by its start. The reason is one line, and says where the file belongs, if it belongs anywhere.
"""

from __future__ import annotations

from typing import Any

from hitrate.logs.lines import first_objects, opening
from hitrate.logs.tables import first_rows

_REPLAY = "replay it with hitrate simulate"
_NO_PROMPTS = "the prompts themselves are not in it, so there is nothing to compare"

_BLOCKS = ("hash_ids", "block_hashes", "block_hash_ids")

_RAGPULSE_LENGTHS = ("sys_prompt_id", "passage_id", "history_id", "user_input_id", "web_search_id")

_ENGINE_TIMES = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")

_COUNTS_IN_TABLES = (
    "contexttokens",
    "context_tokens",
    "input_tokens",
    "prompt_tokens",
    "request tokens",
    "prompt tokens",
)


def reason_against(head: bytes) -> str | None:
    """Why a file that starts like this cannot be read; None where it may be a log."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith((b"{", b"[")):
        return None
    found = first_rows(start)
    return next(filter(None, map(_reason, found)), None) or _messages_alone(found)


def _reason(value: dict[str, Any]) -> str | None:
    if any(name in value for name in _BLOCKS):
        session = "session_id" in value and isinstance(value.get("hash_ids"), dict)
        what = "ids of the parts of a RAG prompt" if session else "hashes of prompt blocks"
        return f"this trace has {what}: {_NO_PROMPTS}; {_REPLAY}"
    if "block_size" in value and "hash_id_scope" in value:
        return f"this trace has hashes of prompt blocks by session: {_NO_PROMPTS}; {_REPLAY}"
    if "token_length" in value and any(name in value for name in _RAGPULSE_LENGTHS):
        return f"this file has the lengths of the parts of a trace: {_NO_PROMPTS}; give the trace that uses it"
    if sum(name in value for name in _ENGINE_TIMES) > 1 and "prompt" not in value:
        return (
            "this file has lengths and times of requests, and neither prompts nor cached tokens, "
            "so no hit rate can be stated"
        )
    return None


def _messages_alone(found: list[dict[str, Any]]) -> str | None:
    """Of logs that call the newest message `input`: one input is the answer that came before it."""
    answers: dict[str, set[str]] = {}
    for value in found:
        said, answer = value.get("input"), value.get("output")
        if not isinstance(said, str) or "session_id" not in value or "model" in value:
            continue
        known = answers.setdefault(str(value["session_id"]), set())
        if said in known:
            return (
                "`input` is the newest message and not the prompt (one is the answer before it): what was sent with "
                "it is not in this log, so no prefix can be compared"
            )
        if isinstance(answer, str) and answer:
            known.add(answer)
    return None


def reason_against_table(head: bytes) -> str | None:
    """The same of a table (CSV), once no format has recognised it."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    names = list(next(iter(first_rows(start)), {})) if not start.startswith((b"{", b"[")) else []
    if len(names) < 2 or not all(name and name.replace("_", " ").replace(" ", "").isalnum() for name in names):
        return None
    if not any(name.lower() in _COUNTS_IN_TABLES for name in names):
        return None
    return (
        f"a table of token counts ({', '.join(names[:6])}): it says nothing of which prompts begin alike and has no "
        "cached tokens, so no hit rate can be stated"
    )


def document_members(head: bytes) -> list[str]:
    """The names at the top of a JSON document over several lines; [] for anything else."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = start.split(b"\n", 1)[0].rstrip()
    if not start.startswith(b"{") or first.endswith(b"}") or first_objects(head):
        return []
    return list(opening(start))
