"""How many conversations prompts are of, told by how they go on from each other."""

from __future__ import annotations

from array import array

import pytest

from hitrate.core.trace import Chunk
from hitrate.simulating.conversations import Conversations

BLOCK = 4


def chunk(prompts: list[list[int]], beyond: int = 0) -> Chunk:
    """`beyond`: tokens of each behind its full blocks, which have an id too."""
    made = Chunk(array("d"), array("q"), array("q"), array("q"), array("q", [0]), array("q"))
    for number, prompt in enumerate(prompts):
        made.at_s.append(number)
        made.input_tokens.append(BLOCK * len(prompt) + beyond)
        made.output_tokens.append(1)
        made.sessions.append(-1)
        made.ids.extend([*prompt, 100 + number] if beyond else prompt)
        made.starts.append(len(made.ids))
    return made


@pytest.mark.parametrize(
    ("prompts", "conversations"),
    [
        ([[0], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4]], 1),
        ([[0, 1], [0, 2], [0, 1, 3], [0, 2, 4]], 2),
        ([[0, 1], [0, 1, 2], [0, 1, 3]], 2),  # the second one opens as the first did
        ([[0, 1], [0, 1], [0, 1]], 3),
        ([[0], [1], [2]], 3),
        ([[], []], 2),
        ([[0], [1], [2], [3], [4], [5], [6]], 5),
    ],
)
@pytest.mark.parametrize("beyond", [0, 3])
def test_conversations_up_to_enough(prompts: list[list[int]], conversations: int, beyond: int) -> None:
    found = Conversations(BLOCK, 5)
    for prompt in (prompts[:2], prompts[2:]):
        found.add(chunk(prompt, beyond))

    assert found.number == conversations
