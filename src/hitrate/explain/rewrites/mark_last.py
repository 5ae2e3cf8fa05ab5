"""Cache markers where a conversation needs them: behind the opening and at the end of the newest message."""

from __future__ import annotations

from typing import Any, ClassVar

from hitrate.core.spans import Node
from hitrate.explain.rewrites.edits import Edit, edited, replaced, root_of
from hitrate.explain.rewrites.interface import Sent
from hitrate.explain.rewrites.messages import Message, messages

_MOST_IN_FRONT = 2


class MarkLast:
    """A second marker stands where the call before ended, so that a turn of many blocks still finds its entry."""

    name: ClassVar[str] = "mark-last"
    about: ClassVar[str] = "Markers stand behind the opening, on the newest message, and where the call before ended."
    without_effect: ClassVar[str] = "the markers stand there already, or this API has none to set"

    def learn(self, sent: Sent) -> None: ...

    def body(self, sent: Sent) -> bytes:
        marks = _MARKS.get(sent.dialect)
        if marks is None:
            return sent.body
        root = root_of(sent.body)
        ttl = next((marker.ttl for marker in sent.prompt.markers if marker.ttl), None)
        found = messages(root, sent.dialect)
        users = [index for index, message in enumerate(found) if message.is_user]
        wanted = {len(found) - 1, *users[-2:-1]} if users[-1:] == [len(found) - 1] else {len(found) - 1, *users[-1:]}
        edits: list[Edit] = []
        for index, message in enumerate(found):
            edits.extend(_marked(message, marks, index in wanted, ttl))
        edits.extend(_front(root, sent, marks, ttl))
        return edited(sent.body, root.text, edits)


class _OnBlocks:
    """Anthropic: a member of the block that ends the prefix."""

    front = ("system", "tools")

    def without(self, blocks: list[Any]) -> list[Any]:
        return [
            {name: value for name, value in block.items() if name != "cache_control"}
            if isinstance(block, dict)
            else block
            for block in blocks
        ]

    def marked(self, blocks: list[Any], ttl: str | None) -> list[Any]:
        mark = {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}
        places = [index for index, block in enumerate(blocks) if isinstance(block, dict) and _takes_mark(block)]
        return [{**one, "cache_control": mark} if [index] == places[-1:] else one for index, one in enumerate(blocks)]


def _takes_mark(block: dict[str, Any]) -> bool:
    """Thinking takes no marker, and neither does an empty text."""
    return block.get("type") not in ("thinking", "redacted_thinking") and block.get("text") != ""


class _BetweenBlocks:
    """Bedrock Converse: a block of its own behind the prefix."""

    front = ("system",)

    def without(self, blocks: list[Any]) -> list[Any]:
        return [block for block in blocks if not (isinstance(block, dict) and "cachePoint" in block)]

    def marked(self, blocks: list[Any], ttl: str | None) -> list[Any]:
        point = {"type": "default", **({"ttl": ttl} if ttl else {})}
        return [*blocks, {"cachePoint": point}]


_MARKS: dict[str, _OnBlocks | _BetweenBlocks] = {
    "anthropic-messages": _OnBlocks(),
    "bedrock-converse": _BetweenBlocks(),
}


def _marked(message: Message, marks: _OnBlocks | _BetweenBlocks, wanted: bool, ttl: str | None) -> list[Edit]:
    value = message.content.value
    if isinstance(value, str):
        if not wanted or not value:
            return []
        value = [{"type": "text", "text": value}]
    new = marks.without(value)
    new = marks.marked(new, ttl) if wanted else new
    return [] if new == message.content.value else [replaced(message.content, new)]


def _front(root: Node, sent: Sent, marks: _OnBlocks | _BetweenBlocks, ttl: str | None) -> list[Edit]:
    """A marker behind the opening where there is none. More than two there would leave no room in the messages."""
    in_front = [
        marker for marker in sent.prompt.markers if marker.pointer.split("/")[1] in ("system", "tools", "toolConfig")
    ]
    if 0 < len(in_front) <= _MOST_IN_FRONT:
        return []
    edits: list[Edit] = []
    for name in marks.front:
        node = root.get(name)
        if node is None or not node.value:
            continue
        value = [{"type": "text", "text": node.value}] if isinstance(node.value, str) else list(node.value)
        new = marks.without(value)
        edits.append(replaced(node, new if edits else marks.marked(new, ttl)))
        if not in_front:
            break
    return edits
