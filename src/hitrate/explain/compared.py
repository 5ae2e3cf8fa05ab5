"""Two requests of a log side by side, looked at no further than is asked for."""

from __future__ import annotations

from functools import cached_property

from hitrate.core.prompt import CanonicalPrompt
from hitrate.explain.account import ODD_TOKENS, Account, tokens_of
from hitrate.explain.diff import Parting, described
from hitrate.explain.evidence import Divergence, Seen
from hitrate.explain.kept import share_in_common, tools_in_common
from hitrate.explain.rendered import behind, kept_behind, lies_in_rendered

ODD_CHARACTERS = 4 * ODD_TOKENS
"""Text behind a change on top of another conversation that is not worth a word."""

SAME_TOOLS = 0.6
"""Of the tools, by name, that two conversations share for them to be of one agent: a helper with a few of another's
tools is an agent of its own."""

NEAR_SHARE = 0.6
"""Of the shorter one, that two conversations' first prompts have in common around what differs on top, for one of them
to be the other with something else there."""

_SAME_VALUES = ("json order", "json text", "list order", "white space")


class Compared:
    def __init__(self, parting: Parting) -> None:
        self.parting = parting
        self.old, self.new = parting.old, parting.new

    @cached_property
    def divergence(self) -> Divergence:
        """The parting in words."""
        return described(self.parting)

    @cached_property
    def kept_characters(self) -> int:
        """Code points of whole segments behind it that both prompts have."""
        return kept_behind(*self.prompts)

    @property
    def prompts(self) -> tuple[CanonicalPrompt, CanonicalPrompt]:
        return self.old.prompt, self.new.prompt

    @property
    def bodies(self) -> tuple[bytes, bytes]:
        return self.old.body, self.new.body

    @property
    def is_near(self) -> bool:
        """Whether two conversations, of which these are the first requests, are one but for something inside the front
        of the prompt or among its tools, and what stands behind that is worth a word."""
        if not (self._is_alike_around() or self._differs_in_tools()):
            return False
        return behind(self.parting, self.kept_characters) > ODD_CHARACTERS

    def _is_alike_around(self) -> bool:
        """Whether the prompts are one text with something else inside its front.

        A rendered prompt can have its instructions in the first user's turn. There most of the text has to stand behind
        what differs, which is not the case where a question or a document does.
        """
        parting = self.parting
        rendered = lies_in_rendered(parting.pointer)
        if parting.kind not in (("system", "user") if rendered else ("tools", "schema", "system")):
            return False
        same = behind(parting, self.kept_characters) if rendered else parting.same_end
        if parting.kind != "user":
            same += parting.cacheable_chars
        return same >= NEAR_SHARE * parting.shorter

    def _differs_in_tools(self) -> bool:
        """Whether the prompts are those of one agent but for its tools, of which some moved, changed, came or went, or
        but for how its response schema was written."""
        if self.parting.kind == "tools":
            may_be = tools_in_common(*self.prompts) >= SAME_TOOLS
        else:
            may_be = self.parting.kind == "schema" and self.divergence.change in _SAME_VALUES
        return may_be and share_in_common(*self.prompts) >= NEAR_SHARE


def behind_break(account: Account, seen: Seen, where: Divergence | Parting, kept_characters: int) -> Account:
    """What of a prompt could have been served in front of a change, and behind it."""
    reusable = max(account.reusable_tokens, tokens_of(None, seen, share=where.cacheable_share))
    kept = tokens_of(None, seen, share=behind(where, kept_characters) / max(1, seen.characters))
    return Account(reusable, min(kept, (seen.usage.prompt_tokens or kept) - reusable))
