"""Connections: kept, lost, refused, limited, cancelled, encrypted, and with more to send than a socket takes."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from wire_server import CLOSE, RESET, SILENCE, STREAM, WHOLE, WireServer, call_once, calls_of, stream, with_length

from hitrate.errors import Unreachable
from hitrate.live.client import Client
from hitrate.live.connection import Connection
from hitrate.targets.dialects.openai_chat import OpenAIChat

CERTIFICATE = Path(__file__).parent.parent / "data" / "localhost-for-tests-only.pem"


def test_a_body_of_fifty_megabytes_goes_out_whole(run):
    body = b'{"model":"m","pad":"' + b"p" * 50_000_000 + b'"}'
    server = WireServer(stream(*WHOLE))
    call = run(call_once(server, body=body))
    assert call.error is None
    assert server.requests[0][1] == body


def test_an_early_refusal_of_a_large_body_is_read(run):
    """The server answers after the head and never reads the rest."""

    async def main():
        refused = b"".join(with_length(b'{"error":"too large"}', status=b"413 Content Too Large"))

        async def handle(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(refused)
            await writer.drain()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, Client(url, target="t", dialect=OpenAIChat()) as client:
            return await client.call(b" " * 8_000_000)

    call = run(main())
    assert (call.status, call.error) == (413, "too large")


def test_a_session_keeps_its_connection(run):
    server = WireServer(*[stream(*WHOLE)] * 5)
    calls, client = run(calls_of(server, "a", "b", "a", "b", "a"))
    assert server.connections_of_requests == [1, 2, 1, 2, 1]
    assert len(client.connect_times_s) == 2
    assert [call.timing.connect_s is None for call in calls] == [False, False, True, True, True]


def test_the_connection_of_an_ended_session_serves_the_next(run):
    async def main():
        server = WireServer(*[stream(*WHOLE)] * 3)
        async with server, Client(server.url, target="t", dialect=OpenAIChat()) as client:
            await client.call(b"{}", session="a")
            await client.call(b"{}", session="b")
            client.end_session("a")
            await client.call(b"{}", session="c")
        assert server.connections_of_requests == [1, 2, 1]

    run(main())


def test_calls_of_one_session_at_once_each_have_a_connection(run):
    async def main():
        server = WireServer(*[stream(*WHOLE)] * 3)
        async with server, Client(server.url, target="t", dialect=OpenAIChat()) as client:
            calls = await asyncio.gather(*(client.call(b"{}", session="a") for _ in range(3)))
        assert [call.error for call in calls] == [None] * 3
        assert sorted(server.connections_of_requests) == [1, 2, 3]

    run(main())


def test_a_call_cancelled_while_it_waits_for_a_place_takes_nothing_with_it(run):
    async def main():
        server = WireServer([STREAM, SILENCE], stream(*WHOLE))
        async with server, Client(server.url, target="t", dialect=OpenAIChat(), max_connections=1) as client:
            holder, waiting, last = (asyncio.create_task(client.call(b"{}")) for _ in range(3))
            while not server.requests:
                await asyncio.sleep(0)
            waiting.cancel()
            holder.cancel()
            assert (await last).error is None

    run(main())


def test_calls_without_a_session_share_a_connection(run):
    server = WireServer(*[stream(*WHOLE)] * 3)
    run(calls_of(server, "", "", ""))
    assert server.connections_of_requests == [1, 1, 1]


@pytest.mark.parametrize("ending", [[CLOSE], [RESET]], ids=["closed", "reset"])
def test_a_kept_connection_the_server_has_closed_costs_no_call(run, ending):
    server = WireServer([*stream(*WHOLE), *ending], stream(*WHOLE))
    calls, _ = run(calls_of(server, "a", "a"))
    assert [call.error for call in calls] == [None, None]
    assert server.connections_of_requests == [1, 2]


def test_a_kept_connection_closed_on_the_request_is_tried_again_once(run):
    server = WireServer(stream(*WHOLE), [CLOSE], [CLOSE])
    calls, client = run(calls_of(server, "a", "a"))
    assert calls[1].error == "the server closed the connection without a reply"
    assert client.resent == 1
    assert len(server.requests) == 3


def test_a_fresh_connection_closed_on_the_request_is_not_tried_again(run):
    server = WireServer([CLOSE])
    calls, client = run(calls_of(server, "a"))
    assert calls[0].error == "the server closed the connection without a reply"
    assert (client.resent, len(server.requests)) == (0, 1)


def test_a_reply_that_had_begun_is_never_asked_for_again(run):
    server = WireServer(stream(*WHOLE), [STREAM, CLOSE])
    calls, _ = run(calls_of(server, "a", "a"))
    assert calls[1].error == "the server cut the connection inside the reply, after 0 bytes of body"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "options", "error"),
    [
        ([SILENCE], {"timeout_s": 0.01}, "no reply in "),
        ([SILENCE], {"first_byte_timeout_s": 0.01}, "no reply in "),
        ([STREAM, SILENCE], {"timeout_s": 0.05}, "the reply was not finished after "),
        ([STREAM, SILENCE], {"timeout_s": 0.1, "first_byte_timeout_s": 0.05}, "the reply was not finished after "),
    ],
)
def test_a_silent_server_is_given_up(run, reply, options, error):
    call = run(call_once(WireServer(reply), **options))
    assert call.error.startswith(error)
    assert call.timing.total_s is None


async def flood(reader, writer):
    """An event whose line never ends, until the client is gone."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(STREAM + b"\r\ndata: ")
    with suppress(ConnectionError):
        while not writer.is_closing():
            writer.write(b"x" * 65536)
            await writer.drain()


