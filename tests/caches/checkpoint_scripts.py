"""Calls made to a llama.cpp server whose model's memory cannot be cut, and to the model of its checkpoints.

Each script starts with the same story: a prompt, continued, asked again, edited near its end, before the window and
early, another conversation in between, without cache. Then follow drawn calls. Or it is of chats, in which the server
knows where user messages start. See `llamacpp_scripts`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from llamacpp_scripts import Answer, Pair, Server

from hitrate.caches.checkpoints import CheckpointCache
from hitrate.engines.tiny_variants import WINDOW
from hitrate.engines.vocabulary import TURN_START, load_vocabulary
from hitrate.tokens.llamacpp import places_of

RECORDED = Path(__file__).resolve().parents[1] / "data" / "engines" / "llamacpp_checkpoints.json"
USER = [load_vocabulary().tokens.index(token) for token in (TURN_START, "user")]
"""How the tiny models' template opens a user message."""

SWA, RECURRENT = "tiny-swa", "tiny-recurrent"


class ChatAnswer(NamedTuple):
    slot: int
    cached_tokens: int
    generated: list[int]
    text: str
    prompt: list[int]


class ChatServer(Protocol):
    def chat(self, messages: list[dict[str, str]], reply_tokens: int) -> ChatAnswer: ...


class RecordedChats:
    """Gives the recorded answers in turn."""

    def __init__(self, answers: list[list[Any]]) -> None:
        self._answers = iter(answers)

    def chat(self, messages: list[dict[str, str]], reply_tokens: int) -> ChatAnswer:
        return ChatAnswer(*next(self._answers))


class Script(NamedTuple):
    """`server` are options of `LlamaCppEngine`, `cache` keywords of `CheckpointCache` where they differ from these.

    `longest` are the most tokens of a drawn new prompt.
    """

    name: str
    model: str
    server: dict[str, Any]
    cache: dict[str, Any] = {}  # noqa: RUF012 - never changed
    longest: int = 300
    chats: bool = False
    drawn: int = 14

    @property
    def engine_options(self) -> dict[str, Any]:
        return {"model": self.model, "slots": 1, "context": 8192, "micro_batch": 32, **self.server}

    def cache_for(self, context_per_slot: int) -> CheckpointCache:
        options = self.engine_options
        same = ("checkpoints", "checkpoint_min_step", "full_window", "batch", "micro_batch")
        return CheckpointCache(
            options["slots"],
            context_per_slot,
            window=WINDOW if self.model == SWA else None,
            **{name: options[name] for name in same if name in options},
            **self.cache,
        )


UNIFIED: dict[str, Any] = {"kv_unified": True}
NO_STORE: dict[str, Any] = {"host_cache_bytes": 0}


def _of_both(model: str) -> tuple[Script, ...]:
    return (
        Script(f"{model}, micro-batch 512", model, {"micro_batch": 512, "slots": 2}, longest=900),
        Script(f"{model}, one slot", model, {}),
        Script(f"{model}, no store, long prompts", model, {"host_cache_mib": 0}, NO_STORE, longest=1200),
        Script(f"{model}, one pool", model, {"slots": 4, "unified": True, "micro_batch": 64}, UNIFIED, longest=700),
        Script(f"{model}, 0 checkpoints", model, {"slots": 2, "checkpoints": 0}),
        Script(f"{model}, 1 checkpoint", model, {"slots": 2, "checkpoints": 1, "checkpoint_min_step": 0}),
        Script(f"{model}, 3 checkpoints", model, {"checkpoints": 3, "checkpoint_min_step": 64}, drawn=24),
        Script(f"{model}, batches of 100", model, {"batch": 100, "checkpoint_min_step": 50, "checkpoints": 5}),
        Script(f"{model}, chats", model, {"slots": 2}, chats=True, drawn=24),
        Script(
            f"{model}, chats, 4 checkpoints",
            model,
            {"checkpoints": 4, "checkpoint_min_step": 20, "batch": 150},
            chats=True,
            drawn=24,
        ),
    )


SCRIPTS = (
    *_of_both(SWA),
    *_of_both(RECURRENT),
    Script("tiny-swa, full window", SWA, {"full_window": True, "slots": 2}),
    Script("tiny-swa, full window, one pool", SWA, {"full_window": True, "slots": 3, "unified": True}, UNIFIED),
    Script(
        "tiny-swa, one pool, no store",
        SWA,
        {"slots": 3, "context": 2048, "unified": True, "host_cache_mib": 0},
        {**UNIFIED, **NO_STORE},
    ),
)


def play(script: Script, server: Server, context_per_slot: int) -> Iterator[Pair]:
    """Every call of the script, to both."""
    cache = script.cache_for(context_per_slot)
    for tokens, reply_tokens, request, replied in _calls(script):
        answer = server.complete(tokens, reply_tokens, **request)
        yield _beside(cache, answer, tokens, **request)
        replied.extend(answer.generated)


