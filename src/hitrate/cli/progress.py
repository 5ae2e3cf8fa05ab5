"""Talk on stderr while a run goes on: one line, written over; where that is no terminal, a line now and then."""

from __future__ import annotations

import sys
import time

from hitrate.core.model import Call

_EVERY_S = 15.0


class Line:
    """`quiet` says nothing at all."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._last_line = time.monotonic()
        self._width = 0

    def step(self, text: str, *, last: bool = False) -> None:
        """How far it is; not every time, lest telling takes longer than doing. On a terminal the last is shown."""
        now = time.monotonic()
        if self._quiet or (not self._terminal and now - self._last_line < _EVERY_S):
            return
        if self._terminal and now - self._last_line < 0.1 and not last:
            return
        self._last_line = now
        self._show(text)

    def say(self, text: str) -> None:
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0

    def _show(self, text: str) -> None:
        if not self._terminal:
            print(text, file=sys.stderr, flush=True)
            return
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = max(self._width, len(text))


class Progress(Line):
    """Of calls."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._total = total
        self._done = 0

    def call(self, call: Call) -> None:
        self._done += 1
        self.step(f"{self._done}/{self._total} calls{_figures(call)}", last=self._done == self._total)

    def wait(self, seconds: float, status: int) -> None:
        if not self._quiet:
            self.say(f"HTTP {status}: waiting {seconds:.1f} s as asked")


class ReplayProgress(Line):
    """Of a replay: requests read, then parts done. On a terminal only: nobody waits for it elsewhere."""

    def __init__(self) -> None:
        super().__init__(quiet=not sys.stderr.isatty())

    def read(self, requests: int) -> None:
        self.step(f"{requests:,} requests read")

    def done(self, tasks: int, of: int) -> None:
        self.step(f"{tasks}/{of} parts replayed", last=tasks == of)


def _figures(call: Call) -> str:
    parts = ""
    if call.timing is not None and call.timing.ttft_s is not None:
        parts += f"  TTFT {call.timing.ttft_s * 1000:,.0f} ms"
    if call.usage.hit_rate is not None:
        parts += f"  cached {call.usage.hit_rate:.1%}"
    return parts + ("  failed" if call.reply is None else "")
