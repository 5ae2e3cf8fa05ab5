"""What goes wrong on either side looks to the other one as it is, and is recorded as it was."""

import asyncio
import json

import pytest
from proxy_rig import CHUNKED, Rig, with_length

from hitrate.serve.proxy.client import LINGER_S
from hitrate.serve.proxy.pool import KEPT_IDLE_S
from hitrate.serve.proxy.proxy import Limits


def error_of(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Content-Type: application/json" in head
    assert b"Content-Length: %d" % len(body) in head
    error = json.loads(body)["error"]
    assert error["type"] == "hitrate_proxy"
    return int(head.split()[1]), error["message"]


async def asked(rig, request=None):
    """A client that has sent a request, and the upstream that has read it."""
    client = await rig.client()
    sent, expected = request or rig.request()
    await client.write(sent)
    upstream = await rig.upstream()
    await upstream.expect(expected)
    return client, upstream


async def outcome(rig):
    (exchange,) = await rig.sink.at_least(1)
    return exchange.end, exchange.status, exchange.error


def test_an_upstream_that_cannot_be_reached(run):
    async def main():
        async with Rig() as rig:
            await rig.close_upstream()
            client = await rig.client()
            await client.write(rig.request()[0])
            message = f"{rig.upstream_host.decode()} (http://{rig.upstream_host.decode()}): connection refused"
            assert error_of(await client.rest()) == (502, message)
            assert await outcome(rig) == ("unanswered", None, message)
            assert rig.sink.exchanges[0].total_ns is None
            assert rig.proxy.counters.upstream_errors == 1

    run(main())


def test_a_host_name_that_is_none(run):
    async def main():
        async with Rig(upstreams=["http://no-such-host.invalid/v1"]) as rig:
            client = await rig.client()
            await client.write(rig.request()[0])
            status, message = error_of(await client.rest())
            assert status == 502
            assert message.startswith("no-such-host.invalid (http://no-such-host.invalid): host name not found")

    run(main())


@pytest.mark.parametrize(
    ("start", "ending", "message"),
    [
        (b"", "close", "closed the connection without an answer"),
        (b"", "reset", "broke off (connection reset by peer) without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-", "close", "closed the connection inside its answer"),
        (b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc\r\n\r\n", None, "answered with something that is not HTTP/1.x"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", None, "answered with something that is not HTTP/1.x"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000, None, "began an answer whose head has no end"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
            None,
            "answered with something that is not HTTP/1.x",
        ),
    ],
    ids=["closed", "reset", "half-a-head", "bare-line-feeds", "no-http", "endless-head", "two-lengths"],
)
def test_an_upstream_that_gives_no_answer(run, start, ending, message):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            await upstream.write(*([start] if start else []))
            if ending is not None:
                getattr(upstream, ending)()
            status, text = error_of(await client.rest())
            assert status == 502
            assert message in text
            assert (await outcome(rig))[:2] == ("unanswered", None)

    run(main())


@pytest.mark.parametrize(
    ("answer", "ending", "arrives", "error"),
    [
        (CHUNKED + b"3\r\nabc\r\n", "close", b"", "closed the connection inside its answer"),
        (CHUNKED + b"3\r\nabc\r\n", "reset", b"", "broke off (connection reset by peer) inside its answer"),
        (CHUNKED + b"3\r\nabc\r\n0\r\n", "close", b"", "closed the connection inside its answer"),
        (with_length(b"abcdef")[:-3], "close", b"", "closed the connection inside its answer"),
        (b"HTTP/1.1 200 OK\r\n\r\nabc", "reset", b"reset", "broke off (connection reset by peer) inside its answer"),
        (CHUNKED + b"3\r\nabc\r\nzz\r\n", "close", b"", "sent a broken answer: no chunk begins with b'zz\\r\\n'"),
        (CHUNKED + b"2\r\nabc\r\n", "close", b"", "sent a broken answer: a chunk is longer than it says"),
    ],
    ids=[
        "chunked-closed",
        "chunked-reset",
        "before-last-line",
        "length",
        "until-close-reset",
        "no-chunk",
        "long-chunk",
    ],
)
def test_a_cut_answer_looks_cut(run, answer, ending, arrives, error):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            await upstream.write(answer)
            await client.expect(answer)
            getattr(upstream, ending)()
            assert await client.rest() == arrives
            assert await outcome(rig) == ("cut", 200, error)
            body = rig.sink.exchanges[0].response_body
            assert body == (b"ab" if "longer" in error else b"abc")

    run(main())


@pytest.mark.parametrize(
    "status", [b"400 Bad Request", b"401 Unauthorized", b"429 Too Many Requests", b"500 Oh", b"529 x"]
)
def test_an_upstreams_own_refusal_passes(run, status):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            answer = with_length(b'{"error":{"message":"no"}}', status=status, headers=b"Retry-After: 3\r\n")
            await upstream.write(answer)
            await client.expect(answer)
            assert await outcome(rig) == ("complete", int(status[:3]), None)
            assert rig.sink.exchanges[0].response_headers == {"retry-after": "3"}
            assert rig.proxy.counters.upstream_errors == 0

    run(main())


@pytest.mark.parametrize("ending", ["close", "reset"])
@pytest.mark.parametrize("answer", [b"", CHUNKED, CHUNKED + b"3\r\nabc\r\n"], ids=["before", "head", "inside"])
def test_a_client_that_goes_away_ends_the_upstreams_work_at_once(run, answer, ending):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            await upstream.write(*([answer] if answer else []))
            await client.expect(answer)
            getattr(client, ending)()
            await upstream.ended()
            assert await outcome(rig) == ("abandoned", 200 if answer else None, "the client went away")
            assert rig.sink.exchanges[0].response_body == (b"abc" if b"abc" in answer else b"")
            assert rig.proxy.counters.aborts == 1
            assert not rig.proxy.running

    run(main())


def test_a_client_that_goes_away_inside_its_request(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            sent, expected = rig.request(body=b"x" * 100)
            await client.write(sent[:-50])
            upstream = await rig.upstream()
            await upstream.expect(expected[:-50])
            client.close()
            await upstream.ended()
            assert await outcome(rig) == ("abandoned", None, "the client went away")
            assert rig.sink.exchanges[0].request_body == b"x" * 50

    run(main())


def test_a_half_closed_client_that_closes_after_all(run):
    """Its end is looked for again as long as it is silent."""

    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            client.writer.write_eof()
            await upstream.write(CHUNKED)
            await client.expect(CHUNKED)
            rig.proxy.look()
            assert rig.proxy.running
            client.close()
            while client.writer.transport.get_extra_info("socket").fileno() >= 0:
                await asyncio.sleep(0)
            rig.proxy.look()
            await upstream.ended()
            assert (await outcome(rig))[0] == "abandoned"

    run(main())


@pytest.mark.parametrize(
    ("answer", "end"), [(b"", "unanswered"), (CHUNKED + b"3\r\nabc\r\n", "cut")], ids=["no-answer", "inside"]
)
def test_a_stall_is_one_until_the_time_is_up(run, answer, end):
    async def main():
        async with Rig(limits=Limits(idle_timeout_s=60)) as rig:
            client, upstream = await asked(rig)
            await upstream.write(*([answer] if answer else []))
            await client.expect(answer)
            (relay,) = rig.proxy.running
            rig.proxy.look(relay.active_ns + 59 * 10**9)
            assert rig.sink.exchanges == []
            rig.proxy.look(relay.active_ns + 61 * 10**9)
            rest = await client.rest()
            if answer:
                assert rest == b""
            else:
                assert error_of(rest)[0] == 504
            assert (await outcome(rig))[0] == end
            assert "nothing moved for 60 s" in rig.sink.exchanges[0].error
            await upstream.ended()

    run(main())


def test_a_kept_connection_found_closed_costs_no_request(run):
    """Closed on the request: it goes out once more, whole, on a new connection."""

    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            await upstream.write(with_length(b"1"))
            await client.expect(with_length(b"1"))
            sent, expected = rig.request(body=b"x" * 5000)
            await client.write(sent[:-1000])
            await upstream.expect(expected[:-1000])
            upstream.reset()
            second = await rig.upstream()
            await second.expect(expected[:-1000])
            await client.write(sent[-1000:])
            await second.expect(expected[-1000:])
            await second.write(with_length(b"2"))
            await client.expect(with_length(b"2"))
            assert rig.proxy.counters.resent == 1
            assert [one.end for one in rig.sink.exchanges] == ["complete", "complete"]
            assert [one.connect_s is None for one in rig.sink.exchanges] == [False, False]

    run(main())


@pytest.mark.parametrize(
    ("size", "interim"), [(5_000_000, b""), (10, b"HTTP/1.1 102 Processing\r\n\r\n")], ids=["too-large", "begun"]
)
def test_what_cannot_be_sent_again_is_not(run, size, interim):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            await upstream.write(with_length(b"1"))
            await client.expect(with_length(b"1"))
            sent, expected = rig.request(body=b"x" * size)
            writing = asyncio.create_task(client.write(sent))
            await upstream.expect(expected)
            await writing
            await upstream.write(*([interim] if interim else []))
            await client.expect(interim)
            upstream.reset()
            assert error_of(await client.rest())[0] == 502
            assert (rig.proxy.counters.resent, rig.opened) == (0, 0)

    run(main())


def test_a_new_connection_that_closes_is_not_tried_again(run):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            upstream.close()
            assert error_of(await client.rest())[0] == 502
            assert (rig.proxy.counters.resent, rig.opened) == (0, 0)

    run(main())


def test_connections_are_kept_for_other_clients_and_not_for_ever(run):
    async def main():
        async with Rig() as rig:
            first, upstream = await asked(rig)
            await upstream.write(with_length(b"1"))
            await first.expect(with_length(b"1"))
            first.close()
            second = await rig.client()
            sent, expected = rig.request(b"/v1/2")
            await second.write(sent)
            await upstream.expect(expected)
            await upstream.write(with_length(b"2"))
            await second.expect(with_length(b"2"))
            (pool,) = rig.proxy._pools.values()
            idle_since_ns = pool._free[0].idle_since_ns
            rig.proxy.look(idle_since_ns + int((KEPT_IDLE_S - 1) * 1e9))
            assert len(pool._free) == 1
            rig.proxy.look(idle_since_ns + int((KEPT_IDLE_S + 1) * 1e9))
            await upstream.ended()

    run(main())


@pytest.mark.parametrize("extra", [b"x", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
def test_what_follows_an_answer_unasked_goes_to_nobody(run, extra):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            await upstream.write(with_length(b"1") + extra)
            assert await client.rest() == with_length(b"1")
            await upstream.ended()

    run(main())


def test_what_comes_on_a_free_connection_ends_it(run):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            await upstream.write(with_length(b"1"))
            await client.expect(with_length(b"1"))
            await upstream.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            await upstream.ended()
            sent, expected = rig.request(b"/v1/2")
            await client.write(sent)
            second = await rig.upstream()
            await second.expect(expected)

    run(main())


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, "Invalid header token"),
        (b"GET /\r\n\r\n", 400, "no HTTP version"),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400, "not a request"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "not a request"),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "Content-Length"),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "Content-Length"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 400, "Transfer-Encoding"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "more than one Host"),
        (b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400, "whitespace"),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 300_000, 431, "256 KiB"),
        (b"CONNECT example.com:443 HTTP/1.1\r\n\r\n", 405, "base URL"),
    ],
)
def test_what_is_no_request_is_refused(run, sent, status, message):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            await client.write(sent)
            client.writer.write_eof()
            found_status, text = error_of(await client.rest())
            assert (found_status, message in text) == (status, True), text
            assert (rig.opened, rig.proxy.counters.refused) == (0, 1)

    run(main())


