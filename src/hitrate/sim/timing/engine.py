"""One replica that batches continuously, in virtual time: when each request is scheduled, starts to answer and ends.

As vLLM's V1 scheduler (vllm/v1/core/sched/scheduler.py, 0.19): a step gives every running request a token, what is left
of its budget to prompts, in the order they came; a request is let in when there is a place and its whole prompt fits
into the KV memory (`scheduler_reserve_full_isl`). Where memory runs out, who came in last gives up all of it and waits
in front of the others, to be computed anew. Nothing here depends on when anything is asked: steps that only decode are
passed over together, for they all cost the same but for the tokens of context, which grow by one a request and step.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from math import inf, sqrt
from typing import Literal, NamedTuple

from hitrate.sim.timing.engine_timing import EngineTiming
from hitrate.sim.timing.memory import Memory


class Event(NamedTuple):
    moment: float
    kind: Literal["scheduled", "first token", "end"]
    """Scheduled is the start of the first step that computes any of it."""
    number: int


class _Request:
    """`context` are the tokens it has or will have in memory when its prompt is computed."""

    __slots__ = ("arrived", "chunk", "context", "ends_at", "left", "number", "prompt", "replies", "told")

    def __init__(self, number: int, arrived: float, prompt: int, left: int, replies: int) -> None:
        self.number = number
        self.arrived = arrived
        self.prompt = self.context = prompt
        self.left = left
        """Tokens of the prompt still to be computed."""
        self.replies = replies
        """Tokens still to be generated when the prompt is computed."""
        self.chunk = 0
        """Tokens of the prompt that the step in hand computes."""
        self.ends_at = -1
        """Decoding step that ends it, -1 while its prompt is computed."""
        self.told = 0
        """Events before its end."""


class Engine:
    """`arrive` in order of time, `until` for what happened since; both with moments that never fall.

    `memory` says what prompts have in common; left out, nothing. Replies have not, in either case.
    """

    def __init__(self, timing: EngineTiming, memory: Memory | None = None) -> None:
        self.timing = timing
        self._memory = memory
        self._shares = False
        """Whether `_used` counts what prompts have in common once: from when it would be too much without."""
        self.next_moment = inf
        """Nothing happens before: no event, and no step is decided."""
        self.busy_s = 0.0
        self.preemptions = 0
        self._waiting: deque[_Request] = deque()
        self._running: dict[int, _Request] = {}
        """In the order they were let in."""
        self._prefilling: list[_Request] = []
        """Of the step in hand; at most the last one of them is not finished by it."""
        self._decoding = 0
        self._context = 0
        """Tokens that the decoding requests read in their next step."""
        self._used = 0
        """Tokens of KV memory."""
        self._leaving: list[tuple[_Request, int]] = []
        """Who has ended, but of whose place and memory, so many tokens, the scheduler learns one step later."""
        self._steps = 0
        """Decoding steps so far."""
        self._ends: list[tuple[int, int, _Request]] = []
        self._order = 0
        self._start = 0.0
        """Of the steps in hand; where there are none, the moment from which the next can be decided."""
        self._seen = -inf
        """The next decision is taken without who arrived later."""
        self._count = 0
        """Equal steps in hand: one that computes prompts, or some that only decode; 0 before they are decided."""
        self._each_s = self._more_s = 0.0
        """What the first of them takes, and by how much each takes longer than the one before it."""
        self._events: list[Event] = []

    def arrive(self, number: int, now: float, prompt_tokens: int, new_tokens: int, output_tokens: int) -> bool:
        """False for a request that can never be served: it is refused. `new_tokens` are those of the prompt that are in
        no cache; at least one is computed. Without a reply or where its length is not known (below 1), it ends with its
        first token. Events up to `now` are to be fetched before."""
        new_tokens = max(1, new_tokens)
        prompt_tokens = max(prompt_tokens, new_tokens)
        output_tokens = max(1, output_tokens)
        if not self.timing.fits(prompt_tokens, output_tokens):
            return False
        alone = not self._waiting
        self._waiting.append(_Request(number, now, prompt_tokens, new_tokens, output_tokens))
        if self._count > 1:
            if alone or not self._is_blocked():
                self._interrupt(now)
        elif self.next_moment == inf:
            self._start = self.next_moment = now
        return True

    def until(self, now: float) -> list[Event]:
        """What happened up to `now` and was not told yet, in order. A step that begins at `now` is left open for who
        arrives at that very moment."""
        while self.next_moment <= now and self.next_moment != inf:
            if self._count:
                self._finish()
            elif self._start < now:
                self._decide()
            else:
                break
        events, self._events = self._events, []
        return events

    def _lasts(self, steps: int) -> float:
        """Seconds of the first so many of the steps in hand."""
        if steps == 1:
            return self._each_s
        return steps * self._each_s + self._more_s * (steps * (steps - 1) // 2)

    def _interrupt(self, now: float) -> None:
        """Let the steps in hand end where the arrival can be considered."""
        passed = now - self._start
        steps = max(0, min(self._count, self._steps_in(passed)))
        while steps and self._lasts(steps) >= passed:
            steps -= 1
        while steps < self._count and self._lasts(steps) < passed:
            steps += 1
        self._count = min(self._count, max(1, steps + self.timing.scheduled_ahead))
        self.next_moment = self._start + self._lasts(self._count)

    def _steps_in(self, seconds: float) -> int:
        """About so many; rounding may be off by one."""
        half = self._more_s / 2
        if half * self._count < 1e-9 * self._each_s:
            return int(seconds / self._each_s)
        linear = self._each_s - half
        return int((sqrt(linear * linear + 4 * half * seconds) - linear) / (2 * half))

    def _finish(self) -> None:
        """The steps in hand are over: note who got a first token, who ended, who is let go."""
        count, end = self._count, self.next_moment
        self.busy_s += end - self._start
        if self.timing.scheduled_ahead:
            self._seen = self._start + self._lasts(count - 1) if count > 1 else self._start
            self._let_go()
        else:
            self._seen = end
        self._steps += count
        self._context += self._decoding * count
        self._used += self._decoding * count
        self._count = 0
        self._start = self.next_moment = end
        if self._prefilling:
            self._end_prefill(end)
        self._end_decoding(end)
        if not self._running and not self._waiting:
            self._let_go()
            self.next_moment = inf

    def _let_go(self) -> None:
        """The scheduler learns of who has left."""
        for request, tokens in self._leaving:
            self._free(request, tokens)
        self._leaving.clear()

    def _end_prefill(self, end: float) -> None:
        for request in self._prefilling:
            request.left -= request.chunk
            if request.left:
                continue
            if request.told == 1:
                request.told = 2
                self._events.append(Event(end, "first token", request.number))
            request.context += 1
            request.replies -= 1
            self._used += 1
            request.ends_at = self._steps + request.replies
            self._decoding += 1
            self._context += request.context
            self._order += 1
            heappush(self._ends, (request.ends_at, self._order, request))
        last = self._prefilling[-1]
        self._prefilling = [last] if last.left else []

    def _end_decoding(self, end: float) -> None:
        ends, steps = self._ends, self._steps
        while ends and ends[0][0] <= steps:
            request = heappop(ends)[2]
            tokens = request.context + request.replies
            self._events.append(Event(end, "end", request.number))
            del self._running[request.number]
            self._decoding -= 1
            self._context -= tokens
            if self.timing.scheduled_ahead:
                self._leaving.append((request, tokens))
            else:
                self._free(request, tokens)

    def _free(self, request: _Request, tokens: int) -> None:
        """It has ended, and the scheduler knows it."""
        self._used -= self._leave(request, tokens)
        if self._memory is not None:
            self._memory.forget(request.number)

    def _leave(self, request: _Request, tokens: int) -> int:
        """What becomes free of the tokens that it has in memory."""
        if self._memory is None or not self._shares:
            return tokens
        return self._memory.leave(request.number) + tokens - request.prompt

    def _enter(self, request: _Request, tokens: int) -> int:
        """What it takes of the memory to have so many tokens there."""
        if self._memory is None or not self._shares:
            return tokens
        return self._memory.enter(request.number) + tokens - request.prompt

    def _is_too_much(self, more: int) -> bool:
        """Whether so many tokens more do not fit into the memory."""
        most = self.timing.kv_capacity_tokens
        if most is None or self._used + more <= most:
            return False
        if self._memory is not None and not self._shares:
            self._shares = True
            held = [*self._leaving, *((one, self._holds(one)) for one in self._running.values())]
            self._used = sum(self._enter(one, tokens) for one, tokens in held)
        return self._used + more > most

    def _holds(self, request: _Request) -> int:
        """Tokens that it has, or will have when its prompt is computed."""
        return request.context + (request.replies - (request.ends_at - self._steps) if request.ends_at >= 0 else 0)

    def _is_blocked(self, budget: int | None = None) -> bool:
        """Whether the first in the queue has to wait for a place, for memory or for a step with tokens left for it."""
        timing, first = self.timing, self._waiting[0]
        if budget is None:
            budget = timing.max_batched_tokens - self._decoding
        return (
            budget < (1 if timing.chunked_prefill else first.left)
            or len(self._running) + len(self._leaving) >= timing.max_running_requests
            # Asked again, because the first time may be when it begins to count what prompts have in common.
            or (self._is_too_much(self._needs(first)) and self._is_too_much(self._needs(first)))
        )

    def _needs(self, request: _Request) -> int:
        if self._memory is None or not self._shares:
            return request.context
        return self._memory.added(request.number) + request.context - request.prompt

    def _decide(self) -> None:
        """What the next step computes; where that is decoding alone, as many steps as are alike."""
        self._fill()
        if not self._prefilling and not self._decoding:
            # Nothing runs, so nothing has to be waited for to learn who left and who came.
            self._let_go()
            self._seen = self._start
            self._fill()
        timing, decoding = self.timing, self._decoding
        each_s = timing.step_s + timing.sequence_s * decoding + timing.context_token_s * self._context
        self._more_s = timing.context_token_s * decoding
        self._count = 1
        if self._prefilling:
            each_s += timing.prefill_step_s
            for request in self._prefilling:
                chunk = request.chunk
                pairs = chunk * (request.context - request.left) + chunk * (chunk - 1) // 2
                each_s += timing.prefill_token_s * chunk + timing.prefill_context_s * pairs
        elif not self._waiting or self._waits_for_an_end():
            self._count = self._ends[0][0] - self._steps
            if timing.kv_capacity_tokens is not None:
                self._count = max(1, min(self._count, (timing.kv_capacity_tokens - self._used) // decoding))
        self._each_s = each_s
        self.next_moment = self._start + self._lasts(self._count)

    def _waits_for_an_end(self) -> bool:
        return self._waiting[0].arrived <= self._seen and not self._leaving and self._is_blocked()

    def _fill(self) -> None:
        """Prompts of the next step."""
        waiting, gave_way = self._waiting, self._give_way()
        budget = self.timing.max_batched_tokens - self._decoding
        for request in self._prefilling:
            request.chunk = min(request.left, budget)
            budget -= request.chunk
        while waiting and not gave_way and waiting[0].arrived <= self._seen and not self._is_blocked(budget):
            request = waiting.popleft()
            request.chunk = min(request.left, budget)
            budget -= request.chunk
            self._running[request.number] = request
            self._prefilling.append(request)
            self._used += self._enter(request, request.context)
            if not request.told:
                request.told = 1
                self._events.append(Event(self._start, "scheduled", request.number))

    def _give_way(self) -> bool:
        """Whether anyone had to go for the tokens of the next step to fit into the memory."""
        if not self._is_too_much(self._decoding):
            return False
        while self._is_too_much(self._decoding) and len(self._running) > 1:
            _, request = self._running.popitem()
            self.preemptions += 1
            if request.ends_at < 0:
                self._prefilling.remove(request)
                self._used -= self._leave(request, request.context)
                request.left = request.context
            else:
                self._recall(request)
            self._waiting.appendleft(request)
        return True

    def _recall(self, request: _Request) -> None:
        """Take a decoding request back to where its prompt, and what it has generated, is to be computed."""
        request.left = self._holds(request)
        request.replies -= request.left - request.context
        request.context = request.left
        request.ends_at = -1
        self._decoding -= 1
        self._context -= request.context
        self._used -= self._leave(request, request.context)
        self._ends = [end for end in self._ends if end[2] is not request]
        heapify(self._ends)
