"""A side that does not read stops the other one; what the proxy holds meanwhile is counted, not timed."""

import asyncio

import pytest
from proxy_rig import Rig

SIZE = 64 * 1024 * 1024
PIECE = b"x" * 65536
MOST_HELD_BYTES = 512 * 1024
"""One read of a loop has at most 256 KiB."""


async def until_still(written):
    """Until the count of bytes written has not changed for many turns of the loop."""
    still, last = 0, -1
    while still < 300:
        await asyncio.sleep(0)
        still = still + 1 if written[0] == last else 0
        last = written[0]


async def write_all(end, written):
    while written[0] < SIZE:
        await end.write(PIECE)
        written[0] += len(PIECE)


@pytest.mark.parametrize("record", [True, False])
def test_a_client_that_does_not_read_stops_the_upstream(run, record):
    async def main():
        async with Rig(record=record) as rig:
            client = await rig.client(limit=2**16)
            sent, expected = rig.request()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE
            await upstream.write(head)
            await client.expect(head)
            written = [0]
            writing = asyncio.create_task(write_all(upstream, written))
            await until_still(written)
            assert written[0] < SIZE * 3 / 4
            (own,) = rig.proxy.clients
            assert own.write_paused
            assert own.transport.get_write_buffer_size() <= MOST_HELD_BYTES
            left = SIZE
            while left:
                left -= len(await client.reader.read(65536))
                assert own.transport.get_write_buffer_size() <= MOST_HELD_BYTES
            await writing
            if record:
                (exchange,) = rig.sink.exchanges
                assert len(exchange.response_body) + exchange.left_out == SIZE

    run(main())


def test_an_upstream_that_does_not_read_stops_the_client(run):
    async def main():
        async with Rig(record=False) as rig:
            client = await rig.client()
            await client.write(b"POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % SIZE)
            upstream = await rig.upstream()
            await upstream.head()
            upstream.writer.transport.pause_reading()
            written = [0]
            writing = asyncio.create_task(write_all(client, written))
            await until_still(written)
            assert written[0] < SIZE * 3 / 4
            (relay,) = rig.proxy.running
            assert relay.blocked
            assert relay._connection.transport.get_write_buffer_size() <= MOST_HELD_BYTES
            upstream.writer.transport.resume_reading()
            await upstream.read(SIZE)
            await writing

    run(main())


def test_a_client_is_not_read_on_while_the_connection_is_being_opened(run):
    async def main():
        async with Rig(record=False) as rig:
            opened = asyncio.Event()
            client = await rig.client()
            await client.write(b"GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n")
            upstream = await rig.upstream()
            await upstream.head()
            await upstream.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            (pool,) = rig.proxy._pools.values()
            open_now = pool.open

            async def open_later():
                await opened.wait()
                return await open_now()

            pool.open = open_later
            client = await rig.client()
            await client.write(b"POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % SIZE)
            written = [0]
            writing = asyncio.create_task(write_all(client, written))
            await until_still(written)
            (relay,) = rig.proxy.running
            assert relay._held_bytes <= MOST_HELD_BYTES
            assert written[0] < SIZE * 3 / 4
            opened.set()
            upstream = await rig.upstream()
            await upstream.head()
            await upstream.read(SIZE)
            await writing

    run(main())


def test_requests_sent_ahead_are_not_read_without_end(run):
    async def main():
        async with Rig(record=False) as rig:
            client = await rig.client()
            sent, expected = rig.request()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            written = [0]
            writing = asyncio.create_task(write_all(client, written))
            await until_still(written)
            (own,) = rig.proxy.clients
            assert len(own._ahead) <= MOST_HELD_BYTES
            assert written[0] < SIZE * 3 / 4
            writing.cancel()
            client.reset()

    run(main())