def test_a_request_whose_chunks_are_broken(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            head = b"POST /v1/x HTTP/1.1\r\nHost: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
            await client.write(head % rig.host + b"3\r\nabc\r\n")
            upstream = await rig.upstream()
            await upstream.expect(head % rig.upstream_host + b"3\r\nabc\r\n")
            await client.write(b"zz\r\n")
            client.writer.write_eof()
            assert error_of(await client.rest())[0] == 400
            await upstream.ended()
            assert (await outcome(rig))[0] == "abandoned"

    run(main())


def test_a_sink_that_cannot_keep_stops_no_traffic(run):
    async def main():
        async with Rig() as rig:
            rig.sink.keep = False
            client, upstream = await asked(rig)
            await upstream.write(with_length(b"1"))
            await client.expect(with_length(b"1"))
            assert (rig.proxy.counters.recorded, rig.proxy.counters.not_recorded) == (0, {"could not be kept": 1})

    run(main())


def test_a_sink_that_raises_stops_no_traffic_and_is_said_once(run, capsys):
    async def main():
        async with Rig() as rig:
            rig.sink.record = lambda exchange: 1 / 0
            client, upstream = await asked(rig)
            for _ in range(2):
                await upstream.write(with_length(b"1"))
                await client.expect(with_length(b"1"))
                await client.write(rig.request()[0])
                await upstream.expect(rig.request()[1])
            assert rig.proxy.counters.not_recorded == {"could not be kept": 2}

    run(main())
    assert capsys.readouterr().err.count("cannot be recorded (ZeroDivisionError: division by zero)") == 1


@pytest.mark.parametrize(
    ("before", "last", "held_back"),
    [
        ([CHUNKED, b"3\r\nabc\r\n"], b"2\r\nde\r\n0\r\n\r\n", 12),
        ([], CHUNKED + b"3\r\nabc\r\n0\r\n\r\n", 5),
        ([], with_length(b"12345678"), 5),
    ],
    ids=["last-of-several-reads", "all-in-one-read", "with-length"],
)
def test_an_exchange_is_kept_before_the_client_has_its_end(run, before, last, held_back):
    """But its first byte does not wait for that."""

    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            written = []
            record = rig.sink.record

            def record_and_look(exchange):
                written.append(rig.proxy.counters.bytes_to_clients)
                return record(exchange)

            rig.sink.record = record_and_look
            for segment in (*before, last):
                await upstream.write(segment)
                await client.expect(segment)
            assert written == [len(b"".join(before) + last) - held_back]

    run(main())


def test_of_many_whole_answers_in_one_turn_the_first_bytes_of_two_go_ahead(run):
    """Further ones would wait longer for the writes of those than for their own record."""

    async def main():
        async with Rig() as rig:
            for _ in range(2):
                assert [rig.proxy.first_byte_goes_ahead() for _ in range(4)] == [True, True, False, False]
                await asyncio.sleep(0)
            client, upstream = await asked(rig)
            rig.proxy.first_byte_goes_ahead = lambda: False
            written = []
            record = rig.sink.record

            def record_and_look(exchange):
                written.append(rig.proxy.counters.bytes_to_clients)
                return record(exchange)

            rig.sink.record = record_and_look
            await upstream.write(with_length(b"12345678"))
            await client.expect(with_length(b"12345678"))
            assert written == [0]

    run(main())


def test_idle_clients_are_let_go(run):
    async def main():
        async with Rig(limits=Limits(idle_timeout_s=60)) as rig:
            client = await rig.client()
            await client.write(b"POST /v1")
            while not rig.proxy.clients:
                await asyncio.sleep(0)
            (own,) = rig.proxy.clients
            rig.proxy.look(own._active_ns + 59 * 10**9)
            assert rig.proxy.clients
            rig.proxy.look(own._active_ns + 61 * 10**9)
            await client.ended()

    run(main())


def test_a_refused_client_that_sends_on_is_let_go(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            await client.write(b"BROKEN\r\n\r\n")
            assert error_of(await client.rest())[0] == 400
            (own,) = rig.proxy.clients
            rig.proxy.look(own._active_ns + int((LINGER_S + 1) * 1e9))
            while rig.proxy.clients:
                await asyncio.sleep(0)

    run(main())


def test_the_proxy_stops_after_the_exchanges_under_way(run):
    async def main():
        async with Rig() as rig:
            idle = await rig.client()
            client, upstream = await asked(rig)
            rig.stop.set()
            await idle.ended()
            await upstream.write(with_length(b"1"))
            assert await client.rest() == with_length(b"1")
            await rig.served
            assert (await outcome(rig))[0] == "complete"

    run(main())


def test_the_proxy_stops_at_once_when_it_is_told_twice(run):
    async def main():
        async with Rig() as rig:
            client, upstream = await asked(rig)
            rig.stop.set()
            rig.hurry.set()
            await client.ended()
            await upstream.ended()
            await rig.served
            assert await outcome(rig) == ("abandoned", None, "the proxy was stopped")

    run(main())


def test_a_thousand_clients_at_once(run):
    async def main():
        async with Rig() as rig:
            count = 1000 if "uvloop" in type(asyncio.get_running_loop()).__module__ else 200
            clients = [await rig.client() for _ in range(count)]
            pairs = [rig.request(b"/v1/%d" % number) for number in range(count)]
            for client, (sent, _) in zip(clients, pairs, strict=True):
                client.writer.write(sent)
            upstreams = [await rig.upstream() for _ in range(count)]
            for upstream in upstreams:
                await upstream.head()
                await upstream.read(len(b'{"model":"m"}'))
                upstream.writer.write(with_length(b"done"))
            for client in clients:
                await client.expect(with_length(b"done"))
            assert len(rig.sink.exchanges) == count
            assert len({one.path for one in rig.sink.exchanges}) == count
            for client in clients:
                client.close()

    run(main())
