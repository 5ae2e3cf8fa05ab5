import json

import pytest

from hitrate.core.model import StreamEvent
from hitrate.targets.dialects.generated_ids import UNNAMED_END
from hitrate.targets.dialects.openai_chat import OpenAIChat


def chunk(text: str, *ids: int) -> dict:
    entries = [{"id": number, "bytes": list(text.encode())} for number in ids]
    return {"choices": [{"delta": {"content": text}, "finish_reason": None, "logprobs": {"content": entries}}]}


def last(finish_reason: str, completion_tokens: int) -> list[dict]:
    end = {"choices": [{"delta": {}, "finish_reason": finish_reason}], "__verbose": {"tokens": [], "id_slot": 2}}
    return [end, {"choices": [], "usage": {"completion_tokens": completion_tokens}}]


@pytest.mark.parametrize(
    ("reply", "ids"),
    [
        ({"__verbose": {"tokens": [5, 6]}, "usage": {"completion_tokens": 2}}, [5, 6]),
        ({"__verbose": {"tokens": [5]}, "usage": {"completion_tokens": 2}}, None),
        ({"usage": {"completion_tokens": 2}}, None),
        ({"__verbose": {"tokens": [5]}}, [5]),
        ([chunk(" a", 5), chunk(" b", 6), *last("length", 2)], [5, 6]),
        ([chunk(" a", 5), chunk(" b", 6), *last("stop", 3)], [5, 6, UNNAMED_END]),
        ([chunk(" a", 5), chunk(" b", 6), *last("length", 3)], None),
        ([chunk(" a", 5), chunk("\N{GRINNING FACE}"), *last("stop", 2)], None),
        ([chunk(" a"), chunk(" b"), *last("length", 2)], None),
        ([chunk(" a", 5)], None),
        ([], None),
    ],
    ids=[
        "whole body", "some missing", "members not known", "no usage", "stream",
        "end of turn is not named", "one missing", "half a character held back", "no ids in the stream",
        "stream cut short", "no stream",
    ],
)  # fmt: skip
def test_generated_ids(reply: dict | list[dict], ids: list[int] | None):
    if isinstance(reply, dict):
        message = {"choices": [{"message": {"role": "assistant", "content": "text"}, "finish_reason": "length"}]}
        reading = OpenAIChat().read_body(json.dumps(message | reply).encode())
    else:
        reading = OpenAIChat().read_stream([StreamEvent(0, 0, json.dumps(one).encode()) for one in reply])
    assert (reading.reply.token_ids if reading.reply is not None else None) == (None if ids is None else tuple(ids))
