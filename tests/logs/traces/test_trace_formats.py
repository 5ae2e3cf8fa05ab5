"""Each trace format: what its requests become."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import msgspec
import pytest
from trace_files import Row, lines, opened, rows

from hitrate.core.records import Skipped
from hitrate.core.trace import UNKNOWN
from hitrate.errors import InputFileError, UsageError
from hitrate.logs.traces.sniff import TRACE_READERS, open_trace

MOONCAKE = lines(
    {"timestamp": 500, "input_length": 700, "output_length": 9, "hash_ids": [7, 9]},
    {"timestamp": 2500, "input_length": 1024, "output_length": 0, "hash_ids": [7, 4]},
)


def test_mooncake(tmp_path: Path) -> None:
    trace = opened(tmp_path, MOONCAKE)

    assert (trace.facts.format, trace.facts.block_tokens, trace.facts.has_partial_blocks) == ("mooncake", 512, True)
    assert rows(trace) == [Row(0.0, 700, 9, UNKNOWN, [0, 1]), Row(2.0, 1024, 0, UNKNOWN, [0, 2])]
    assert trace.records().used == 2


def test_mooncake_compressed_and_with_what_windows_adds(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + MOONCAKE.replace(b"\n", b"\r\n\r\n")

    assert rows(opened(tmp_path, gzip.compress(data))) == rows(opened(tmp_path, MOONCAKE))


def test_a_compressed_trace_that_is_cut_off_keeps_what_came(tmp_path: Path) -> None:
    many = lines(*({"input_length": 1024, "hash_ids": [n * n, n * n + 1]} for n in range(4000)))
    whole = gzip.compress(many)
    trace = opened(tmp_path, whole[: len(whole) // 2])
    found = rows(trace)

    assert 1000 < len(found) < 3000
    assert trace.records().used == len(found)
    assert trace.records().skipped[-1].reason.startswith("the compressed file cannot be read on from here")


def test_a_compressed_trace_without_its_check_sum_is_used_whole(tmp_path: Path) -> None:
    trace = opened(tmp_path, gzip.compress(MOONCAKE)[:-8])

    assert (rows(trace), trace.records().damaged) == (rows(opened(tmp_path, MOONCAKE)), 1)


@pytest.mark.parametrize(
    ("length", "ids", "asked", "size", "partial"),
    [
        (700, 2, None, 512, True),
        (700, 1, None, 512, False),
        (700, 44, None, 16, True),
        (700, 10, None, 64, False),
        (700, 7, 100, 100, True),
    ],
)
def test_the_block_size_is_told_by_the_ids(
    tmp_path: Path, length: int, ids: int, asked: int | None, size: int, partial: bool
) -> None:
    data = lines({"input_length": length, "hash_ids": list(range(ids))})
    facts = opened(tmp_path, data, block_tokens=asked).facts

    assert (facts.block_tokens, facts.has_partial_blocks) == (size, partial)


def test_a_block_size_that_nothing_explains(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="no block size explains 3 ids for 2 input tokens; name its own"):
        opened(tmp_path, lines({"input_length": 2, "hash_ids": [1, 2, 3]}))


def test_what_is_wrong_with_a_line_is_said_and_the_others_are_used(tmp_path: Path) -> None:
    good = {"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]}
    data = (
        lines(good, {**good, "hash_ids": "x"}, {**good, "input_length": -1})
        + b"{oops\n\n"
        + lines({**good, "hash_ids": [1]}, good)
    )
    trace = opened(tmp_path, data)

    assert [row.ids for row in rows(trace)] == [[0, 1], [0, 1]]
    records = trace.records()
    assert (records.used, records.damaged) == (2, 4)
    assert [(one.line, one.reason.split(",")[0].split(" - ")[0]) for one in records.skipped] == [
        (2, "cannot be used: Expected `array`"),
        (3, "cannot be used: Expected `int` >= 0"),
        (4, "cannot be used: JSON is malformed: object keys must be strings (byte 1)"),
        (6, "1 ids for 600 input tokens"),
    ]


def test_a_time_that_runs_back_is_said_and_a_missing_one_is_not_known(tmp_path: Path) -> None:
    row = {"input_length": 1, "hash_ids": [1]}
    trace = opened(tmp_path, lines({**row, "timestamp": 4000}, row, {**row, "timestamp": 1000}))
    times = [one.at_s for one in rows(trace)]

    assert (times[0], math.isnan(times[1]), times[2]) == (0.0, True, 0.0)
    assert [remark.what for remark in trace.records().remarks] == [
        "1 request is stamped earlier than the one before; they are taken in the file's order"
    ]


def test_a_trace_without_one_request_that_can_be_used(tmp_path: Path) -> None:
    trace = opened(tmp_path, lines({"input_length": 1, "hash_ids": [1], "timestamp": "x"}), "mooncake")

    with pytest.raises(InputFileError, match="of 1 request none can be used, the first: cannot be used: Expected"):
        rows(trace)


def test_bailian(tmp_path: Path) -> None:
    chat = {"type": "text", "output_length": 3, "input_length": 20, "timestamp": 61.5}
    trace = opened(
        tmp_path,
        lines(
            {**chat, "chat_id": 1, "parent_chat_id": -1, "turn": 1, "hash_ids": [5, 6]},
            {**chat, "chat_id": 2, "parent_chat_id": -1, "turn": 1, "hash_ids": [5, 7], "timestamp": 62.0},
            {**chat, "chat_id": 3, "parent_chat_id": 1, "turn": 2, "hash_ids": [5, 6], "timestamp": 63.5},
            {**chat, "chat_id": 4, "parent_chat_id": 3, "turn": 3, "hash_ids": [8, 9], "timestamp": 64.0},
        ),
    )

    assert (trace.facts.format, trace.facts.block_tokens) == ("bailian", 16)
    assert [(row.at_s, row.session, row.ids) for row in rows(trace)] == [
        (0.0, 0, [0, 1]),
        (0.5, 1, [0, 2]),
        (2.0, 0, [0, 1]),
        (2.5, 0, [3, 4]),
    ]


RAGPULSE = (
    b'{"timestamp": "9", "input_length": 70, "output_length": 2, "hash_ids": {"sys_prompt": [3], "history": [4]}, '
    b'"session_id": "b"}\n\n'
    b'{"timestamp": "7", "input_length": 40, "output_length": 1, "hash_ids": {"sys_prompt": [3], "history": []}, '
    b'"session_id": "a"}\n\n'
)


def test_ragpulse_by_parts_in_the_order_of_their_times(tmp_path: Path) -> None:
    trace = opened(tmp_path, RAGPULSE)

    assert (trace.facts.format, trace.facts.ordered) == ("ragpulse", False)
    assert rows(trace) == [Row(0.0, 40, 1, 0, [0]), Row(2.0, 70, 2, 1, [0, 1])]


def test_ragpulse_in_blocks_by_the_lengths_of_its_parts(tmp_path: Path) -> None:
    parts = {"1_sys_prompt": "sys_prompt_id", "2_passages": "passage_id", "3_history": "history_id"}
    parts |= {"4_user_input": "user_input_id", "5_web_search": "web_search_id"}
    for stem, key in parts.items():
        (tmp_path / f"{stem}.jsonl").write_bytes(lines({key: 3 if stem[0] == "1" else 4, "token_length": 35}))

    trace = opened(tmp_path, RAGPULSE, block_tokens=10)

    assert (trace.facts.ordered, trace.facts.block_tokens, trace.facts.has_partial_blocks) == (True, 10, False)
    assert [row.ids for row in rows(trace)] == [[0, 1, 2], [0, 1, 2, 3, 4, 5, 6]]


def test_ragpulse_with_lengths_that_are_cut_off(tmp_path: Path) -> None:
    (tmp_path / "1_sys_prompt.jsonl.gz").write_bytes(gzip.compress(b"x" * 99)[:-8])
    trace = tmp_path / "0_trace.jsonl.gz"
    trace.write_bytes(gzip.compress(RAGPULSE))
    with pytest.raises(InputFileError, match=r"1_sys_prompt\.jsonl\.gz: cannot be decompressed: "):
        open_trace(str(trace), block_tokens=512)


def test_ragpulse_in_blocks_without_lengths(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"1_sys_prompt.jsonl: cannot be read .* leave --block-size out"):
        rows(opened(tmp_path, RAGPULSE, block_tokens=10))


def request(t: float, ids: list[int], **more: object) -> dict[str, object]:
    return {"t": t, "type": "n", "in": 64 * len(ids) + 5, "out": 1, "hash_ids": ids, **more}


def session(name: str, *requests: object, scope: str = "local") -> dict[str, object]:
    return {"id": name, "block_size": 64, "hash_id_scope": scope, "requests": list(requests)}


def test_kv_cache_tester_keeps_sessions_apart_and_merges_them_by_time(tmp_path: Path) -> None:
    helper = {
        "t": 1.0,
        "type": "subagent",
        "agent_id": "a",
        "requests": [request(0.0, [1, 9]), request(3.0, [1, 9, 10])],
    }
    trace = opened(
        tmp_path,
        lines(
            session("one", request(0.0, [1, 2]), helper, request(2.0, [1, 2, 3])),
            session("two", request(0.5, [1, 2]), request(1.5, [1, 4])),
        ),
    )

    assert (trace.facts.format, trace.facts.block_tokens, trace.facts.has_partial_blocks) == (
        "kv-cache-tester",
        64,
        False,
    )
    assert [(row.at_s, row.session, row.ids) for row in rows(trace)] == [
        (0.0, 0, [0, 1]),
        (0.5, 1, [2, 3]),
        (1.0, 0, [0, 4]),
        (1.5, 1, [2, 5]),
        (2.0, 0, [0, 1, 6]),
        (4.0, 0, [0, 4, 7]),
    ]


def test_kv_cache_tester_ids_for_all_sessions_and_copies(tmp_path: Path) -> None:
    same = [request(0.0, [1, 2])]
    trace = opened(tmp_path, lines(session("one", *same, scope="global"), session("two", *same, scope="global")))

    assert [row.ids for row in rows(trace)] == [[0, 1], [0, 1]]
    assert [remark.what for remark in trace.records().remarks] == [
        "session two is an exact copy of one; both are replayed, and share nothing"
    ]


def test_kv_cache_tester_wants_an_id_for_each_full_block(tmp_path: Path) -> None:
    trace = opened(tmp_path, lines(session("one", {**request(0.0, [1, 2]), "in": 70}, request(1.0, [1]))))

    assert [row.ids for row in rows(trace)] == [[0]]
    assert trace.records().skipped == (
        Skipped(
            line=1,
            reason="the request at t = 0 has 2 ids and 70 input tokens, expected one id for each full block of 64",
        ),
    )


def test_token_ids_in_blocks_of_the_size_asked_for(tmp_path: Path) -> None:
    row = {"input_toks": 5, "output_toks": 2, "output_tok_ids": [9, 9]}
    data = lines(
        {**row, "arrival_time_ns": 5_000_000_000, "input_tok_ids": [1, 2, 3, 4, 5]},
        {**row, "arrival_time_ns": 6_500_000_000, "input_tok_ids": [1, 2, 3, 9, 5]},
    )

    assert rows(opened(tmp_path, data, block_tokens=2)) == [
        Row(0.0, 5, 2, UNKNOWN, [0, 1, 2]),
        Row(1.5, 5, 2, UNKNOWN, [0, 3, 4]),
    ]
    assert opened(tmp_path, data).facts.block_tokens == 16


VLLM_BATCHES = (
    [1.0, [["BlockStored", [11, 12], None, [1] * 32, 16, None, "GPU"]]],
    [2.0, [["BlockRemoved", [12], "GPU"], ["BlockStored", [13], 11, [2] * 16, 16, None, "GPU"]]],
    [3.0, [["BlockStored", [12], 11, [1] * 16, 16, None, "GPU"]], 0],
)
SAID = (
    "4 blocks of 16 tokens stored, 3 of them distinct, 1 (25.0 %) stored again after they had been removed, which more "
    "memory would have saved; 1 removed, at most 3 held at once"
)


@pytest.mark.parametrize(
    "data",
    [
        lines(*VLLM_BATCHES),
        b"".join(map(msgspec.msgpack.encode, VLLM_BATCHES)),
        lines(
            {"ts": 1.0, "events": [{"type": "BlockStored", "block_hashes": [11, 12], "block_size": 16}]},
            {"ts": 2.0, "events": [{"type": "BlockRemoved", "block_hashes": [12]}]},
            {"type": "BlockStored", "block_hashes": [13], "block_size": 16},
            {"type": "BlockStored", "block_hashes": [12], "block_size": 16},
        ),
    ],
    ids=["arrays", "msgpack", "names"],
)
def test_kv_events_are_refused_with_what_they_say(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputFileError) as refused:
        opened(tmp_path, data)

    assert str(refused.value).endswith(f"so no hit rate can be stated. They say: {SAID}")


def test_compressed_events_that_are_cut_off_say_how_far_they_were_read(tmp_path: Path) -> None:
    batch = msgspec.msgpack.encode([1.0, [["BlockStored", [1, 2], None, list(range(32)), 16, None]]])
    with pytest.raises(InputFileError, match=r"up to where the compressed file cannot be read on .*: 2 blocks of 16"):
        opened(tmp_path, gzip.compress(batch)[:-8])


def test_dynamos_events(tmp_path: Path) -> None:
    stored = {"parent_hash": None, "blocks": [{"block_hash": 1, "tokens_hash": 8}, {"block_hash": 2, "tokens_hash": 9}]}
    data = lines(
        {"event_id": 1, "data": {"stored": stored}},
        {"event_id": 2, "data": "cleared"},
        {"event_id": 3, "data": {"stored": stored}},
        {"event_id": 4, "data": {"removed": {"block_hashes": [1]}}},
    )

    with pytest.raises(InputFileError, match=r"4 blocks stored, 2 of them distinct, 2 \(50.0 %\) stored again"):
        opened(tmp_path, data)


def test_arrivals_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="trace: arrivals only: a table of token counts"):
        opened(tmp_path, b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,374,44\n")


def test_a_log_is_no_trace(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(json.dumps({"model": "m", "messages": []}) + "\n")

    assert open_trace(str(file)) is None


def test_formats_have_names_of_their_own_and_a_wrong_one_is_corrected(tmp_path: Path) -> None:
    assert len({reader.name for reader in TRACE_READERS}) == len(TRACE_READERS)
    with pytest.raises(UsageError, match=r"no trace format called 'moncake'.*did you mean 'mooncake'"):
        opened(tmp_path, MOONCAKE, "moncake")


def test_chunks_end_and_numbers_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hitrate.logs.traces.chunks._REQUESTS", 1)
    chunks = list(opened(tmp_path, MOONCAKE).chunks())

    assert [(list(chunk.ids), list(chunk.starts), list(chunk.at_s)) for chunk in chunks] == [
        ([0, 1], [0, 2], [0.0]),
        ([0, 2], [0, 2], [2.0]),
    ]


def test_lines_that_a_piece_cuts_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows(opened(tmp_path, MOONCAKE * 3))
    monkeypatch.setattr("hitrate.logs.traces.rows._PIECE", 7)

    assert rows(opened(tmp_path, MOONCAKE * 3)) == whole
