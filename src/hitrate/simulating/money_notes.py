"""What is to be known of the money of a result before it is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hitrate.core.money import Price, Unpriced, plain
from hitrate.core.numerals import counted
from hitrate.simulating.money import hosted_usd
from hitrate.simulating.replaying import Replayed
from hitrate.simulating.wanted import Wanted

_AMOUNTS = (
    ("input", "input_usd_per_mtok"),
    ("cached", "cached_usd_per_mtok"),
    ("output", "output_usd_per_mtok"),
    ("written", "written_usd_per_mtok"),
    ("written for an hour", "written_1h_usd_per_mtok"),
)


def notes_on_money(wanted: Wanted, replayed: Sequence[Replayed], span_s: float | None) -> Iterator[str]:
    if wanted.price is not None:
        yield from _of_vendor(wanted.price, replayed)
    if wanted.usd_per_gpu_hour is None:
        return
    if span_s is None and wanted.timing is None:
        yield "the trace has no times, so it is not known for how long GPUs are needed"
    else:
        gpus = f"{wanted.gpus_per_replica} GPU{'s' if wanted.gpus_per_replica > 1 else ''} a replica"
        price = plain(wanted.usd_per_gpu_hour)
        yield f"GPUs at ${price} an hour, {gpus}, are paid for from the first request to the last"


def _of_vendor(price: Price, replayed: Sequence[Replayed]) -> Iterator[str]:
    named = ", ".join(
        f"{name} {plain(found)}" for name, member in _AMOUNTS if (found := getattr(price, member)) is not None
    )
    yield f"billed in dollars per million tokens at {named}, from {price.source}"
    if price.note:
        yield price.note
    billed = next((one.billed for one in replayed if one.billed), ())
    if not billed:
        if replayed:
            yield "no bill: these rules serve what no engine serves"
        return
    found, _ = hosted_usd(billed, price, None)
    if isinstance(found, Unpriced):
        yield f"no bill: {found.reason}"
    if price.written_usd_per_mtok is not None:
        yield "what is not served is billed as written, as if every prompt were marked to its end"
    if missing := sum(one.without_output for one in billed):
        yield f"{counted(missing, 'request')} of unknown output length: no output of theirs is billed"
