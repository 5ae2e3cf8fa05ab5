"""Calls as an anonymised trace."""

from __future__ import annotations

import io
import json

import pytest

from hitrate.core.model import Call, Timing, Usage
from hitrate.logs.exports import mooncake


def call(tokens, at=100.0, *, output=5, prompt=None, model="m", body=b"{}"):
    """A call whose prompt has these tokens, which are put into its label."""
    return Call(
        target="t",
        dialect="d",
        body=body,
        model=model,
        label=json.dumps(tokens),
        usage=Usage(prompt_tokens=prompt, output_tokens=output),
        timing=None if at is None else Timing(at=at, sent_at_s=at),
    )


def trace(*calls, block_tokens=4, salt=b"s"):
    out = io.BytesIO()
    written = mooncake.write(calls, out, lambda one: json.loads(one.label), block_tokens=block_tokens, salt=salt)
    return [json.loads(line) for line in out.getvalue().splitlines()], written


def test_a_conversation_shares_the_ids_of_its_whole_blocks():
    rows, written = trace(call(list(range(10)), 100.0), call(list(range(13)), 101.5), call([9, *range(1, 13)], 102.0))
    assert rows == [
        {"timestamp": 0, "input_length": 10, "output_length": 5, "hash_ids": [0, 1, 2]},
        {"timestamp": 1500, "input_length": 13, "output_length": 5, "hash_ids": [0, 1, 3, 4]},
        {"timestamp": 2000, "input_length": 13, "output_length": 5, "hash_ids": [5, 6, 7, 8]},
    ]
    assert (written.calls, written.tokens, written.blocks, written.distinct_blocks) == (3, 36, 11, 9)


@pytest.mark.parametrize(("tokens", "blocks"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2)])
def test_a_block_that_is_not_full_has_an_id_too(tokens, blocks):
    rows, _ = trace(call(list(range(tokens))))
    assert (rows[0]["input_length"], len(rows[0]["hash_ids"])) == (tokens, blocks)


def test_calls_stand_in_the_order_they_were_sent_and_ids_count_in_it():
    rows, _ = trace(call([1], 105.0), call([2], 100.0))
    assert [(row["timestamp"], row["hash_ids"]) for row in rows] == [(0, [0]), (5000, [1])]


def test_models_share_nothing():
    rows, _ = trace(call([1, 2]), call([1, 2], model="other"))
    assert [row["hash_ids"] for row in rows] == [[0], [1]]


def test_what_is_not_known_is_null_or_left_out_and_counted():
    rows, written = trace(call([1], output=None, prompt=2), call([1], None), call([1], body=b""))
    assert rows == [{"timestamp": 0, "input_length": 1, "output_length": None, "hash_ids": [0]}]
    assert (written.without_output, written.without_time, written.without_request) == (1, 1, 1)
    assert (written.reported_tokens, written.counted_tokens) == (2, 1)


def test_a_request_that_cannot_be_read_is_left_out():
    out = io.BytesIO()
    written = mooncake.write([call([1])], out, lambda one: [][0:] or _raise(), salt=b"s")
    assert (out.getvalue(), written.without_request) == (b"", 1)


def _raise():
    raise ValueError("no such wire")
