"""One request on its way to the upstream, and its answer on the way back."""

from __future__ import annotations

import asyncio
from time import perf_counter_ns
from typing import TYPE_CHECKING

from hitrate.record.exchange import End
from hitrate.record.passing import Passing
from hitrate.serve.proxy.framing import Framing, Keep, UntilClose, request_framing, response_framing
from hitrate.serve.proxy.heads import HEAD_END, LONGEST_HEAD_BYTES, Malformed, RequestHead, ResponseHead
from hitrate.serve.proxy.pool import Pool, UpstreamSide
from hitrate.serve.proxy.refusals import Refused

if TYPE_CHECKING:
    from hitrate.serve.proxy.client import ClientSide
    from hitrate.serve.proxy.proxy import Proxy

RESEND_LIMIT_BYTES = 4 * 1024 * 1024
"""A request up to this size is held until its answer begins, and can go out again on another connection."""

END_BYTES = len(b"0\r\n\r\n")
"""What a client lacks of a whole answer until it is recorded."""

WAITING_LIMIT_BYTES = 64 * 1024
"""Of a request whose connection is not open yet; past it the client is not read."""


class Relay:
    """Made with a sound request head; `start` it with the bytes behind.

    Its client hears one of `answered`, `refuse` (no answer began) and `cut` (an answer ended early), once. `over` is
    True from then on. `tunnel` is True once the upstream switched to another protocol: bytes pass both ways unseen.
    """

    __slots__ = (
        "_answer",
        "_answer_keeps",
        "_answered",
        "_broken",
        "_client",
        "_connecting",
        "_connection",
        "_head",
        "_head_bytes",
        "_held",
        "_held_bytes",
        "_keep_answer",
        "_keep_request",
        "_pool",
        "_proxy",
        "_recording",
        "_resent",
        "_target",
        "active_ns",
        "over",
        "request",
        "tunnel",
    )

    def __init__(
        self,
        proxy: Proxy,
        client: ClientSide,
        pool: Pool,
        head: RequestHead,
        target: bytes,
        recording: Passing | None,
    ) -> None:
        self.request = request_framing(head)
        self.active_ns = perf_counter_ns()
        self.over = False
        self.tunnel = False
        self._proxy = proxy
        self._client = client
        self._pool = pool
        self._head = head
        self._target = target
        self._recording = recording
        self._keep_request: Keep | None = None if recording is None else recording.keep_request
        self._keep_answer: Keep | None = None if recording is None else recording.keep_response
        self._connection: UpstreamSide | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._held: list[bytes] | None = []
        """The request as it went out; None when it is too large to be held, or its answer has begun."""
        self._held_bytes = 0
        self._resent = False
        self._head_bytes = b""
        """The start of an answer, as long as its head is not whole."""
        self._answer: Framing | None = None
        self._answer_keeps = False
        """The upstream leaves the connection open behind the answer."""
        self._answered = False
        self._broken: str | None = None
        """What is wrong with the answer's chunks: where it ends is not known, so that it is passed on to its close."""

    @property
    def blocked(self) -> bool:
        """The upstream does not take more at the moment."""
        if self._connection is None:
            return self._held_bytes > WAITING_LIMIT_BYTES
        return self._connection.write_paused

    # The client's side.

    def start(self, body: bytes) -> int:
        """As `client_bytes`, with the head in front."""
        taken = self._feed(body) if body else 0
        head = self._head.rewritten(self._target, self._pool.address.host_header.encode())
        self._hold(head + (body if taken == len(body) else body[:taken]))
        connection = self._pool.take()
        if connection is None:
            self._connect()
        else:
            self._attach(connection)
        return taken

    def client_bytes(self, data: bytes) -> int:
        """Pass on what belongs to this request; how many bytes that was. Raises Malformed."""
        taken = len(data)
        if not self.tunnel:
            taken = self._feed(data)
            if taken != len(data):
                data = data[:taken]
            self._hold(data)
        if self._connection is not None:
            self._write(data)
        if self._answered and self.request.complete:
            self._both_over()
        return taken

    def client_writes(self, *, paused: bool) -> None:
        """A client that reads slowly must not fill the memory: its upstream is not read meanwhile."""
        self.active_ns = perf_counter_ns()
        if self._connection is not None:
            self._connection.read_on(not paused)

    def client_ended(self) -> None:
        """In a tunnel: the client sends no more."""
        if self._connection is not None:
            self._connection.write_eof()

    def client_gone(self, why: str = "the client went away") -> None:
        """The upstream is to stop at once: nobody hears the rest, and its work costs money."""
        if self.over:
            return
        if not self.tunnel and not self._answered:
            self._proxy.counters.aborts += 1
            self._record("abandoned", why, perf_counter_ns())
        self._leave()

    def stalled(self, seconds: float) -> None:
        """Nothing has moved for so long."""
        self._fail(f"nothing moved for {seconds:g} s", 504)

    # The upstream's side.

    def upstream_bytes(self, stamp_ns: int, data: bytes) -> None:
        self.active_ns = stamp_ns
        if self.tunnel:
            self._client.write(data)
        elif self._answer is not None:
            self._answer_body(self._answer, stamp_ns, data, 0)
        else:
            self._answer_head(stamp_ns, self._head_bytes + data if self._head_bytes else data)

    def upstream_writes(self, *, paused: bool) -> None:
        self.active_ns = perf_counter_ns()
        if not paused and self._answer is None and self._recording is not None:
            self._recording.sent_ns = self.active_ns
        self._client.update_reading()

    def upstream_lost(self, connection: UpstreamSide, error: Exception | None) -> None:
        """The connection is gone: `error` says how, None for an orderly end."""
        self._connection = None
        if self.tunnel or self._answered:
            self._end()
            self._client.answered(keep=False)
        elif self._broken is not None:
            self._fail(f"sent a broken answer: {self._broken}")
        elif self._answer is not None and self._answer.until_close and error is None:
            self._record("complete", None, perf_counter_ns())
            self._end()
            self._client.answered(keep=False)
        elif connection.reused and self._held is not None and not self._resent:
            self._resent = True
            self._proxy.counters.resent += 1
            self._connect()
        else:
            how = "closed the connection" if error is None else f"broke off ({_in_words(error)})"
            began = self._answer is not None or self._head_bytes
            self._fail(f"{how} {'inside its answer' if began else 'without an answer'}")

    # In between.

    def _connect(self) -> None:
        self._connecting = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        try:
            connection = await self._pool.open()
        except Refused as refused:
            self._connecting = None
            self._proxy.counters.upstream_errors += 1
            self._refuse(refused)
            return
        self._connecting = None
        if self._recording is not None:
            self._recording.connect_s = connection.connect_s
        self._attach(connection)

    def _attach(self, connection: UpstreamSide) -> None:
        self._connection = connection
        connection.relay = self
        assert self._held is not None
        self._write(self._held[0] if len(self._held) == 1 else b"".join(self._held))
        self._forget_too_much()
        if self._client.write_paused:
            connection.read_on(False)
        self._client.update_reading()

    def _feed(self, data: bytes) -> int:
        taken = self.request.feed(data, self._keep_request)
        if self._recording is not None:
            self._recording.counted()
        return taken

    def _write(self, data: bytes) -> None:
        assert self._connection is not None
        self._connection.write(data)
        self.active_ns = perf_counter_ns()
        if self._recording is not None and self._answer is None:
            self._recording.sent_ns = self.active_ns

    def _hold(self, data: bytes) -> None:
        if self._held is not None:
            self._held.append(data)
            self._held_bytes += len(data)
            if self._connection is not None:
                self._forget_too_much()

    def _forget_too_much(self) -> None:
        if self._held_bytes > RESEND_LIMIT_BYTES:
            self._held = None

    def _answer_head(self, stamp_ns: int, data: bytes) -> None:
        """`data` begins with a head. Informational ones (1xx) pass, and the next is looked at."""
        self._held = None
        self._head_bytes = b""
        start = 0
        while True:
            end = data.find(HEAD_END, start) + len(HEAD_END)
            if end < len(HEAD_END):
                if start:
                    self._client.write(data[:start])
                self._head_bytes = data[start:]
                if len(self._head_bytes) > LONGEST_HEAD_BYTES:
                    self._fail("began an answer whose head has no end")
                return
            try:
                head = ResponseHead(data[start:end])
            except Malformed as error:
                self._fail(f"answered with something that is not HTTP/1.x: {error}")
                return
            if head.status >= 200 or head.status == 101:
                break
            start = end
        if head.status == 101:
            self._switch(data)
            return
        if self._recording is not None:
            self._recording.response_head(head.status, head, stamp_ns)
        self._answer = response_framing(head, self._head.method)
        self._answer_keeps = head.keep_alive and not self._answer.until_close
        self._answer_body(self._answer, stamp_ns, data, end)

    def _answer_body(self, answer: Framing, stamp_ns: int, data: bytes, start: int) -> None:
        """Pass `data` on; what belongs to the body begins at `start`."""
        end = len(data)
        if answer.complete:
            end = start
        elif start < end:
            try:
                end = start + answer.feed(data[start:] if start else data, self._keep_answer)
            except Malformed as error:
                self._broken = str(error)
                self._answer = answer = UntilClose()
                self._keep_answer = None
            if self._recording is not None:
                self._recording.read(stamp_ns)
        if not answer.complete:
            self._client.write(data)
            return
        if end != len(data):
            self._answer_keeps = False  # something follows that nobody asked for
            data = data[:end]
        if self._answered:
            self._leave()
            self._client.answered(keep=False)
            return
        if start and self._recording is not None and self._proxy.first_byte_goes_ahead():
            # The whole answer in one read: its first byte is not to wait for the record, only its end is.
            self._client.write(data[:-END_BYTES])
            data = data[-END_BYTES:]
        self._record("complete", None, stamp_ns)
        if data:
            self._client.write(data)
        self._answered = True
        if self.request.complete:
            self._both_over()
        elif not self._answer_keeps:
            self._leave()
            self._client.answered(keep=False)

    def _both_over(self) -> None:
        connection, self._connection = self._connection, None
        self._end()
        if connection is not None:
            if self._answer_keeps and self._head.keep_alive:
                self._pool.give_back(connection, self.active_ns)
            else:
                connection.close()
        self._client.answered(keep=self._answer_keeps and self._head.keep_alive)

    def _switch(self, data: bytes) -> None:
        """101: from here on it is no HTTP."""
        self.tunnel = True
        self._recording = self._keep_request = self._keep_answer = None
        self._proxy.counters.skip("another protocol")
        self._client.write(data)
        self._client.switched()

    def _fail(self, reason: str, status: int = 502) -> None:
        """The upstream does not answer, or not to the end."""
        if not self.tunnel and not self._answered:
            self._proxy.counters.upstream_errors += 1
        if self._answer is None and not self.tunnel:
            self._refuse(Refused(status, f"{self._pool.name}: {reason}"))
            return
        # Where only the close ends an answer, an orderly one would make a whole of it.
        reset = self._answer is not None and self._answer.until_close and self._broken is None
        self._record("cut", reason, self.active_ns)
        self._leave()
        self._client.cut(reset=reset)

    def _refuse(self, refused: Refused) -> None:
        self._record("unanswered", refused.message, perf_counter_ns())
        self._leave()
        self._client.refuse(refused, self._head, self.request)

    def _leave(self) -> None:
        """Drop the upstream's side."""
        self._end()
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _end(self) -> None:
        self.over = True
        self._proxy.relay_over(self)

    def _record(self, end: End, error: str | None, ended_ns: int) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            self._proxy.record(recording, end, error, ended_ns)


def _in_words(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
