"""Logs of agents, engines and telemetry through the commands that read logs: each has one break at the same call.

Where the log has the prompts, the place of the break is named; where it has counts alone, the call that lost its cache.
"""

from __future__ import annotations

import json

import pytest

BREAK = 3
"""The call, from 0, that has another opening; the ones around it go on as they should."""

POLICY = "You answer questions about parcels, returns and refunds of one shop. " * 120
QUESTIONS = [
    "Where is it?",
    "And the other one?",
    "Can it come on Friday?",
    "To my neighbour?",
    "What does it cost?",
    "Thanks.",
]
PROMPT_TOKENS = [2000 + 40 * number for number in range(len(QUESTIONS))]
CACHED_TOKENS = [0, *PROMPT_TOKENS[:-1]]
CACHED_TOKENS[BREAK] = 0


def opening(number):
    return ("Today is Tuesday. " if number >= BREAK else "") + POLICY


def conversation(number):
    """The messages of a call."""
    messages = [{"role": "system", "content": opening(number)}]
    for question in QUESTIONS[:number]:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": f"About that: {question}"}]
    return [*messages, {"role": "user", "content": QUESTIONS[number]}]


def chatml(number):
    turns = (f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in conversation(number))
    return "".join(turns) + "<|im_start|>assistant\n"


CALLS = range(len(QUESTIONS))


def moment(number, form="iso"):
    return f"2026-11-01T12:00:{number:02}.000Z" if form == "iso" else 1793534400 + number


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def otel():
    spans = []
    for number in CALLS:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.input.messages": json.dumps(conversation(number)),
            "gen_ai.usage.input_tokens": PROMPT_TOKENS[number],
            "gen_ai.usage.cache_read.input_tokens": CACHED_TOKENS[number] // 128 * 128,
            "gen_ai.usage.output_tokens": 10,
        }
        at = moment(number), moment(number + 1)
        spans.append({"span_id": f"s{number}", "start_time": at[0], "end_time": at[1], "attributes": attributes})
    return json.dumps({"trace_id": "t", "spans": spans}, indent=1)


