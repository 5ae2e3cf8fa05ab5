"""How a log's dialect counts, where the log brings prices or costs of its own: the right bill, and the one of the usual
mistake.

Where cached tokens are part of the prompt tokens (inclusive), adding both bills the cached part twice; where they stand
beside the input tokens (exclusive), the input tokens alone leave reads and writes unbilled.
"""

from __future__ import annotations

from decimal import Decimal

from hitrate.core.findings import Finding, Oddity
from hitrate.core.model import Usage
from hitrate.core.money import Bill, Price, Unpriced, bill
from hitrate.explain.oddities.whole_log import whole_log_finding

_SAME = Decimal("0.01")
"""Share by which two bills of the same tokens may differ: prices are rounded, and change."""

_MILLION = Decimal(1_000_000)


PRICING_ODDITIES = (
    Oddity(
        name="how-tokens-are-billed",
        verdict="pricing",
        voice="observation",
        about="The log brings its own prices, and its wire counts cached tokens in a way that is easily billed wrong.",
        reports=("https://github.com/BerriAI/litellm/issues/14849",),
    ),
    Oddity(
        name="wrong-cost-logged",
        verdict="pricing",
        voice="yours to change",
        about="The cost that the log states is that of the usual mistake with cached tokens.",
        reports=("https://github.com/Aider-AI/aider/issues/5516",),
    ),
)


class Pricing:
    """`add` every call of a log in order, then take `findings`."""

    def __init__(self) -> None:
        self._tokens = {True: _Tokens(), False: _Tokens()}
        self._right = Bill()
        self._wrong = Decimal(0)
        self._logged = Decimal(0)
        self._calls: list[int] = []
        self._all_logged = True
        self._own = False

    @property
    def is_over(self) -> bool:
        """Whether nothing can be said any more of calls without a price of the log's own: not all have a cost."""
        return not self._all_logged

    def add(self, index: int, usage: Usage, price: Price | None, *, own: bool, logged_usd: float | None = None) -> None:
        """`own`: the price comes from the log itself, which then gives one for all calls. `logged_usd` is what the log
        says the call cost.

        A call without a price, or without cached or written tokens, tells nothing.
        """
        if price is None or not ((usage.cached_tokens or 0) + (usage.written_tokens or 0)):
            return
        if not own and (logged_usd is None or not self._all_logged):
            self._all_logged = False  # nothing can be said any more
            return
        right = bill(usage, price)
        if isinstance(right, Unpriced) or usage.prompt_tokens is None:
            return
        inclusive = is_inclusive(usage)
        self._own = self._own or own
        self._calls.append(index)
        self._right = self._right.plus(right)
        self._wrong += _wrong_bill(usage, price.for_prompt(usage.prompt_tokens), right, inclusive)
        self._tokens[inclusive].add(usage)
        if logged_usd is None:
            self._all_logged = False
        else:
            self._logged += Decimal(str(logged_usd))

    def findings(self) -> tuple[Finding, ...]:
        """None for a log without prices of its own whose costs, if it has any, are not those of the mistake."""
        if not self._calls:
            return ()
        right, wrong = self._right.usd, self._wrong
        mispriced = self._all_logged and _near(self._logged, wrong) and not _near(self._logged, right)
        if not self._own and not mispriced:
            return ()
        logged = f" The log's own cost, {_usd(self._logged)}, is the wrong one." if mispriced else ""
        parts = [self._tokens[kind].sentence(kind) for kind in (True, False) if self._tokens[kind].prompt]
        return (
            whole_log_finding(
                "pricing",
                "wrong-cost-logged" if mispriced else "how-tokens-are-billed",
                self._calls,
                f"{' '.join(parts)} The bill is {_usd(right)}, not {_usd(wrong)}; without caching it would be "
                f"{_usd(self._right.without_caching)}.{logged}",
                " ".join(self._tokens[kind].advice(kind) for kind in (True, False) if self._tokens[kind].prompt),
                voice="yours to change" if mispriced else "observation",
            ),
        )


class _Tokens:
    """Sums over the calls of one way of counting."""

    def __init__(self) -> None:
        self.prompt = self.cached = self.written = self.output = 0

    def add(self, usage: Usage) -> None:
        self.prompt += usage.prompt_tokens or 0
        self.cached += usage.cached_tokens or 0
        self.written += usage.written_tokens or 0
        self.output += usage.output_tokens or 0

    @property
    def fresh(self) -> int:
        return self.prompt - self.cached - self.written

    def sentence(self, inclusive: bool) -> str:
        writes = f" and {self.written:,} written" if self.written else ""
        if inclusive:
            return f"The {self.prompt:,} prompt tokens contain the {self.cached:,} cached{writes} ones."
        return (
            f"The {self.fresh:,} input tokens stand beside {self.cached:,} cached{writes} ones, {self.prompt:,} in all."
        )

    def advice(self, inclusive: bool) -> str:
        writes = f" {self.written:,} written," if self.written else ""
        how = "prompt minus cached" if inclusive else "the input tokens as they are"
        return (
            f"Bill {self.fresh:,} fresh ({how}),{writes} {self.cached:,} cached and {self.output:,} output tokens, "
            "each at its own price."
        )


def is_inclusive(usage: Usage) -> bool:
    """Whether the reply's own input figure held cached and written tokens: then they were not added to it."""
    added = usage.sources.get("prompt_tokens", "").split(" + ")
    return usage.cached_source not in added and usage.sources.get("written_tokens", "-") not in added


def _wrong_bill(usage: Usage, price: Price, right: Bill, inclusive: bool) -> Decimal:
    fresh_price = Decimal(str(price.input_usd_per_mtok or 0))
    cached, written = usage.cached_tokens or 0, usage.written_tokens or 0
    if inclusive:
        return right.usd + (cached + written) * fresh_price / _MILLION
    return right.without_caching - (cached + written) * fresh_price / _MILLION


def _near(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) <= _SAME * max(abs(one), abs(other))


def _usd(amount: Decimal) -> str:
    return f"${amount:,.6f}" if abs(amount) < 10 else f"${amount:,.2f}"
