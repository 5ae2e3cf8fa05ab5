"""A proxy between raw sockets: a test writes the bytes of both sides and sees what arrives at the other one."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from contextlib import suppress

from hitrate.serve.listening import listen
from hitrate.serve.proxy.proxy import Limits, Proxy
from hitrate.serve.proxy.routes import Routes
from hitrate.serve.proxy.server import serve
from hitrate.serve.proxy.upstreams import parse_upstreams


class ListSink:
    """Keeps exchanges in memory; `keep` False makes it one that cannot."""

    def __init__(self):
        self.exchanges = []
        self.keep = True
        self._came = asyncio.Event()

    def record(self, exchange):
        self.exchanges.append(exchange)
        self._came.set()
        return self.keep

    async def at_least(self, count):
        while len(self.exchanges) < count:
            self._came.clear()
            await self._came.wait()
        return self.exchanges


class End:
    """One end of a connection, in the hands of the test."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def write(self, *segments):
        for segment in segments:
            self.writer.write(segment)
            await self.writer.drain()
            await asyncio.sleep(0)

    async def read(self, count):
        return await self.reader.readexactly(count)

    async def expect(self, data):
        """Exactly these bytes come next."""
        assert await self.reader.readexactly(len(data)) == data

    async def head(self):
        return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self):
        """Everything until the other side ends, "reset" where it broke off."""
        data = b""
        with suppress(ConnectionError):
            while piece := await self.reader.read(65536):
                data += piece
            return data
        return data + b"reset"

    async def ended(self):
        assert await self.rest() in (b"", b"reset")

    def close(self):
        self.writer.close()

    def reset(self):
        raw_socket = self.writer.get_extra_info("socket")
        raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Rig:
    """`async with Rig() as rig`: an upstream (or several, by name) that hands its connections to the test, a proxy in
    front of it, and its sink. Ports stand in the texts of `Routes` as {port}."""

    def __init__(
        self, *, base="", names=(), tls=None, proxy_tls=None, limits=None, record=True, upstreams=(), **routes
    ):
        self._base, self._names, self._tls, self._proxy_tls = base, names, tls, proxy_tls
        self._limits, self._record, self._given, self._routes = limits or Limits(), record, upstreams, routes

    async def __aenter__(self):
        self.sink = ListSink()
        self._connections = asyncio.Queue()
        self._upstream = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls, limit=2**26)
        self.upstream_port = self._upstream.sockets[0].getsockname()[1]
        self.upstream_host = f"127.0.0.1:{self.upstream_port}".encode()
        scheme = "http" if self._tls is None else "https"
        url = f"{scheme}://127.0.0.1:{self.upstream_port}{self._base}"
        texts = self._given or [f"{name}={url}" for name in self._names] or [url]
        self.proxy = Proxy(
            Routes(parse_upstreams(text.format(port=self.upstream_port) for text in texts), **self._routes),
            sink=self.sink if self._record else None,
            limits=self._limits,
            tls=self._proxy_tls,
        )
        listening = listen("127.0.0.1", 0)
        self.port = listening.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}".encode()
        self.stop, self.hurry, ready = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.served = asyncio.create_task(
            serve(self.proxy, listening, ready.set, stop=self.stop, hurry=self.hurry, grace_s=30)
        )
        await ready.wait()
        return self

    async def __aexit__(self, *reason):
        self.stop.set()
        self.hurry.set()
        await self.served
        await self.close_upstream()

    async def close_upstream(self):
        self._upstream.close()
        while not self._connections.empty():
            self._connections.get_nowait().writer.transport.abort()

    async def _connected(self, reader, writer):
        self._connections.put_nowait(End(reader, writer))

    async def client(self, *, limit=2**26, **socket_options):
        return End(*await asyncio.open_connection("127.0.0.1", self.port, limit=limit))

    async def upstream(self):
        """The next connection that the proxy opened."""
        return await self._connections.get()

    @property
    def opened(self):
        """Connections that the proxy opened and the test has not taken."""
        return self._connections.qsize()

    def request(self, target=b"/v1/chat/completions", body=b'{"model":"m"}', *headers, method=b"POST"):
        """What a client sends, and what the upstream is to see of it."""
        head = b"%b %b HTTP/1.1\r\nHost: %%b\r\n%bContent-Length: %d\r\n\r\n" % (
            method,
            target.replace(b"%", b"%%"),
            b"".join(header.replace(b"%", b"%%") + b"\r\n" for header in headers),
            len(body),
        )
        return head % self.host + body, head % self.upstream_host + body


def with_length(body, *, status=b"200 OK", headers=b""):
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, headers, len(body), body)


def chunks(*parts, trailers=b""):
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailers + b"\r\n"


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def tls_pair(certificate):
    """Contexts of a server with the test's certificate, and of a client that trusts it."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    server.set_alpn_protocols(["http/1.1"])
    client = ssl.create_default_context(cafile=certificate)
    client.set_alpn_protocols(["http/1.1"])
    return server, client