def codex():
    found = [{"timestamp": moment(0), "type": "session_meta", "payload": {"id": "s"}}]
    found.append({"timestamp": moment(0), "type": "turn_context", "payload": {"model": "gpt-5-codex"}})
    for number in CALLS:
        counts = {"input_tokens": PROMPT_TOKENS[number], "cached_input_tokens": CACHED_TOKENS[number] // 128 * 128}
        info = {"last_token_usage": {**counts, "output_tokens": 10}, "total_token_usage": {"input_tokens": number}}
        found.append(
            {"timestamp": moment(number), "type": "event_msg", "payload": {"type": "token_count", "info": info}}
        )
    return lines(*found)


def opencode():
    messages = []
    for number in CALLS:
        cached = CACHED_TOKENS[number]
        tokens = {"input": 0, "output": 10, "cache": {"read": cached, "write": PROMPT_TOKENS[number] - cached}}
        info = {"sessionID": "s", "role": "assistant", "providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
        info |= {"tokens": tokens, "time": {"created": 1000 * moment(number, "unix")}}
        messages.append({"info": info, "parts": []})
    return json.dumps({"info": {"id": "s"}, "messages": messages}, indent=1)


def llamacpp():
    found = []
    for number in CALLS:
        evaluated = PROMPT_TOKENS[number] - CACHED_TOKENS[number]
        found += [
            f"slot launch_slot_: id  0 | task {number} | processing task, is_child = 0",
            f"slot print_timing: id  0 | task {number} | prompt eval time = 1.00 ms / {evaluated} tokens (1 ms each)",
            f"slot print_timing: id  0 | task {number} |        eval time = 1.00 ms / 10 tokens (1 ms per token)",
            f"slot      release: id  0 | task {number} | stop processing: n_tokens = {PROMPT_TOKENS[number] + 9}, "
            "truncated = 0",
        ]
    return "\n".join(found)


def vllm():
    start = "INFO 11-01 12:00:00 [logger.py:41] Received request chatcmpl-"
    end = "params: SamplingParams(n=1), prompt_token_ids: None, lora_request: None.\n"
    return "".join(f"{start}{number}: prompt: {chatml(number)!r}, {end}" for number in CALLS)


def sglang():
    found = []
    for number in CALLS:
        request = f"obj=GenerateReqInput(rid='{number}', text={chatml(number)!r}, stream=True)"
        meta = {"prompt_tokens": PROMPT_TOKENS[number], "cached_tokens": CACHED_TOKENS[number], "completion_tokens": 10}
        found.append(f"[2026-11-01 12:00:{number:02}] Receive: {request}\n")
        found.append(f"[2026-11-01 12:00:{number:02}] Finish: {request}, out={{'text': 'a', 'meta_info': {meta}}}\n")
    return "".join(found)


def rendered():
    return lines(*({"text": chatml(number)} for number in CALLS))


def prompt_lines():
    return "\n".join(chatml(number).replace("\n", " ") for number in CALLS)


def token_ids():
    ids = {
        word: number for number, word in enumerate(sorted({word for call in CALLS for word in chatml(call).split()}))
    }
    return lines(*([ids[word] for word in chatml(number).split()] for number in CALLS))


def swe_agent():
    steps = [{"response": "x", "messages": conversation(number)} for number in CALLS]
    return json.dumps({"trajectory": steps, "history": [], "info": {}}, indent=1)


TEXT = {
    "otel": (otel, "/messages/0/content"),
    "vllm": (vllm, "/prompt"),
    "sglang": (sglang, "/prompt"),
    "rendered": (rendered, "/prompt"),
    "prompt-lines": (prompt_lines, "/prompt"),
    "token-ids": (token_ids, "/prompt/"),
    "swe-agent": (swe_agent, "/messages/0/content"),
}
COUNTS = {"codex": codex, "opencode": opencode, "llamacpp": llamacpp}
ALL = {**{name: make for name, (make, _) in TEXT.items()}, **COUNTS}


@pytest.mark.parametrize("name", TEXT)
def test_the_place_of_the_break(hitrate, file, name):
    make, pointer = TEXT[name]
    report = hitrate("explain", file("log", make()), "--json").json
    assert (report["format"], report["calls"]) == (name, len(QUESTIONS))
    (finding,) = report["findings"]
    assert (finding["call"], finding["against"]) == (BREAK, BREAK - 1)
    assert finding["pointer"].startswith(pointer)


@pytest.mark.parametrize("name", COUNTS)
def test_the_call_that_lost_its_cache(hitrate, file, name):
    report = hitrate("explain", file("log", COUNTS[name]()), "--json").json
    assert (report["format"], report["calls"]) == (name, len(QUESTIONS))
    (finding,) = report["findings"]
    assert (finding["call"], finding["against"], finding["pointer"]) == (BREAK, BREAK - 1, None)
    assert finding["lost_tokens"] > 1900


@pytest.mark.parametrize("name", ALL)
def test_the_other_commands(hitrate, file, name):
    log = file("log", ALL[name]())
    cost = hitrate("cost", log, "--format", name, "--price", "1,0.1,2", "--json")
    assert (cost.code, cost.json["calls"]) == (0, len(QUESTIONS))
    gate = ("--min-hit-rate", "0.9") if name in COUNTS else ("--no-breaks",)
    assert hitrate("check", log, *gate).code == 1


@pytest.mark.parametrize("name", [*TEXT, "codex"])
def test_what_a_fix_would_gain(hitrate, file, name):
    outcome = hitrate("whatif", file("log", ALL[name]()), "--drop-nonce", "--json")
    assert outcome.code == (0 if name in TEXT else 2)
    assert ("holds no request bodies that can be read" in outcome.err) == (name not in TEXT)
