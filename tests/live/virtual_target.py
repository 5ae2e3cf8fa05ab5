"""A practice server in virtual time: answers at once, on a clock that only its own answers and waits move."""

from __future__ import annotations

import random
from urllib.parse import parse_qsl, unquote

from hitrate.core.model import Call, Timing
from hitrate.core.sse import split_events
from hitrate.explain.probing.documented import Documented
from hitrate.live.asker import Asker, CallOptions
from hitrate.live.pace import Pace
from hitrate.live.probes.lab import Lab
from hitrate.live.probes.material import Material
from hitrate.live.probes.registry import chosen
from hitrate.live.probes.runner import run_probes
from hitrate.serve.practice.caches import cache_maker
from hitrate.serve.practice.faults import parse_fault
from hitrate.serve.practice.options import PracticeOptions
from hitrate.serve.practice.service import Service
from hitrate.serve.practice.timeline import pace_of, stream
from hitrate.serve.practice.vendors import imitating
from hitrate.serve.practice.wire import Refused
from hitrate.serve.practice.wires import WireTable
from hitrate.targets.dialects import aws_eventstream, dialect
from hitrate.targets.presets import Target, load

NAMES = {"openai-before-gpt-5.6": "openai"}
"""Practice presets that have no target of their own name."""


class SplitTokenizer:
    """A token a word; a process keeps the hash of a word."""

    name = "split"
    exact = False

    def encode(self, text):
        return [hash(word) & 0xFFFFFF for word in text.split()]


class VirtualClient:
    """What `Asker` needs of a client. `now` moves by what an answer takes."""

    def __init__(self, options, wire):
        self.service = Service(options, SplitTokenizer(), cache_maker(options))
        self.wires = WireTable(self.service.vendor)
        self.dialect = wire
        self.base = "" if self.service.vendor is None else self.service.vendor.base_path
        self.now = 0.0

    def now_s(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds

    async def call(self, body, *, session, turn, label, headers, model):
        waits = []
        known = {name.lower(): value for name, value in self.dialect.auth_headers("any").items()} | dict(headers)
        members = {"target": "t", "dialect": self.dialect.name, "body": body, "model": model, "session": session}
        members |= {"turn": turn, "label": label}
        while True:
            try:
                return Call(**members, **self._exchange(body, known, model), waits=tuple(waits))
            except Refused as refused:
                if refused.retry_after is None or len(waits) == 5:
                    return Call(**members, status=refused.status, error=str(refused.message), waits=tuple(waits))
                waits.append(float(refused.retry_after))
                self.now += refused.retry_after

    def _identified(self, wire, data):
        return data.replace(b"\0", b"id") if wire.id_prefix else data

    def _exchange(self, body, headers, model):
        path, _, query = (self.base + self.dialect.request_path(model, True)).partition("?")
        wire, place = self.wires.find(unquote(path))
        sent = self.now
        accepted = self.service.accept(
            wire, body, headers, now=lambda: self.now, read_at=sent, admitted=lambda: None, place=place,
            query=dict(parse_qsl(query)),
        )  # fmt: skip
        answer = self.service.answer(accepted, created=0)
        pace = pace_of(sent, accepted.job.first_token_at, self.service.options.decode_rate, accepted.faults)
        writes = list(stream(wire, answer, pace, accepted.faults))
        pieces = [
            (int(write.due * 1e9), number, self._identified(wire, write.data)) for number, write in enumerate(writes)
        ]
        split = aws_eventstream.split_events if self.dialect.framing == "aws-eventstream" else split_events
        reading = self.dialect.read_stream(split(pieces))
        self.now = accepted.job.first_token_at
        self.service.engine.first_token(accepted.job, now=self.now)
        ttft, self.now = self.now - sent, writes[-1].due
        self.service.finish(accepted, now=lambda: self.now)
        timing = Timing(at=sent, sent_at_s=sent, ttft_s=ttft, total_s=self.now - sent)
        return {"status": 200, "reply": reading.reply, "usage": reading.usage, "timing": timing, "error": reading.fault}


def virtual_lab(*, seed=0, target=None, max_calls=150, time_s=120.0, mark=False, imitates=None, faults=(), **given):
    """A lab on a practice server with the options given, in the manner of `imitates`."""
    options = PracticeOptions(seed=seed, faults=tuple(map(parse_fault, faults)), **given)
    if imitates is not None:
        options = imitating(imitates, options, ("seed", "faults", *given))
    if target is None:
        target = load("practice") if imitates is None else load(NAMES.get(imitates, imitates))
    client = VirtualClient(options, dialect(target.dialect))
    asker = Asker(
        client,
        client.dialect,
        target,
        options.models[0].name,
        options=CallOptions(max_tokens=1, extra=target.extra),
        pace=Pace(None, client.now_s),
    )
    return Lab(asker, Material(random.Random(seed)), max_calls=max_calls, waits_s=time_s, mark=mark, sleep=client.sleep)


async def probed(*names, documented=None, lab=None, **how):
    """The answers of the probes named, by probe and subject."""
    lab = lab or virtual_lab(**how)
    answers = []
    await run_probes(lab, chosen(names), documented or Documented(), answers)
    return {(answer.probe, answer.subject): answer for answer in answers}


__all__ = ["SplitTokenizer", "Target", "VirtualClient", "probed", "virtual_lab"]
