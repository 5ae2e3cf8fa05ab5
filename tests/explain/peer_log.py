"""Logs of the peers' scenarios, with the token counts that a cache as the vendors describe it would report.

The cache here is a few lines over the text as sent, so that it shares nothing with what it is held against: one that is
automatic, in steps of 128 tokens from 1,024 on, and one that is read and written at markers. Four characters are a
token.
"""

from __future__ import annotations

import json
from itertools import pairwise
from os.path import commonprefix
from pathlib import Path
from typing import Any

from peer_bodies import Body

from hitrate.core.cost import Quote
from hitrate.core.findings import ExplainReport
from hitrate.core.money import Price
from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply

START = 1_793_000_000.0
STEP_TOKENS, LEAST_TOKENS, LEAST_BY_MODEL = 128, 1024, {"claude-opus-4-5": 4096}
LOOK_BACK = 20
KEPT_S = 300.0
PRICE = Price(
    input_usd_per_mtok=3, cached_usd_per_mtok=0.3, written_usd_per_mtok=3.75, output_usd_per_mtok=15, source="test"
)


class Exchanges:
    """The lines of a log, written request by request."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._at = START
        self._kept: list[tuple[float, str, str]] = []

    def ask(self, *bodies: Body, after_s: float = 20.0, status: int = 200, **more: Any) -> Exchanges:
        """Requests, each so long after the one before; with `more` beside them. A refused one is not cached."""
        for body in bodies:
            self._at += after_s
            response: Body = {"status": status}
            if status == 200:
                response["usage"] = self._claude_usage(body) if "max_tokens" in body else self._chat_usage(body)
            self.lines.append(json.dumps({"at": self._at, "body": body, "response": response, **more}))
        return self

    def _chat_usage(self, body: Body) -> Body:
        text = "".join(piece for piece, _ in pieces(body))
        shared = max((_agreeing(text, kept) for kept in self._alive(body["model"])), default=0)
        cached = shared // 4 // STEP_TOKENS * STEP_TOKENS
        self._keep(text, body["model"])
        return {
            "prompt_tokens": len(text) // 4,
            "completion_tokens": 40,
            "prompt_tokens_details": {"cached_tokens": cached if cached >= LEAST_TOKENS else 0},
        }

    def _claude_usage(self, body: Body) -> Body:
        """An entry is found up to 20 blocks in front of a marker. Thinking and the tool choice are part of the key of
        what stands in the messages."""
        listed = pieces(body)
        head = len(body["tools"]) + len(body.get("system", ()))
        marks = [place + 1 for place, (_, marked) in enumerate(listed) if marked]
        settings = json.dumps([body.get("thinking"), body.get("tool_choice")])

        def entry(blocks: int) -> tuple[str, str]:
            key = body["model"] + (settings if blocks > head else "")
            return "".join(piece for piece, _ in listed[:blocks]), key

        def is_kept(blocks: int) -> bool:
            text, key = entry(blocks)
            return len(text) // 4 >= LEAST_BY_MODEL.get(body["model"], LEAST_TOKENS) and text in self._alive(key)

        found = max(
            (at for mark in marks for at in range(max(0, mark - LOOK_BACK), mark + 1) if is_kept(at)), default=0
        )
        least = LEAST_BY_MODEL.get(body["model"], LEAST_TOKENS)
        large = [mark for mark in marks if len(entry(mark)[0]) // 4 >= least]
        for mark in large:
            self._keep(*entry(mark))
        tokens = len(entry(len(listed))[0]) // 4
        read = len(entry(found)[0]) // 4
        written = max(0, len(entry(large[-1])[0]) // 4 - read) if large else 0
        return {
            "input_tokens": tokens - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 40,
        }

    def _alive(self, key: str) -> list[str]:
        return [text for at, of, text in self._kept if of == key and self._at - at <= KEPT_S]

    def _keep(self, text: str, key: str) -> None:
        self._kept.append((self._at, key, text))

    def explained(self, folder: Path, quote: Price | None = None) -> ExplainReport:
        file = folder / "log.jsonl"
        file.write_text("".join(line + "\n" for line in self.lines))
        source = open_log(str(file), read_reply, None)
        return explain_log(source, None if quote is None else lambda call: Quote(price=quote))


def pieces(body: Body) -> list[tuple[str, bool]]:
    """What is rendered, block by block, and whether a marker stands behind it."""
    found = [_piece(tool) for tool in body.get("tools", ())]
    if "response_format" in body:
        found.append(_piece(body["response_format"]))
    found += [_piece(block) for block in body.get("system", ())]
    for message in body["messages"]:
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks or [{}]
        others = {name: value for name, value in message.items() if name != "content"}
        found += [_piece(block, json.dumps(others)) for block in blocks]
    return found


def _piece(block: Body, front: str = "") -> tuple[str, bool]:
    rest = {name: value for name, value in block.items() if name != "cache_control"}
    return front + json.dumps(rest, ensure_ascii=False), "cache_control" in block


def _agreeing(one: str, other: str) -> int:
    return len(commonprefix([one, other]))  # noqa: RUF071 - of strings, not of paths


def is_growing(bodies: list[Body]) -> bool:
    """Whether each request holds the one before it, so that a scenario said to be healthy is."""
    texts = ["".join(piece for piece, _ in pieces(body)) for body in bodies]
    return all(now.startswith(was) for was, now in pairwise(texts))
