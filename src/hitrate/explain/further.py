"""A second change in front of the messages, behind the one where two prompts part: tools in another order, say, and a
clock in the system prompt. Who mends the first alone gains no more than what stands between the two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from hitrate.core.prompt import CanonicalPrompt
from hitrate.explain.compared import Compared
from hitrate.explain.diff import Request, described, parted
from hitrate.explain.evidence import Divergence, Recognised
from hitrate.explain.kept import kept_behind
from hitrate.explain.labels import Labelled

_HEAD = ("tools", "schema", "system")
"""In the order in which they are rendered."""


class Further(NamedTuple):
    divergence: Divergence
    kept_characters: int
    """Code points behind it that both prompts have."""


def further_change(compared: Compared, dialect: str, read: Callable[[bytes, str], Request]) -> Further | None:
    """The next change in front of the messages behind the one where two requests part, as if that one were not there;
    None without one. `read` makes a request of a body in `dialect`."""
    kind = compared.parting.kind
    before, now = compared.prompts
    if kind not in _HEAD or _rest_of_head(before, kind) == _rest_of_head(now, kind):
        return None
    body = _aligned(*compared.bodies, compared.parting.pointer)
    if body is None:
        return None
    try:
        aligned = read(body, dialect)
    except ValueError:
        return None
    parting = parted(aligned, compared.new)
    if parting is None or parting.kind not in _HEAD or parting.kind == kind:
        return None
    return Further(described(parting), kept_behind(aligned.prompt, now) + parting.same_end)


def behind_another(recognised: Recognised, first: str) -> Recognised:
    """What is said of a further change behind one whose cause is named `first`."""
    summary = f"{recognised.summary} It stands behind another change ({first}); mend both, as each alone gains little."
    return replace(recognised, summary=summary)


def shared_out(labels: Sequence[Labelled], cause: str, further: str, tokens: int) -> tuple[Labelled, ...]:
    """Labels of which up to `tokens` that `cause` lost behind a break are lost by the `further` one, too, and count
    there. The tokens add up as before."""
    shared: list[Labelled] = []
    for one in labels:
        if (one.label, one.cause) == ("behind a break", cause):
            behind = min(tokens, one.tokens)
            parts = one._replace(tokens=one.tokens - behind), one._replace(cause=further, tokens=behind)
            shared += (part for part in parts if part.tokens)
        else:
            shared.append(one)
    return tuple(shared)


def _rest_of_head(prompt: CanonicalPrompt, kind: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in prompt.segments if one.kind in _HEAD and one.kind != kind]


def _aligned(was: bytes, now: bytes, pointer: str) -> bytes | None:
    """The earlier body with the later one's tools or schema: whatever member of the request `pointer` lies in."""
    member = pointer[1:].partition("/")[0].replace("~1", "/").replace("~0", "~")
    try:
        old, new = json.loads(was), json.loads(now)
        if not (isinstance(old, dict) and isinstance(new, dict)) or member in ("messages", "input", "contents"):
            return None
        old.pop(member, None)
        if member in new:
            old[member] = new[member]
        return json.dumps(old).encode()
    except (ValueError, RecursionError):
        return None