def play_chats(script: Script, server: ChatServer, context_per_slot: int) -> Iterator[Pair]:
    """The same for a script of chats."""
    cache = script.cache_for(context_per_slot)
    randomness = random.Random(f"checkpoints {script.name}")
    chats: list[list[str]] = []
    for _ in range(script.drawn):
        chat = _drawn_chat(randomness, chats)
        answer = server.chat(chat_messages(chat), 6)
        yield _beside(cache, answer, answer.prompt, user_starts=places_of(USER, answer.prompt))
        chats.append([*chat, answer.text])


def _beside(cache: CheckpointCache, answer: Answer | ChatAnswer, tokens: list[int], **request: Any) -> Pair:
    expected = cache.peek(tokens, **request)
    lease = cache.begin(tokens, **request)
    assert lease is not None and lease.cached_tokens == expected
    cache.finish(lease, answer.generated)
    cache.check_integrity()
    return Pair((answer.slot, answer.cached_tokens), (lease.slot, lease.cached_tokens))


def chat_messages(texts: list[str]) -> list[dict[str, str]]:
    """The first text is the system's, the others are the user's and the assistant's in turn."""
    roles = ["system", *("user" if number % 2 else "assistant" for number in range(1, len(texts)))]
    return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]


def _drawn_chat(randomness: random.Random, chats: list[list[str]]) -> list[str]:
    """System text, then questions and answers, a question last: new, continued, or changed in a question."""

    def text(most: int) -> str:
        words = ["order", "parcel", "when", "refund", "size", "late", "and", "colour"]
        return " ".join(randomness.choice(words) for _ in range(randomness.randrange(2, most)))

    kind = randomness.choice(["new", "continue", "continue", "continue", "last", "early", "same"])
    if kind == "new" or not chats:
        return ["You answer questions about orders. " * 4, text(120)]
    chat = randomness.choice(chats[-4:])
    if kind == "continue":
        return [*chat, text(80)]
    question = {"last": len(chat) - 2, "early": 1, "same": len(chat) - 2}[kind]
    changed = chat[question] if kind == "same" else f"{chat[question]} {text(9)}"
    return [*chat[:question], changed, *chat[question + 1 : -1]]


Call = tuple[list[int], int, dict[str, Any], list[int]]
"""Prompt, most tokens of the reply, further request members, and a list that the reply is put into."""


def _calls(script: Script) -> Iterator[Call]:
    randomness = random.Random(f"checkpoints {script.name}")
    seen: list[list[int]] = []
    for tokens, reply_tokens, request, replied in _story(randomness):
        yield tokens, reply_tokens, request, replied
        seen.append(tokens + replied)
    for _ in range(script.drawn):
        request = {}
        if randomness.random() < 0.07:
            request["id_slot"] = randomness.randrange(script.engine_options["slots"])
        if randomness.random() < 0.05:
            request["cache_prompt"] = False
        tokens, replied = _drawn_prompt(script, randomness, seen), list[int]()
        yield tokens, randomness.choice([0, 1, 2, 9, 40]), request, replied
        seen.append(tokens + replied)


def _story(randomness: random.Random) -> Iterator[Call]:
    def fresh(length: int) -> list[int]:
        return _fresh(randomness, length)

    first, other = fresh(350), fresh(200)
    reply: list[int] = []
    yield first, 9, {}, reply
    session = first + reply + fresh(60)
    yield session, 9, {}, []
    yield session, 9, {}, []  # Asked again.
    yield session[:-20] + fresh(10), 2, {}, []  # Edited within the window,
    yield session[:-200] + fresh(50), 2, {}, []  # before it,
    yield session[:40] + fresh(250), 2, {}, []  # and early.
    yield other, 9, {}, []
    yield session, 2, {}, []
    yield other + fresh(30), 2, {}, []
    yield session[:100], 1, {}, []
    yield session[:100], 2, {"cache_prompt": False}, []
    yield session, 2, {}, []
    yield session[:1], 2, {}, []


def _drawn_prompt(script: Script, randomness: random.Random, seen: list[list[int]]) -> list[int]:
    """A new prompt, or an old one continued, cut, edited near its end or anywhere, less a piece, or as it was."""

    def fresh(length: int) -> list[int]:
        return _fresh(randomness, length)

    kind = randomness.choice(["new", *["continue"] * 3, "cut", "near", "near", "remove", "change", "same"])
    base = randomness.choice(seen[-6:])
    start, end = sorted(randomness.sample(range(len(base) + 1), 2))
    near = max(0, len(base) - randomness.randrange(1, 60))
    changed = {
        "new": fresh(randomness.randrange(1, script.longest)),
        "continue": base + fresh(randomness.randrange(60)),
        "cut": base[:end] + fresh(randomness.randrange(40)),
        "near": base[:near] + fresh(randomness.randrange(1, 30)),
        "remove": base[:start] + base[end:],
        "change": base[:start] + fresh(1) + base[start + 1 :],
        "same": base,
    }[kind]
    return (changed or fresh(1))[: script.longest + 300]


def _fresh(randomness: random.Random, length: int) -> list[int]:
    return [randomness.choice([300, 301, randomness.randrange(260, 3000)]) for _ in range(length)]
