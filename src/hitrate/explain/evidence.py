"""What is known of a call when the cause of a loss is looked for: the facts of it and of the calls before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from hitrate.caches.rules import RuleSet
from hitrate.core.model import Happening, Usage
from hitrate.core.prompt import Marker, Setting

Relation = Literal[
    "first",
    "append",
    "repeat",
    "rewind",
    "branch",
    "opening",
    "rewrite",
    "summary",
    "side",
]
"""How a prompt relates to the earlier one it is compared with.

- first: nothing like it was sent before
- append: the earlier prompt with something behind it
- repeat: the same prompt once more (a retry)
- rewind: the earlier prompt cut short
- branch: the same conversation up to its newest question, and another question there (an edit, a regeneration)
- opening: another conversation with the same tools and instructions in front
- rewrite: the same conversation with something changed inside: a break
- summary: a call of its own that carries the conversation's text in another form (a compaction)
- side: another kind of request that ran beside a conversation (a title, a classification)
"""

HEALTHY: frozenset[Relation] = frozenset({"first", "append", "repeat", "rewind", "branch", "opening", "side"})


class Mark(Struct, frozen=True, gc=False):
    """An explicit cache marker: how many blocks and code points of prompt stand up to it, and its lifetime."""

    blocks: int
    characters: int
    ttl: str | None = None


class Seen(Struct, kw_only=True, gc=False):
    """What is kept of every call: numbers and hashes, no text. Times are Unix seconds."""

    index: int
    """0-based position in the log."""
    conversation: int = 0
    """Number of the conversation it was found to belong to."""
    line: int | None = None
    """Line of the log, from 1."""
    session: str = ""
    """The log's own name of the session, "" where it gives none."""
    label: str = ""
    dialect: str = ""
    target: str = ""
    model: str | None = None
    at: float | None = None
    done: float | None = None
    """When its reply ended."""
    ttft_s: float | None = None
    answered: bool = True
    """False for a call that was refused or failed: it wrote nothing."""
    status: int | None = None
    usage: Usage = Usage()
    key: tuple[Setting, ...] = ()
    others: tuple[Setting, ...] = ()
    affinity: str | None = None
    host: str | None = None
    """Which provider, host or replica answered, where the response says so."""
    parts: int = 0
    blocks: int = 0
    characters: int = 0
    marks: tuple[Mark, ...] = ()
    rebuilt: bool = False
    """Its request was put together from a log that does not hold it: see `hitrate.explain.rebuilt`."""
    stray_marks: tuple[str, ...] = ()
    """JSON pointers of members that are cache markers on another wire and that this one does not read."""
    happenings: tuple[Happening, ...] = ()
    diagnosis: dict[str, Any] | None = None


class Pair(Struct, frozen=True, kw_only=True, gc=False):
    """A call beside the earlier one it continues, and beside the one whose state serves it best.

    Characters are code points of prompt text, counted in whole parts. `kept_characters` is text of this prompt behind
    the first part that differs which the earlier prompt had, too: what a break in front of it costs.
    `shift` is by how many parts the earlier one's remaining text moved towards the front (a sliding window).
    """

    relation: Relation
    against: int | None = None
    shared_parts: int = 0
    shared_characters: int = 0
    kept_characters: int = 0
    shift: int = 0
    best: int | None = None
    """The answered call, of any conversation and key, whose prompt agrees longest with this one."""
    best_characters: int = 0
    conversation: int = 0
    """Number of the conversation, from 0 in the order in which they begin."""
    near: int | None = None
    """Where a conversation starts: the newest call of another whose tools and instructions are not the same but have
    the same shape, as with a name or a date on top. Whether their texts agree is not known."""
    retry_of: int | None = None
    """The newest earlier call with this very prompt, answered or not."""
    denied: int | None = None
    """A call that was taken for this conversation with other instructions, until this one went on without it: it is
    another agent that began with the same question."""


