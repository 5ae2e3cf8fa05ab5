"""The slow way: every step of an engine on its own, every running request looked at in each."""

from __future__ import annotations

from dataclasses import dataclass

from hitrate.sim.timing.engine import Event
from hitrate.sim.timing.engine_timing import EngineTiming


@dataclass
class One:
    number: int
    arrived: float
    prompt: int
    new: int
    output: int
    done: int = 0
    """Tokens of the prompt (and of what is to be computed again) in memory."""
    generated: int = 0
    again: int = 0
    """Generated tokens to be computed again."""
    chunk: int = 0
    scheduled: bool = False

    @property
    def wanted(self) -> int:
        return self.prompt + self.again

    @property
    def decoding(self) -> bool:
        return self.done == self.wanted

    @property
    def held(self) -> int:
        return self.wanted if not self.decoding else self.prompt + self.generated


def step_by_step(timing: EngineTiming, arrivals: list[tuple[float, int, int, int]]) -> tuple[list[Event], int]:
    """Events of (moment, prompt, new, output tokens) in order of time, and how often a request had to give way."""
    coming = [One(number, *arrival) for number, arrival in enumerate(arrivals)]
    for one in coming:
        one.done = one.prompt - one.new
    queue, running, leaving, events = [], [], [], []
    now, last_start, preempted = 0.0, float("-inf"), 0
    while coming or queue or running:
        known = last_start if timing.scheduled_ahead else now
        queue, coming = take(queue, coming, known)
        step, gave = compose(timing, queue, running, leaving)
        if not step:
            leaving = []
            if not queue:
                now = max(now, coming[0].arrived)
            queue, coming = take(queue, coming, now)
            step, gave = compose(timing, queue, running, leaving)
        preempted += gave
        for one in step:
            if not one.scheduled:
                one.scheduled = True
                events.append(Event(now, "scheduled", one.number))
        last_start, now = now, now + cost(timing, step)
        leaving = []
        first, ended = [], []
        for one in step:
            if one.chunk:
                one.done += one.chunk
                one.chunk = 0
                if not one.decoding:
                    continue
                if not one.generated:
                    first.append(one)
            one.generated += 1
            if one.generated == one.output:
                ended.append(one)
        events += [Event(now, "first token", one.number) for one in first]
        events += [Event(now, "end", one.number) for one in ended]
        running = [one for one in running if one not in ended]
        if timing.scheduled_ahead:
            leaving = ended
    return events, preempted


def take(queue: list[One], coming: list[One], known: float) -> tuple[list[One], list[One]]:
    return queue + [one for one in coming if one.arrived <= known], [one for one in coming if one.arrived > known]


def compose(timing: EngineTiming, queue: list[One], running: list[One], leaving: list[One]) -> tuple[list[One], int]:
    """Who is in the next step; takes from `queue`, adds to `running`."""
    room = timing.kv_capacity_tokens or 10**9
    gave = 0

    def used() -> int:
        return sum(one.held for one in running + leaving)

    while used() + sum(one.decoding for one in running) > room and len(running) > 1:
        one = running.pop()
        one.again = one.generated
        one.done = 0
        queue.insert(0, one)
        gave += 1
    step = [one for one in running if one.decoding]
    budget = timing.max_batched_tokens - len(step)
    for one in running:
        if not one.decoding:
            one.chunk = min(budget, one.wanted - one.done)
            budget -= one.chunk
            step.append(one)
    while queue and not gave and len(running) + len(leaving) < timing.max_running_requests:
        one = queue[0]
        left = one.wanted - one.done
        if used() + one.wanted > room or budget < (1 if timing.chunked_prefill else left):
            break
        one.chunk = min(budget, left)
        budget -= one.chunk
        running.append(queue.pop(0))
        step.append(one)
    return step, gave


def cost(timing: EngineTiming, step: list[One]) -> float:
    seconds = timing.step_s
    if any(one.chunk for one in step):
        seconds += timing.prefill_step_s
    for one in step:
        if one.chunk:
            seconds += timing.prefill_token_s * one.chunk
            seconds += timing.prefill_context_s * sum(range(one.done, one.done + one.chunk))
        else:
            seconds += timing.sequence_s + timing.context_token_s * one.held
    return seconds