@pytest.mark.parametrize(
    ("timeout_s", "error"),
    [
        (30, "the reply is longer than 64 MiB, the most that is read of one"),
        (0.01, "the reply was not finished after "),
    ],
)
def test_a_flood_ends_by_its_length_or_its_time(run, timeout_s, error):
    async def main():
        server = await asyncio.start_server(flood, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, Client(url, target="t", dialect=OpenAIChat(), timeout_s=timeout_s) as client:
            call = await client.call(b"{}")
        assert (call.status, call.reply, call.timing.total_s) == (200, None, None)
        assert call.error.startswith(error)

    run(main())


def test_the_time_is_looked_at_with_every_read_since_a_flood_holds_up_timers():
    async def main():
        connection = Connection(asyncio.get_running_loop())
        connection.connection_made(transport := Mock())
        connection.begin(b"GET", 1e-9, None)
        connection.data_received(STREAM)  # the loop, and with it the timer, had no turn in between
        transport.abort.assert_called_once()

    asyncio.run(main())


@pytest.mark.parametrize(("earlier_s", "later_s"), [(1000.0, 0.002), (0.001, 0.02)])
def test_each_exchange_has_its_own_time_whatever_that_of_the_one_before(run, earlier_s, later_s):
    async def main():
        connection = Connection(asyncio.get_running_loop())
        connection.connection_made(Mock())
        connection.begin(b"GET", earlier_s, None)
        connection.data_received(b"".join(with_length(b"{}")))
        response = await connection.exchange(b"GET", timeout_s=later_s)
        assert response.fault.startswith("no reply in ")
        assert float(response.fault.split()[3]) >= later_s / 2  # uvloop rounds to milliseconds

    run(main())


def test_a_call_cancelled_inside_a_flood_closes_its_connection(run):
    async def main():
        flooded, gone = asyncio.Event(), asyncio.Event()

        async def handle(reader, writer):
            flooded.set()
            await flood(reader, writer)
            gone.set()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, Client(url, target="t", dialect=OpenAIChat()) as client:
            task = asyncio.create_task(client.call(b"{}"))
            await flooded.wait()
            task.cancel()
            await gone.wait()
            assert task.cancelled()

    run(main())


def test_a_refused_connection_is_an_error_of_the_call_and_of_warming(run):
    async def main():
        async with Client("http://127.0.0.1:1/v1", target="t", dialect=OpenAIChat()) as client:
            call = await client.call(b"{}")
            assert (call.status, call.timing, call.error) == (None, None, "http://127.0.0.1:1: connection refused")
            for attempt in (client.warm(2), client.get_json("/models")):
                with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:1"):
                    await attempt

    run(main())


def test_warming_opens_connections_that_calls_then_use(run):
    async def main():
        server = WireServer(*[stream(*WHOLE)] * 2)
        async with server, Client(server.url, target="t", dialect=OpenAIChat()) as client:
            await client.warm(3)
            assert len(client.connect_times_s) == 3
            calls = await asyncio.gather(*(client.call(b"{}", session=name) for name in "ab"))
            assert [call.timing.connect_s for call in calls] == [None, None]
            assert len(client.connect_times_s) == 3

    run(main())


def test_the_limit_of_connections_makes_calls_wait_and_sessions_share(run):
    async def main():
        server = WireServer(*[stream(*WHOLE)] * 12)
        async with server, Client(server.url, target="t", dialect=OpenAIChat(), max_connections=2) as client:
            calls = await asyncio.gather(*(client.call(b"{}", session=str(number % 6)) for number in range(12)))
        assert [call.error for call in calls] == [None] * 12
        assert set(server.connections_of_requests) == {1, 2}

    run(main())


def test_a_cancelled_call_closes_its_connection_and_frees_its_place(run):
    async def main():
        server = WireServer([STREAM, SILENCE], stream(*WHOLE))
        async with server, Client(server.url, target="t", dialect=OpenAIChat(), max_connections=1) as client:
            task = asyncio.create_task(client.call(b"{}", session="a"))
            while not server.requests:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await client.call(b"{}", session="a")).error is None
        assert server.connections_of_requests == [1, 2]

    run(main())


def tls_server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def test_tls_is_shaken_hands_apart_from_the_connection(run):
    trusted = ssl.create_default_context(cafile=str(CERTIFICATE))
    call = run(call_once(WireServer(stream(*WHOLE), tls=tls_server_context()), tls=trusted))
    assert (call.error, call.reply.text) == (None, "Hellö")
    assert call.timing.connect_s > 0
    assert call.timing.tls_s > 0


def test_tls_trusts_the_file_that_the_environment_names(run, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    call = run(call_once(WireServer(stream(*WHOLE), tls=tls_server_context())))
    assert call.error is None


def test_an_unknown_certificate_is_refused(run):
    server = WireServer(tls=tls_server_context())
    call = run(call_once(server))
    assert call.error == f"https://127.0.0.1:{server.port}: TLS certificate refused: self-signed certificate"


def test_tls_towards_a_plain_server_fails_in_one_line(run):
    async def main():
        server = WireServer([CLOSE])
        async with server:
            url = server.url.replace("http:", "https:")
            async with Client(url, target="t", dialect=OpenAIChat(), connect_timeout_s=0.2) as client:
                return await client.call(b"{}")

    call = run(main())
    assert call.status is None
    assert call.error.startswith("https://127.0.0.1:")
