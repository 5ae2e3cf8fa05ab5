"""Calls to MLX-LM's store of prompts and to its server, each beside the model of it.

All prompts are made of whole words of the tiny model's vocabulary, so that their tokens are known without a tokeniser.
What the server generated goes into later prompts; a recording keeps it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hitrate.caches.prompts import REPLY, SYSTEM, USER, PromptCache, PromptLease, Segment
from hitrate.engines.vocabulary import load_vocabulary

DATA = Path(__file__).resolve().parents[1] / "data" / "engines"
RECORDED_STORE = DATA / "mlx_prompt_cache.json"
RECORDED_SERVER = DATA / "mlx_server.json"

Operation = tuple[str, list[int]] | tuple[str, list[int], str]


class StoreRun(NamedTuple):
    sequences: int
    trims: bool
    seed: int


STORE_RUNS = [StoreRun(10, True, 1), StoreRun(3, True, 2), StoreRun(10, False, 3), StoreRun(2, False, 4)]


def store_operations(run: StoreRun) -> list[Operation]:
    """Sequences over few tokens, so that they often begin alike, extend and equal each other."""
    randomness = random.Random(run.seed)
    operations: list[Operation] = []
    seen: list[list[int]] = [[1]]
    for _ in range(500):
        base = randomness.choice(seen[-15:])
        tokens = base[: randomness.randint(0, len(base))]
        tokens = tokens + [randomness.randrange(4) for _ in range(randomness.randint(0 if tokens else 1, 4))]
        if randomness.random() < 0.5:
            operations.append(("fetch", tokens))
        else:
            operations.append(("insert", tokens, randomness.choice([REPLY, REPLY, REPLY, USER, SYSTEM])))
            seen.append(tokens)
    return operations


def store_answers(run: StoreRun, operations: Sequence[Operation]) -> list[int]:
    """Cached tokens of a fetch, sequences kept after an insert; the model caps the first at prompt - 1."""
    cache = PromptCache(run.sequences, run.trims)
    answers = []
    for operation in operations:
        if operation[0] == "fetch":
            answers.append(cache.peek(operation[1]))
        else:
            cache._store(None, tuple(operation[1]), operation[2])  # type: ignore[misc]  # One sequence, as the driver.
            answers.append(len(cache.stored_tokens))
        cache.check_integrity()
    return answers


# The server

Message = tuple[str, tuple[int, ...]]
"""Role, and the words of the content as token ids."""

VOCABULARY = load_vocabulary()
WORDS = VOCABULARY.word_ids
TURN_START, TURN_END = VOCABULARY.tokens.index("<|im_start|>"), VOCABULARY.tokens.index("<|im_end|>")
NEW_LINE = VOCABULARY.tokens.index("Ċ")
ROLES = {role: VOCABULARY.tokens.index(role) for role in ("system", "user", "assistant")}


def text_of(words: Sequence[int]) -> str:
    return "".join(VOCABULARY.tokens[word].replace("Ġ", " ") for word in words)


def words_of(text: str) -> list[int]:
    return [VOCABULARY.tokens.index("Ġ" + word) for word in text.split()]


def rendered(messages: Sequence[Message], *, opens_reply: bool = True) -> list[int]:
    """The tokens of the tiny model's chat template."""
    tokens: list[int] = []
    for role, words in messages:
        tokens += [TURN_START, ROLES[role], NEW_LINE, *words, TURN_END, NEW_LINE]
    return [*tokens, TURN_START, ROLES["assistant"], NEW_LINE] if opens_reply else tokens


def segments_of(messages: Sequence[Message]) -> list[Segment]:
    """As the server cuts them: nothing unless the last message is the user's."""
    prompt = rendered(messages)
    if messages[-1][0] != "user":
        return []
    opening = [message for message in messages[:1] if message[0] == "system"]
    if not opening:
        return [(len(prompt), USER)]
    alone = rendered([*opening, ("user", ())], opens_reply=False)
    end = next(place for place, (left, right) in enumerate(zip(alone, prompt, strict=False)) if left != right)
    return [(end, SYSTEM), (len(prompt), USER)]


class ServerAnswer(NamedTuple):
    prompt_tokens: int
    cached_tokens: int
    text: str


class Server(Protocol):
    """`prompt` is a text for completions or messages for chat completions."""

    def ask(self, prompt: str | list[dict[str, str]], max_tokens: int) -> ServerAnswer: ...

    def hold(self, prompt: str | list[dict[str, str]]) -> None:
        """Start a call that lasts until `release`."""
        ...

    def release(self) -> None: ...


