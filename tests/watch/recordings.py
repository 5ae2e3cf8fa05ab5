"""Recordings that need no store."""

from collections.abc import Iterable, Iterator

from hitrate.core.cost import Quote
from hitrate.core.model import Call
from hitrate.core.money import Price
from hitrate.watch.feed import Feed

PRICE = Price(input_usd_per_mtok=3, cached_usd_per_mtok=0.3, written_usd_per_mtok=3.75, output_usd_per_mtok=15)


class Recorded:
    """Calls by position, from 1. `calls` may grow; what is set to None is gone."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self.calls: list[Call | None] = list(calls)
        self.asked = 0

    def calls_after(self, position: int) -> Iterator[tuple[int, Call]]:
        self.asked += 1
        for number in range(position, len(self.calls)):
            call = self.calls[number]
            if call is not None:
                yield number + 1, call


def read_to_the_end(feed: Feed) -> Feed:
    while not feed.step():
        pass
    return feed


def feed_of(calls: Iterable[Call] | Recorded, **options: object) -> Feed:
    recorded = calls if isinstance(calls, Recorded) else Recorded(calls)
    return Feed(recorded, recording="r1", quote=lambda call: Quote(price=PRICE), **options)  # type: ignore[arg-type]
