"""What all connections of one proxy share: routes, pools, counters, the sink."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from time import perf_counter_ns

from msgspec import Struct

from hitrate.record.exchange import End, Sink
from hitrate.record.passing import Passing
from hitrate.record.saying import say
from hitrate.serve.proxy.client import ClientSide
from hitrate.serve.proxy.counters import CONTENT_TYPE, Counters
from hitrate.serve.proxy.heads import RequestHead
from hitrate.serve.proxy.pool import Pool
from hitrate.serve.proxy.refusals import OwnAnswer, Refused
from hitrate.serve.proxy.relay import Relay
from hitrate.serve.proxy.routes import METRICS_PATH, Routes
from hitrate.serve.proxy.upstreams import Upstream
from hitrate.targets.address import Address

_AHEAD_IN_A_TURN = 2
"""First bytes that go ahead of their records in one turn of the event loop. For those behind them in the same turn it
is sooner to wait for a record than for one write more of each answer in front."""

_UNRECORDED_METHODS = frozenset({b"GET", b"HEAD", b"OPTIONS"})


class Limits(Struct, frozen=True, kw_only=True):
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 1800.0
    """An exchange in which nothing moves for so long is given up, and a connection without one closed."""
    max_body_kept: int = 32 * 1024 * 1024
    """Bytes kept of each body of an exchange."""


class Proxy:
    """`sink` None: nothing is recorded. `page` gives the port of the process that shows the record on this machine,
    None as long as there is none. `tls` is for upstreams with https."""

    def __init__(
        self,
        routes: Routes,
        *,
        sink: Sink | None = None,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        page: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.counters = Counters()
        self.clients: set[ClientSide] = set()
        self.running: set[Relay] = set()
        """Exchanges with upstreams under way."""
        self.on_idle: Callable[[], None] = lambda: None
        """Called when the last exchange under way is over."""
        self._routes = routes
        self._sink = sink
        self._limits = limits or Limits()
        self._tls = tls
        self._page = page
        self._pools: dict[Upstream, Pool] = {}
        self._page_pool: Pool | None = None
        self._complained = False
        self._went_ahead = 0

    def relay(self, client: ClientSide, head: RequestHead) -> Relay:
        """For a new request. Raises OwnAnswer, mostly in the form of Refused."""
        route = self._routes.find(head)
        if route.upstream is None:
            if route.target == METRICS_PATH:
                raise OwnAnswer(200, CONTENT_TYPE, self.counters.as_metrics(len(self.running)))
            return Relay(self, client, self._pool_of_page(), head, route.target, None)
        self.counters.requests += 1
        recording = None
        if self._sink is None:
            self.counters.skip("--no-record")
        elif head.method in _UNRECORDED_METHODS:
            self.counters.skip(head.method.decode())
        elif not head.chunked and not head.content_length:
            self.counters.skip("no body")
        else:
            recording = Passing(
                route.upstream.given, head.method, route.target, head, self._limits.max_body_kept, route.secrets
            )
        relay = Relay(self, client, self._pool_of(route.upstream), head, route.target, recording)
        self.running.add(relay)
        return relay

    def relay_over(self, relay: Relay) -> None:
        self.running.discard(relay)
        if not self.running:
            self.on_idle()

    def first_byte_goes_ahead(self) -> bool:
        """Whether an answer that came in one read is to be written in two, so that its first byte does not wait until
        it is recorded."""
        if not self._went_ahead:
            asyncio.get_running_loop().call_soon(self._begin_turn)
        self._went_ahead += 1
        return self._went_ahead <= _AHEAD_IN_A_TURN

    def _begin_turn(self) -> None:
        self._went_ahead = 0

    def record(self, recording: Passing, end: End, error: str | None, ended_ns: int) -> None:
        """Hand an exchange to the sink. Whatever happens, traffic goes on."""
        assert self._sink is not None
        try:
            kept = self._sink.record(recording.exchange(end, error, ended_ns))
        except Exception as trouble:
            kept = False
            if not self._complained:
                self._complained = True
                say(f"an exchange cannot be recorded ({type(trouble).__name__}: {trouble})", "warning")
        if kept:
            self.counters.recorded += 1
        else:
            self.counters.skip("could not be kept")

    def look(self, now_ns: int | None = None) -> None:
        """Once a second: close what has been still for too long."""
        now_ns = perf_counter_ns() if now_ns is None else now_ns
        for client in tuple(self.clients):
            client.look(now_ns, self._limits.idle_timeout_s * 1e9)
        for pool in self._pools.values():
            pool.expire(now_ns)

    def stop_clients(self, *, now: bool) -> None:
        """Connections without an exchange close; those with one when it is over, or `now`."""
        for client in tuple(self.clients):
            client.stop(now=now)

    def close(self) -> None:
        """No connection stays open."""
        self.stop_clients(now=True)
        for pool in self._pools.values():
            pool.close()
        if self._page_pool is not None:
            self._page_pool.close()

    def _pool_of(self, upstream: Upstream) -> Pool:
        pool = self._pools.get(upstream)
        if pool is None:
            pool = self._pools[upstream] = self._new_pool(
                str(upstream), upstream.address, self._tls if upstream.address.scheme == "https" else None
            )
        return pool

    def _pool_of_page(self) -> Pool:
        port = self._page()
        if port is None:
            raise Refused(503, "there is no live page at the moment (it comes with a recording)")
        pool = self._page_pool
        if pool is None or pool.address.port != port:
            if pool is not None:
                pool.close()
            pool = self._page_pool = self._new_pool("the live page", Address("http", "127.0.0.1", port, "", ""), None)
        return pool

    def _new_pool(self, name: str, address: Address, tls: ssl.SSLContext | None) -> Pool:
        return Pool(
            name,
            address,
            tls=tls,
            connect_timeout_s=self._limits.connect_timeout_s,
            counters=self.counters,
        )