class Script(NamedTuple):
    name: str
    sequences: int
    chat: bool
    calls: int = 80


SCRIPTS = (Script("chat, 10 kept", 10, True), Script("chat, 2 kept", 2, True), Script("completions, 3 kept", 3, False))


class Pair(NamedTuple):
    """(prompt tokens, cached tokens) by the server and by the model."""

    server: tuple[int, int]
    model: tuple[int, int]


class _Player:
    def __init__(self, script: Script, server: Server) -> None:
        self.script = script
        self.server = server
        self.random = random.Random(f"mlx {script.name}")
        self.model = PromptCache(script.sequences)
        self.openings: list[Message] = [("system", self.words(30, 60)) for _ in range(3)]
        self.seen: list[list[Message]] = []
        self.held: PromptLease | None = None

    def words(self, least: int, most: int) -> tuple[int, ...]:
        return tuple(self.random.choice(WORDS) for _ in range(self.random.randint(least, most)))

    def messages(self) -> list[Message]:
        """A new conversation, or an earlier one that goes on, was edited, branches off, or is sent again."""
        kind = self.random.choice(["new", "go on", "go on", "go on", "edit", "branch", "again"])
        if kind == "new" or not self.seen:
            opening = [self.random.choice(self.openings)] if self.random.random() < 0.8 else []
            return [*opening, ("user", self.words(3, 25))]
        base = list(self.random.choice(self.seen[-14:]))
        if kind == "again":
            return base[:-1] if base[-1][0] == "assistant" else base
        if kind == "edit":
            place = self.random.randrange(len(base))
            role, words = base[place]
            base[place] = (role, (*words[: len(words) // 2], *self.words(1, 2)))
        elif kind == "branch":
            base = base[: self.random.randint(1, len(base))]
        if base[-1][0] != "assistant" or self.random.random() < 0.95:
            base.append(("user", self.words(3, 25)))
        return base

    def prompt(self, messages: list[Message]) -> tuple[list[int], str | list[dict[str, str]], list[Segment]]:
        if not self.script.chat:
            tokens = [word for _, words in messages for word in words]
            return tokens, text_of(tokens), []
        body = [{"role": role, "content": text_of(words)} for role, words in messages]
        return rendered(messages), body, segments_of(messages)

    def call(self) -> Pair:
        messages = self.messages()
        tokens, prompt, segments = self.prompt(messages)
        while tuple(tokens) in self.model.stored_tokens:
            # Exactly what is stored ends the server's generation thread, see docs.
            messages = [*messages, ("user", self.words(1, 1))]
            tokens, prompt, segments = self.prompt(messages)
        lease = self.model.begin(tokens, segments=segments)
        answer = self.server.ask(prompt, self.random.choice([1, 2, 6]))
        reply = tuple(words_of(answer.text))
        self.model.finish(lease, reply)
        self.model.check_integrity()
        self.seen.append([*messages, ("assistant", reply)])
        return Pair((answer.prompt_tokens, answer.cached_tokens), (lease.prompt_tokens, lease.cached_tokens))

    def hold(self) -> None:
        messages = self.messages()
        tokens, prompt, segments = self.prompt(messages)
        if tuple(tokens) in self.model.stored_tokens:
            return
        self.held = self.model.begin(tokens, segments=segments)
        self.server.hold(prompt)
        self.model.publish(self.held)
        self.seen.append(messages)

    def release(self) -> None:
        if self.held is not None:
            self.server.release()
            self.model.abort(self.held)
            self.held = None


def play(script: Script, server: Server) -> Iterator[Pair]:
    """Every call, to both. Now and then one is in flight while others are answered, and is then broken off."""
    player = _Player(script, server)
    for _ in range(script.calls):
        if player.held is not None and player.random.random() < 0.5:
            player.release()
        elif player.held is None and player.random.random() < 0.15:
            player.hold()
        yield player.call()
    player.release()


class RecordedServer:
    def __init__(self, answers: Sequence[Sequence[Any]]) -> None:
        self._answers = iter(answers)

    def ask(self, prompt: str | list[dict[str, str]], max_tokens: int) -> ServerAnswer:
        return ServerAnswer(*next(self._answers))

    def hold(self, prompt: str | list[dict[str, str]]) -> None:
        pass

    def release(self) -> None:
        pass
