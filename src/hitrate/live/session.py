"""A target opened for a run: connected, its models listed, a model and its price chosen."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

from hitrate.core.money import Price, Unpriced, plain, upper_bound
from hitrate.errors import KeyMissing, KeyRefused, TargetError, Unreachable, UsageError
from hitrate.live.client import Client, Sign
from hitrate.live.failures import where_to_mend_the_key
from hitrate.targets.dialects import dialect as dialect_called
from hitrate.targets.dialects.interface import Dialect
from hitrate.targets.models import Model, parse_models
from hitrate.targets.presets import Target, require_base_url
from hitrate.targets.prices import PriceBook, read_user_prices


class Opened(Struct, frozen=True, kw_only=True):
    client: Client
    dialect: Dialect
    target: Target
    models: tuple[Model, ...]
    list_refused: str | None = None
    """What the target said when it refused the list of models for the key's sake."""


@asynccontextmanager
async def connected(
    target: Target,
    *,
    key: str | None,
    headers: Mapping[str, str],
    timeout_s: float,
    connections: int = 1,
    max_retries: int = 5,
    on_wait: Callable[[float, int], None] = lambda seconds, status: None,
) -> AsyncIterator[Client]:
    """A client with open connections. Raises Unreachable, with the command that starts the target, and KeyMissing
    where requests would have to be signed and cannot be."""
    dialect = dialect_called(target.dialect)
    given = {name.lower() for name in headers}
    own = {} if key is None else dialect.auth_headers(key)
    client = Client(
        require_base_url(target),
        target=target.name,
        dialect=dialect,
        headers={name: value for name, value in own.items() if name.lower() not in given} | dict(headers),
        timeout_s=timeout_s,
        max_retries=max_retries,
        on_wait=on_wait,
        sign=_signer(target) if target.signing is not None and key is None else None,
    )
    async with client:
        try:
            await client.warm(connections)
        except Unreachable as error:
            raise unreachable(target, error.message) from None
        yield client


def _signer(target: Target) -> Sign:
    """Signs as AWS does. Raises KeyMissing when that is not possible here, and before anything is sent."""
    from hitrate.targets.dialects.bedrock_signing import sign

    try:
        sign("POST", require_base_url(target), {}, b"")
    except (KeyMissing, UsageError) as error:
        raise KeyMissing(
            f"{target.name} needs a key: {target.key_variable} is not set, and requests cannot be signed "
            f"({error.message.removesuffix('; nothing was sent')}); nothing was sent"
        ) from None
    return lambda url, body: sign("POST", url, {}, body)


def unreachable(target: Target, what: str) -> Unreachable:
    """`what` names the address; the target's name goes in front unless it is that address."""
    name = "" if f"//{target.name}" in what else f"{target.name}: "
    start = (
        f"start it with: {target.start_command}" if target.start_command else "is it running, and the address right?"
    )
    return Unreachable(f"{name}{what}; {start}")


@asynccontextmanager
async def open_target(target: Target, **settings: Any) -> AsyncIterator[Opened]:
    """As `connected`, with the models listed (none where the target has no list to show)."""
    async with connected(target, **settings) as client:
        dialect = dialect_called(target.dialect)
        try:
            models, refused = await list_models(client), None
        except KeyRefused as error:
            models, refused = (), error.message
        yield Opened(client=client, dialect=dialect, target=target, models=models, list_refused=refused)


async def empty_slots(client: Client, slots: int) -> None:
    """Forget what the slots of a llama.cpp server hold, so that a cold call shares nothing with an earlier run, not
    even the head of the chat template. For engines that hitrate itself runs; one that refuses is left as it is."""
    for slot in range(slots):
        with suppress(TargetError):
            await client.post_json(f"/slots/{slot}?action=erase", {}, from_root=True)


async def list_models(client: Client) -> tuple[Model, ...]:
    """What GET /models shows, empty where there is no such list. Raises KeyRefused and Unreachable."""
    try:
        return tuple(parse_models(msgspec.json.encode(await client.get_json("/models"))))
    except (Unreachable, KeyRefused):
        raise
    except (TargetError, ValueError):
        return ()


def choose_model(opened: Opened, wanted: str | None) -> str:
    """The wanted id, or the only one listed. A wanted id that is not listed is tried: lists leave aliases out."""
    if wanted is not None:
        return wanted
    listed = [model.id for model in opened.models]
    if len(listed) == 1:
        return listed[0]
    if opened.list_refused is not None:
        where = where_to_mend_the_key(opened.target)
        raise KeyRefused(f"{opened.target.name} refused the key ({opened.list_refused}); {where}")
    if not listed:
        raise UsageError(f"{opened.target.name} lists no models; name one with --model")
    shown = ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
    raise UsageError(f"{opened.target.name} has {len(listed)} models; choose one with --model: {shown}")


def choose_price(opened: Opened, model: str, given: Sequence[float] | None) -> Price:
    """The price given on the command line, else the user's own, the listed one, or that of the price package; an
    unknown price stays unknown."""
    own = None
    if given is not None:
        fresh, cached, output = given
        own = Price(
            input_usd_per_mtok=fresh, cached_usd_per_mtok=cached, output_usd_per_mtok=output, source="command line"
        )
    book = PriceBook(
        now=datetime.datetime.now(datetime.UTC),
        given=own,
        user=read_user_prices(),
        listed={entry.id: entry.price for entry in opened.models},
    )
    found = book.quote_ahead(opened.target.name, model)
    return Price() if isinstance(found, Unpriced) else found.price


def check_budget(
    target: str, calls: int, prompt_tokens: int, output_tokens: int, price: Price, budget_usd: float | None
) -> str | None:
    """The line that says what a run may cost at most; None where no price is known.

    Raises UsageError when a budget was given that the run could exceed, or that cannot be held for want of a price.
    """
    most = upper_bound(prompt_tokens, output_tokens, price) if price.known else None
    if most is None:
        if budget_usd is not None:
            raise UsageError(
                f"--budget cannot be held: no price is known for {target}; give it with --price; nothing was sent"
            )
        return None
    text = f"estimated cost: at most ${most:.4f} for {calls} calls, about {prompt_tokens:,} prompt tokens, none cached"
    if budget_usd is not None and most > budget_usd:
        raise UsageError(f"{text}; that is over --budget ${plain(budget_usd)}; nothing was sent")
    return text
