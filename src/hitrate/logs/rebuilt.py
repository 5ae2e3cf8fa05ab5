"""Requests that a log does not hold, put together from what it has of the conversation.

Such a body has the messages in their order and nothing of how they were written down: members are sorted, white space
is gone. So of two of them the texts can be compared, and no difference of bytes shows that was not in a text.
`Call.rebuilt` says so of a call, and `hitrate.explain.rebuilt` what is not concluded from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hitrate.core.records import Remark


def rebuilt(**members: Any) -> bytes:
    """A request body of the members that are not None."""
    known = {name: value for name, value in members.items() if value is not None}
    return sorted_json(known).encode("utf-8", "surrogatepass")


def sorted_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def before_each_answer(messages: Sequence[dict[str, Any]]) -> Iterator[tuple[int, Sequence[dict[str, Any]]]]:
    """The index of every assistant message of a whole conversation, and what was sent to get it."""
    for index, message in enumerate(messages):
        if message.get("role") == "assistant" and index > 0:
            yield index, messages[:index]


def rebuilt_remark(missing: str) -> Remark:
    """To be said once of a log whose requests were rebuilt. `missing`: what it does not hold of them."""
    return Remark(
        line=None,
        what=f"the requests are put together from the conversation, without {missing}: "
        "a change there, or of white space and key order, does not show",
    )