class Divergence(Struct, frozen=True, kw_only=True, gc=False):
    """The first place where two prompts differ, as sent.

    `pointer` is a JSON pointer into the bodies. Inside a string, `offset` counts code points and `was` and `now` start
    there; elsewhere `offset` is None and they name what stands there, as "member order_no" or a type.
    """

    pointer: str
    offset: int | None
    was: str
    now: str
    change: str
    """What kind of change: one of `hitrate.explain.diff.CHANGES`."""
    kind: str
    """Of the segment it lies in: "tools", "schema", "system", "user", "assistant", "tool" or "image"."""
    cacheable_chars: int
    cacheable_share: float
    """Of the prompt text of the later request."""
    value_was: str | None = None
    """The whole string or value there, where it is at most some thousand characters."""
    value_now: str | None = None
    rest_was: str = ""
    """Up to two thousand code points of the string from the offset on, in the earlier prompt."""
    rest_now: str = ""
    """The same in the later one."""
    same_end: int = 0
    """Code points behind the change that both strings end with: text that was sent before and stands behind it."""
    front: str = ""
    """Up to two thousand code points of the string right in front of the offset, which both prompts share."""
    names: tuple[str, ...] = ()
    """Members, tools or messages concerned: added, removed or moved."""
    words: str = ""
    """The change in one sentence."""


class Facts(Struct, frozen=True, kw_only=True, gc=False):
    """What holds for a whole log."""

    rule: RuleSet | None = None
    """The cache rule of the call's target and model, None where none is known."""
    granularity: int = 1
    minimum_tokens: int | None = None
    """The shortest prefix that is kept: 0 where any is, None where that is not known."""
    ttl_s: float | None = None
    """Lifetime of an entry whose marker names none; None where there is none or it is not known."""
    requires_marks: bool = False
    """Nothing is cached without explicit markers."""
    look_back: int | None = None
    most_marks: int | None = None
    exact_at_breakpoints: bool = False
    """No fall-back to a shorter prefix than one that ends at a breakpoint."""
    omits_zero: bool = False
    """The wire leaves counts of 0 out of its usage (protocol buffers as JSON: Gemini)."""
    affinity_knob: str | None = None
    rules: dict[str, Any] = {}
    """As the log itself states them."""
    server: dict[str, Any] = {}
    """What the log says of the engine: name, arguments, lines of its own log."""

    @property
    def least_tokens(self) -> int:
        """The minimum where it is known, else 0: no prefix is taken for too short."""
        return self.minimum_tokens or 0


class Evidence(Struct, frozen=True, kw_only=True, gc=False):
    """All that a cause is recognised by."""

    call: Seen
    before: Seen | None
    """The earlier call it is compared with."""
    pair: Pair
    facts: Facts
    divergence: Divergence | None = None
    """None where the earlier prompt only grew."""
    reusable_tokens: int | None = None
    """Prompt tokens that the best earlier call leaves for this one, by the text."""
    lost_tokens: int | None = None
    """Of those, the ones that were not served; None where that is not reported."""
    between: Sequence[Seen] = ()
    """Calls between `before` and this one, in order, of any conversation."""
    earlier: Sequence[Seen] = ()
    """The conversation's calls before this one, in order."""
    later: Sequence[Seen] = ()
    """The conversation's calls after this one, in order: causes beside the text are looked for when the whole log was
    read, since whether hits come and go, or never come, shows only then."""
    markers: Sequence[Marker] = ()
    """The call's explicit markers with their places, where its canonical prompt was made."""
    markers_before: Sequence[Marker] = ()
    """Those of `before`."""
    lineage: Sequence[Divergence] = ()
    """Breaks that this conversation had before, the newest last."""


class Recognised(Struct, frozen=True, kw_only=True, gc=False):
    """What a cause says of a call that it explains."""

    confidence: Literal["certain", "likely", "possible"]
    summary: str
    """One sentence with the values at hand."""
    advice: str
    ruled_out: tuple[str, ...] = ()
    voice: Literal["yours to change", "observation", "provider suspected"] | None = None
    """Where it differs from the cause's own."""
    pointer: str | None = None
    """Where the cause lies, when that is not the divergence: a setting, a marker."""
    where_they_part: bool = False
    """Whether it lies where the two prompts part, though nothing was changed there: the finding names that place."""
    was: str | None = None
    now: str | None = None
