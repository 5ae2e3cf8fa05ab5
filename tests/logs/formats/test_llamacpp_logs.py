from __future__ import annotations

import json

import pytest
from log_files import read

USUAL = """\
0.00.003.972 I srv          init: initializing ...
0.32.162.975 I slot get_availabl: id  1 | task -1 | selected slot by LRU, t_last = -1
0.32.163.199 I slot launch_slot_: id  1 | task 1 | processing task, is_child = 0
0.32.281.198 I slot print_timing: id  1 | task 1 | prompt eval time =     100.61 ms /   319 tokens (    0.32 ms per)
0.32.281.256 I slot print_timing: id  1 | task 1 |        eval time =      17.33 ms /     8 tokens (    2.48 ms per)
0.32.281.282 I slot print_timing: id  1 | task 1 |       total time =     117.94 ms /   327 tokens
0.32.281.369 I slot      release: id  1 | task 1 | stop processing: n_tokens = 326, truncated = 0
0.32.290.747 I slot launch_slot_: id  1 | task 10 | processing task, is_child = 0
0.32.307.132 I slot print_timing: id  1 | task 10 | prompt eval time =       6.24 ms /    16 tokens (    0.39 ms per)
0.32.307.196 I slot print_timing: id  1 | task 10 |        eval time =      10.11 ms /     8 tokens (    1.44 ms per)
0.32.307.728 I slot      release: id  1 | task 10 | stop processing: n_tokens = 349, truncated = 0
"""

VERBOSE = """\
0.00.366.321 I slot   operator(): id  1 | task 18 | new prompt, n_ctx_slot = 4096, n_keep = 0, task.n_tokens = 365
0.00.366.349 I slot   operator(): id  1 | task 18 | cached n_tokens = 349, memory_seq_rm [349, end)
0.00.387.085 I slot print_timing: id  1 | task 18 | prompt eval time =       6.25 ms /    16 tokens (    0.39 ms per)
0.00.387.169 I slot print_timing: id  1 | task 18 |        eval time =      14.48 ms /     8 tokens (    2.07 ms per)
0.00.387.300 I slot      release: id  1 | task 18 | stop processing: n_tokens = 372, truncated = 0
"""

OF_2025 = """\
srv  log_server_r: request: GET /health 127.0.0.1 200
slot launch_slot_: id  0 | task 49 | processing task
slot update_slots: id  0 | task 49 | new prompt, n_ctx_slot = 55040, n_keep = 0, n_prompt_tokens = 114
slot update_slots: id  0 | task 49 | kv cache rm [71, end)
slot update_slots: id  0 | task 49 | prompt done, n_past = 114, n_tokens = 43
slot      release: id  0 | task 49 | stop processing: n_past = 160, truncated = 0
slot print_timing: id  0 | task 49 |
prompt eval time =     900.71 ms /    43 tokens (   17.85 ms per token,    56.01 tokens per second)
       eval time =    2042.52 ms /    47 tokens (   42.55 ms per token,    23.50 tokens per second)
      total time =    2942.23 ms /    90 tokens
"""

OF_2024 = "\n".join(
    json.dumps({"level": "INFO", "id_slot": 0, "id_task": 5, **more})
    for more in (
        {"function": "update_slots", "msg": "kv cache rm [p0, end)", "p0": 71},
        {"function": "print_timings", "msg": "prompt eval time = 9 ms", "n_prompt_tokens_processed": 43},
        {"function": "print_timings", "msg": "generation eval time = 9 ms", "n_decoded": 47},
        {"function": "update_slots", "msg": "slot released", "n_past": 160, "truncated": False},
    )
)

OF_2024_AS_TEXT = """\
INFO [            update_slots] kv cache rm [p0, end) | tid="1" timestamp=1712345678 id_slot=0 id_task=5 p0=71
INFO [           print_timings] prompt eval time = 9.0 ms | id_slot=0 id_task=5 n_prompt_tokens_processed=43
INFO [           print_timings] generation eval time = 9 ms | id_slot=0 id_task=5 n_decoded=47
INFO [            update_slots] slot released | id_slot=0 id_task=5 n_ctx=512 n_past=160 truncated=false
"""


def figures(call):
    return call.usage.prompt_tokens, call.usage.cached_tokens, call.usage.output_tokens


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (USUAL, [(319, 0, 8), (342, 326, 8)]),
        (VERBOSE, [(365, 349, 8)]),
        (OF_2025, [(114, 71, 47)]),
        (OF_2024, [(114, 71, 47)]),
        (OF_2024_AS_TEXT, [(114, 71, 47)]),
    ],
    ids=["usual", "verbose", "2025", "2024 JSON", "2024 text"],
)
def test_counts_of_each_request(tmp_path, log, expected):
    calls, records = read(tmp_path, log.encode())
    assert [figures(call) for call in calls] == expected
    assert (calls[0].target, calls[0].body, calls[0].timing) == ("llamacpp", b"", None)
    assert records.damaged == 0


def test_requests_of_several_slots_interleave(tmp_path):
    lines = [*VERBOSE.splitlines(), *VERBOSE.replace("id  1 | task 18", "id  0 | task 19").splitlines()]
    mixed = "\n".join(line for pair in zip(lines[:5], lines[5:], strict=True) for line in pair)
    calls, _ = read(tmp_path, mixed.encode())
    assert [(figures(call)[:2], call.raw_usage["slot"]) for call in calls] == [((365, 349), 1), ((365, 349), 0)]


def test_a_context_that_was_cut_tells_no_prompt(tmp_path):
    calls, records = read(
        tmp_path, USUAL.replace("n_tokens = 349, truncated = 0", "n_tokens = 349, truncated = 1").encode()
    )
    assert len(calls) == 1
    assert "the context was cut while it was answered" in records.skipped[0].reason


def test_what_the_server_says_of_its_cache(tmp_path):
    forced = "slot   operator(): id  1 | task 18 | forcing full prompt re-processing due to lack of cache data (SWA)\n"
    _, records = read(tmp_path, (forced + VERBOSE).encode())
    assert "forcing full prompt re-processing due to lack of cache data" in records.remarks[0].what


def test_a_log_that_is_cut_off(tmp_path):
    calls, records = read(tmp_path, USUAL.rsplit("\n", 2)[0].encode() + b"\n" + b"\xff\xfe\x00 noise\n")
    assert len(calls) == 1
    assert "the size of this prompt cannot be told" in records.skipped[0].reason


def test_tasks_that_were_never_answered_say_nothing(tmp_path):
    assert read(tmp_path, USUAL.encode() + b"slot launch_slot_: id  0 | task 99 | processing task\n")[1].damaged == 0
