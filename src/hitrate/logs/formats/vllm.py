"""Request logs of vLLM (`--enable-log-requests`, before 0.10 the default): the rendered prompts, no token counts.

    INFO 11-01 12:00:00 [logger.py:41] Received request chatcmpl-1: prompt: '<|im_start|>system\\n...', params:
        SamplingParams(n=1, ...), prompt_token_ids: None, lora_request: None, prompt_adapter_request: None.
    DEBUG 11-01 12:00:00 [request_logger.py:57] Request chatcmpl-1 details: prompt: '...', prompt_token_ids: [1, 2], ...
    INFO 11-01 12:00:00 [request_logger.py:67] Received request chatcmpl-1: params: SamplingParams(...), ...
    INFO 11-01 12:00:01 [request_logger.py:117] Generated response chatcmpl-1: output: '...', finish_reason: stop

each on one line. (https://github.com/vllm-project/vllm, vllm/entrypoints/logger.py; from 0.20 on
vllm/entrypoints/serve/utils/request_logger.py.) Since 0.11 the prompt is on a line of its own that needs the level
DEBUG. Where there are token ids they are the prompt: those are what vLLM hashes. With `--enable-log-outputs` the ids of
an answer are counted. `--max-log-len` cuts prompts and ids without a mark: where the line with the server's arguments
names it, a prompt of that length is not used; else a remark names a prompt with as many characters as ids. The clock
has no year, so calls have no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from msgspec.structs import replace

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.core.model import Call, Usage
from hitrate.core.recent import Recent
from hitrate.core.records import Remark, Skipped
from hitrate.core.wires import RENDERED
from hitrate.logs.interface import Item, OwnRules, ReplyReader
from hitrate.logs.lines import raw_lines
from hitrate.logs.open_calls import OpenCalls
from hitrate.logs.own_counts import usage_of
from hitrate.logs.rebuilt import rebuilt
from hitrate.logs.repr_text import literal_at

_RECEIVED = lazy_pattern(r"Received request (\S+?): (prompt|params): ")
_DETAILS = lazy_pattern(r"Request (\S+) details: prompt: ")
_GENERATED = lazy_pattern(r"Generated response (\S+?)(?: \(streaming complete\))?(?: details)?: ")
_ARGUMENTS = lazy_pattern(r"non-default args: (?=\{)")
_LORA = lazy_pattern(r"lora_request: LoRARequest\(.*?(?:lora_name|name)='([^']*)'")

_IDS = "prompt_token_ids: "
_OUTPUT_IDS = "output_token_ids: "

_DETAILED_REMEMBERED = 1 << 10

_NO_PROMPT = "the prompt is not in the log; since vLLM 0.11 it is written at the level DEBUG alone (VLLM_LOGGING_LEVEL)"


class Vllm:
    name = "vllm"
    about = "request log of vLLM"

    def matches(self, head: bytes, path: str) -> bool:
        return any(mark in head for mark in (b": prompt: ", b": params: ", b" details: prompt: ")) and (
            b"Received request " in head or b"Request " in head
        )

    def read(self, stream: BinaryIO, read_reply: ReplyReader) -> Iterator[Item]:
        requests = _Requests()
        for number, _, data in raw_lines(stream):
            if isinstance(data, Skipped):
                yield data
                continue
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                if b"Received request " in data or b" details: prompt: " in data:
                    yield Skipped(line=number, reason="not UTF-8, expected a request log in UTF-8")
                continue
            yield from requests.take(text, number)
        yield from requests.rest()


class _Requests:
    def __init__(self) -> None:
        self._open = OpenCalls()
        self._detailed: Recent[str, bool] = Recent(_DETAILED_REMEMBERED)
        """Requests whose prompt came on a line of its own."""
        self._model: str | None = None
        self._longest: int | None = None
        self._doubted = False

    def take(self, text: str, line: int) -> Iterator[Item]:
        if (found := _RECEIVED.search(text)) is not None:
            if "PoolingParams(" in text[found.end() :] and "SamplingParams(" not in text:
                return  # no text is generated
            if found[2] == "prompt":
                yield from self._prompt(found[1], text, found.end(), line)
            elif not self._detailed.get(found[1]):
                yield Skipped(line=line, reason=_NO_PROMPT)
        elif (found := _DETAILS.search(text)) is not None:
            self._detailed.put(found[1], True)
            yield from self._prompt(found[1], text, found.end(), line)
        elif (found := _GENERATED.search(text)) is not None:
            yield from self._answered(found[1], text)
        elif (found := _ARGUMENTS.search(text)) is not None:
            yield from self._arguments(text, found.end())

    def rest(self) -> Iterator[Call]:
        yield from self._open.rest()

    def _prompt(self, request_id: str, text: str, place: int, line: int) -> Iterator[Item]:
        prompt = literal_at(text, place)
        if prompt is None:
            yield Skipped(line=line, reason="cut off: the prompt does not end on its line")
            return
        ids_at = text.rfind(_IDS, prompt[1])
        ids = None if ids_at < 0 else literal_at(text, ids_at + len(_IDS))
        listed = ids[0] if ids is not None and isinstance(ids[0], list) and ids[0] else None
        if prompt[0] is None and listed is None:
            yield Skipped(line=line, reason="the request has neither a prompt nor token ids, as one of embeddings")
        elif self._is_cut(prompt[0], listed):
            yield Skipped(
                line=line,
                reason="--max-log-len cut the prompt, and what is left of it cannot be compared; leave it out",
            )
        else:
            yield from self._may_be_cut(prompt[0], listed, line)
            lora = _LORA.search(text, prompt[1])
            call = Call(
                target="vllm",
                dialect=RENDERED,
                body=rebuilt(prompt=listed or prompt[0], lora=None if lora is None else lora[1]),
                rebuilt=True,
                model=self._model,
                usage=_usage(listed),
                line=line,
            )
            yield from self._open.begin(request_id, call)

    def _is_cut(self, prompt: Any, ids: list[int] | None) -> bool:
        lengths = [len(one) for one in (prompt, ids) if isinstance(one, str | list)]
        return self._longest is not None and any(length >= self._longest for length in lengths)

    def _may_be_cut(self, prompt: Any, ids: list[int] | None, line: int) -> Iterator[Remark]:
        if self._longest is not None or self._doubted or not isinstance(prompt, str) or ids is None:
            return
        if len(prompt) == len(ids) > 32:  # as many characters as ids: only where each byte is a token
            self._doubted = True
            yield Remark(
                line=line,
                what=f"a prompt with as many characters as token ids, {len(ids):,}: if the server was started with "
                f"--max-log-len {len(ids)}, what stood behind was cut, and a change there does not show",
            )

    def _answered(self, request_id: str, text: str) -> Iterator[Item]:
        place = text.rfind(_OUTPUT_IDS)
        ids = None if place < 0 else literal_at(text, place + len(_OUTPUT_IDS))
        output = len(ids[0]) if ids is not None and isinstance(ids[0], list | tuple) and self._longest is None else None

        def with_output(call: Call) -> Call:
            known = output is not None and call.usage.output_tokens is None
            sources = {**call.usage.sources, "output_tokens": _OUTPUT_IDS.strip(": ")}
            return replace(call, usage=replace(call.usage, output_tokens=output, sources=sources)) if known else call

        # The first prompt of a request of completions has a number behind the id; its answer has not.
        known = request_id if request_id in self._open else f"{request_id}-0"
        yield from self._open.answer(known, with_output)

    def _arguments(self, text: str, place: int) -> Iterator[Item]:
        found = literal_at(text, place)
        arguments = found[0] if found is not None and isinstance(found[0], dict) else {}
        longest = arguments.get("max_log_len")
        self._longest = longest if type(longest) is int and longest > 0 else self._longest
        names = arguments.get("served_model_name") or arguments.get("model")
        self._model = names[0] if isinstance(names, list) and names else names if isinstance(names, str) else None
        if arguments:
            yield OwnRules(
                server={"engine": "vllm", "args": {f"--{n.replace('_', '-')}": v for n, v in arguments.items()}}
            )


def _usage(ids: list[int] | None) -> Usage:
    return Usage() if ids is None else usage_of(prompt=(len(ids), "prompt_token_ids"))[0]
