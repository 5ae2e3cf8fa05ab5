"""Looks at a target step by step, and says per step what was found and what to do."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Literal
from uuid import uuid4

from msgspec.structs import replace

from hitrate.core.listings import Check, Diagnosis
from hitrate.core.model import Call
from hitrate.core.money import Price, Unpriced, plain
from hitrate.errors import HitrateError, KeyMissing, KeyRefused, Unreachable
from hitrate.live.asker import Asker, CallOptions, cold_in_words, knob_in_words
from hitrate.live.client import Client
from hitrate.live.failures import command_word, where_to_mend_the_key
from hitrate.live.pace import Pace
from hitrate.live.session import connected, list_models
from hitrate.targets.dialects import dialect
from hitrate.targets.models import Model, nearest_ids
from hitrate.targets.presets import Target, require_base_url
from hitrate.targets.prices import OWN_MACHINES, PriceBook, read_user_prices

MOST_CALLS = 3
"""One call; once more without a parameter that was refused by name; once more without affinity and cold knob."""

REPLY_TOKENS = 16
_QUESTION = ({"role": "user", "content": "Say yes."},)
_NAMES = ("reachable", "key", "model", "reply", "cached tokens", "affinity and cold knob", "bill")

Outcome = Literal["ok", "warning", "failed", "skipped"]


class Doctor:
    """`key_error` is why there is no key; then nothing is sent, and only the address is tried."""

    def __init__(self, target: Target, *, key: str | None, key_error: KeyMissing | None, model: str | None) -> None:
        require_base_url(target)
        self._target = target
        self._key = key
        self._key_error = key_error
        self._model = model
        self._models: tuple[Model, ...] = ()
        self._reachable: bool | None = None
        self._calls = 0
        self._checks: dict[str, Check] = {}

    async def examine(self, *, headers: Mapping[str, str], timeout_s: float) -> Diagnosis:
        """Never raises for what is wrong with the target."""
        unsigned = self._target if self._key_error is None else replace(self._target, signing=None)
        opening = connected(unsigned, key=self._key, headers=headers, timeout_s=timeout_s, max_retries=1)
        try:
            async with opening as client:
                connect_ms = 1000 * max(client.connect_times_s, default=0.0)
                self._reachable = True
                self._note("reachable", "ok", f"{client.address}, connected in {connect_ms:.1f} ms")
                if self._has_key():
                    await self._ask(client)
        except Unreachable as error:
            self._reachable = False
            self._checks.clear()
            self._note("reachable", "failed", error.message)
        except KeyMissing as error:
            self._note("key", "failed", error.message, error.hint)
        for name in _NAMES:
            if name not in self._checks:
                self._note(name, "skipped", "not tried")
        return Diagnosis(
            target=self._target.name,
            base_url=self._target.base_url,
            model=self._model,
            reachable=self._reachable,
            calls=self._calls,
            checks=tuple(self._checks[name] for name in _NAMES),
        )

    def _note(self, name: str, outcome: Outcome, found: str, advice: str | None = None) -> None:
        self._checks[name] = Check(name=name, outcome=outcome, found=found, advice=advice)

    def _has_key(self) -> bool:
        variable = self._target.key_variable
        if self._key_error is not None:
            self._note("key", "failed", self._key_error.message, self._key_error.hint)
            return False
        if variable is None:
            self._note("key", "ok", "none is sent")
        elif self._key is not None:
            self._note("key", "ok", f"{variable} is set")
        elif self._target.signing is not None:
            self._note("key", "ok", f"{variable} is not set; requests are signed")
        else:
            self._note("key", "ok", f"{variable} is not set; an engine started without a key needs none")
        return True

    async def _ask(self, client: Client) -> None:
        try:
            self._models = await list_models(client)
        except KeyRefused as error:
            # Some vendors have no list for a key that is right (Bedrock): with a model named, the call itself tells.
            if self._model is None:
                self._note("key", "failed", error.message, where_to_mend_the_key(self._target))
                return
        if not self._has_model() or self._model is None:
            return
        call = await self._answer(client, self._model)
        if call is not None:
            self._note("reply", "ok", f"{call.usage.output_tokens or 'some'} tokens, as a stream")
            self._look_at_counts(call)
            self._look_at_price(call)

    def _has_model(self) -> bool:
        ids = [model.id for model in self._models]
        wanted = self._model
        if wanted is None and len(ids) == 1:
            self._model = ids[0]
            self._note("model", "ok", f"{ids[0]}, the only one listed")
        elif wanted is None and ids:
            shown = ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
            self._note("model", "warning", f"{len(ids)} are listed: {shown}", "choose one with --model")
            return False
        elif wanted is None:
            self._note("model", "failed", "none is listed", "name one with --model, and see that the key is right")
            return False
        elif wanted in ids:
            self._note("model", "ok", f"{wanted} is listed, with {len(ids) - 1} others")
        elif ids:
            near = nearest_ids(wanted, ids)
            advice = f"nearest ids: {', '.join(near)}" if near else f"hitrate models {command_word(self._target)}"
            self._note("model", "warning", f"{wanted} is not among the {len(ids)} listed", advice)
        else:
            self._note("model", "ok", f"{wanted}; no list is shown")
        return True

    async def _answer(self, client: Client, model: str) -> Call | None:
        """A call with the knobs that a run would use; without them if it was refused, to tell what is to blame."""
        asker = self._asker(client, self._target, model)
        knobs = [*map(knob_in_words, self._target.affinity[:1]), *filter(None, [cold_in_words(self._target)])]
        call, refused = await self._call(asker)
        if call is not None:
            told = f"accepted: {', '.join(knobs)}" if knobs else "there is none: a nonce in the prompt keeps runs apart"
            self._note("affinity and cold knob", "ok", told)
            return call
        bare = replace(self._target, affinity=(), cold_knob=None)
        if asker.calls and asker.calls[-1].status in (400, 422) and bare != self._target:
            bare = replace(bare, not_accepted=(*bare.not_accepted, *asker.refused_parameters))
            call, refused_again = await self._call(self._asker(client, bare, model))
            if call is not None:
                advice = "leave them out with --affinity none --cold nonce"
                self._note("affinity and cold knob", "failed", f"{', '.join(knobs)}: {refused}", advice)
                return call
            refused = refused_again
        self._note("reply", "failed", refused)
        return None

    def _asker(self, client: Client, target: Target, model: str) -> Asker:
        return Asker(
            client,
            dialect(target.dialect),
            target,
            model,
            options=CallOptions(max_tokens=REPLY_TOKENS, temperature=None, extra=target.extra),
            pace=Pace(None, client.now_s),
            known_models=[entry.id for entry in self._models],
        )

    async def _call(self, asker: Asker) -> tuple[Call | None, str]:
        """The call if it was answered whole, else why not."""
        self._calls += 1
        name = f"hitrate-doctor-{uuid4().hex[:12]}"
        try:
            call = await asker.ask(_QUESTION, session=name, label="doctor", isolation=name)
        except HitrateError as error:
            return None, error.message
        if call.reply is None or call.error is not None:
            return None, call.error or "the reply holds no message"
        return call, ""

    def _look_at_counts(self, call: Call) -> None:
        usage, hint = call.usage, self._target.reporting_hint
        flag = None if hint is None else f"known of this target: {hint}"
        if usage.prompt_tokens is None:
            self._note("cached tokens", "warning", "the reply has no usage at all: no hit rate can be given", flag)
        elif usage.accounting_fault:
            found = f"{usage.cached_tokens} cached of {usage.prompt_tokens} prompt tokens contradict each other"
            self._note("cached tokens", "warning", found)
        elif usage.cached_tokens is not None:
            self._note("cached tokens", "ok", f"reported: {usage.cached_source}")
        else:
            self._note("cached tokens", "warning", f"not reported: {usage.cached_source} in the usage", flag)

    def _look_at_price(self, call: Call) -> None:
        name = self._target.name
        try:
            book = PriceBook(
                now=datetime.datetime.now(datetime.UTC),
                user=read_user_prices(),
                listed={model.id: model.price for model in self._models},
                provider=name,
            )
        except HitrateError as error:
            self._note("bill", "warning", error.message)
            return
        quote = book.quote(call)
        if not isinstance(quote, Unpriced):
            self._note("bill", "ok", _in_words(quote.price))
        elif name in OWN_MACHINES:
            self._note("bill", "ok", "nothing by the token: an engine of your own")
        else:
            self._note("bill", "warning", quote.reason, "give it with --price or in prices.toml; runs go on without")


def _in_words(price: Price) -> str:
    amounts = {
        "input": price.input_usd_per_mtok,
        "cached": price.cached_usd_per_mtok,
        "cache write": price.written_usd_per_mtok,
        "output": price.output_usd_per_mtok,
    }
    known = [f"{name} ${plain(amount)}" for name, amount in amounts.items() if amount is not None]
    missing = "" if price.cached_usd_per_mtok is not None else "; no price of cached tokens known"
    return f"{', '.join(known)} per million tokens ({price.source or 'source not named'}){missing}"
