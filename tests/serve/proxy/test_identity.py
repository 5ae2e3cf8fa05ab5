"""What arrives is what was sent, byte for byte, but for the Host header."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proxy_rig import CHUNKED, Rig, chunks, with_length

LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+-.^_`|~"
NOT_FREE = {b"host", b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"expect", b"keep-alive"}
NAME = st.binary(min_size=1, max_size=12).map(lambda data: bytes(LETTERS[byte % len(LETTERS)] for byte in data))
VALUE = st.binary(max_size=30).map(lambda data: bytes(byte if byte > 31 and byte != 127 else 33 for byte in data))
SPACE = st.sampled_from([b"", b" ", b"\t", b"  "])
HEADER = st.builds(
    lambda name, before, value, behind: b"%b:%b%b%b\r\n" % (name, before, value.strip(), behind),
    NAME.filter(lambda name: name.lower() not in NOT_FREE),
    SPACE,
    VALUE,
    SPACE,
)
HEADERS = st.lists(HEADER, max_size=8).map(b"".join)
BODY = st.binary(max_size=400)
EXTENSION = st.sampled_from([b"", b";a=b", b' ; q="x;y"', b";last"])
SIZE = st.sampled_from([b"%x", b"%X", b"0%x", b"000%x"])
TRAILERS = st.lists(HEADER, max_size=3).map(b"".join)


@st.composite
def chunked_body(draw):
    """The wire form and the body."""
    parts = draw(st.lists(st.binary(min_size=1, max_size=120), max_size=6))
    wire = b"".join(draw(SIZE) % len(part) + draw(EXTENSION) + b"\r\n" + part + b"\r\n" for part in parts)
    last = draw(st.sampled_from([b"0", b"000"])) + draw(EXTENSION) + b"\r\n"
    return wire + last + draw(TRAILERS) + b"\r\n", b"".join(parts)


@st.composite
def framed(draw):
    """Headers, an empty line and the wire form of a body; the body."""
    if draw(st.booleans()):
        wire, body = draw(chunked_body())
        length = draw(st.sampled_from([b"Transfer-Encoding: chunked\r\n", b"transfer-encoding:chunked\r\n"]))
    else:
        wire = body = draw(BODY)
        length = b"Content-Length: %d\r\n" % len(body)
    return draw(HEADERS) + length + draw(HEADERS) + b"\r\n" + wire, body


CUTS = st.lists(st.integers(1, 600), max_size=5)
METHOD = st.sampled_from([b"POST", b"PUT", b"PATCH", b"DELETE", b"QUERY"])
TARGET = st.sampled_from([b"/v1/chat/completions", b"/x?a=%20b&c", b"/a//b/../c;d", b"/v1/%7Euser", b"/?", b"/"])
HOST_NAME = st.sampled_from([b"Host: ", b"host: ", b"HOST: "])
STATUS = st.sampled_from([b"200 OK", b"200", b"429 Too Many Requests", b"500 \xfc", b"599 x y z"])
INTERIM = st.sampled_from([b"", b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"])


@st.composite
def exchanges(draw):
    """What stands before and behind the host in a request, its body, the answer, its body, and where both are cut."""
    behind, body = draw(framed())
    answer, answer_body = draw(framed())
    return {
        "before": b"%b %b HTTP/1.1\r\n" % (draw(METHOD), draw(TARGET)) + draw(HEADERS) + draw(HOST_NAME),
        "behind": b"\r\n" + behind,
        "body": body,
        "answer": draw(INTERIM) + b"HTTP/1.1 " + draw(STATUS) + b"\r\n" + answer,
        "answer_body": answer_body,
        "request_cuts": draw(CUTS),
        "answer_cuts": draw(CUTS),
    }


def cut(data, cuts):
    places = sorted({place for place in cuts if 0 < place < len(data)})
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


async def carry(rig, client, upstreams, one):
    """One exchange; the upstream's first connection carries them all."""
    writing = asyncio.create_task(client.write(*cut(one["before"] + rig.host + one["behind"], one["request_cuts"])))
    if not upstreams:
        upstreams.append(await rig.upstream())
    await upstreams[0].expect(one["before"] + rig.upstream_host + one["behind"])
    await writing
    writing = asyncio.create_task(upstreams[0].write(*cut(one["answer"], one["answer_cuts"])))
    await client.expect(one["answer"])
    await writing


def check_exchange(exchange, one):
    assert (exchange.request_body, exchange.response_body) == (one["body"], one["answer_body"])
    assert (exchange.end, exchange.error, exchange.left_out) == ("complete", None, 0)
    assert [so_far for so_far, _ in exchange.reads][-1:] == ([len(one["answer_body"])] if one["answer_body"] else [])
    stamps = [0, *(stamp for _, stamp in exchange.reads), exchange.total_ns]
    assert stamps == sorted(stamps)
    assert 0 <= exchange.headers_ns <= exchange.total_ns


def test_exchanges_pass_unchanged_one_after_the_other_on_one_connection(runner):
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(exchanges(), min_size=1, max_size=3), st.booleans())
    def check(several, record):
        async def main():
            async with Rig(record=record) as rig:
                client, upstreams = await rig.client(), []
                for one in several:
                    await carry(rig, client, upstreams, one)
                assert rig.opened == 0
            if record:
                with_body = [one for one in several if b"Content-Length: 0" not in one["behind"]]
                for exchange, one in zip(rig.sink.exchanges, with_body, strict=True):
                    check_exchange(exchange, one)

        runner.run(asyncio.wait_for(main(), 30))

    check()


def test_fifty_megabytes_each_way(run):
    async def main():
        body = bytes(range(256)) * 200_000
        async with Rig() as rig:
            client = await rig.client()
            sent, expected = rig.request(body=body)
            writing = asyncio.create_task(client.write(sent))
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await writing
            answer = with_length(body)
            writing = asyncio.create_task(upstream.write(answer))
            await client.expect(answer)
            await writing
            exchange = rig.sink.exchanges[0]
            kept = len(exchange.request_body) + len(exchange.response_body)
            assert kept + exchange.left_out == 2 * len(body)
            assert kept == 2 * 32 * 1024 * 1024

    run(main())


@pytest.mark.parametrize("keep", [False, True])
def test_chunks_reach_the_client_as_they_come(run, keep):
    """Nothing is held back until more comes: each event is read before the next is written."""

    async def main():
        async with Rig(record=keep) as rig:
            client = await rig.client()
            sent, expected = rig.request()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await upstream.write(CHUNKED)
            await client.expect(CHUNKED)
            for event in (b"3\r\nabc\r\n", b"2;x\r\nde\r\n", b"1", b"\r\nf", b"\r\n", b"0\r\n", b"A: b\r\n", b"\r\n"):
                await upstream.write(event)
                await client.expect(event)

    run(main())


def test_expect_100_passes_and_the_body_follows(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            sent, expected = rig.request(b"/v1/x", b"hello", b"Expect: 100-continue")
            await client.write(sent[:-5])
            upstream = await rig.upstream()
            await upstream.expect(expected[:-5])
            await upstream.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await client.expect(b"HTTP/1.1 100 Continue\r\n\r\n")
            await client.write(b"hello")
            await upstream.expect(b"hello")
            await upstream.write(with_length(b"yes"))
            await client.expect(with_length(b"yes"))
            assert rig.sink.exchanges[0].request_body == b"hello"

    run(main())


def test_an_answer_before_the_request_is_whole_passes_and_so_does_the_rest(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            sent, expected = rig.request(b"/v1/x", b"hello")
            await client.write(sent[:-3])
            upstream = await rig.upstream()
            await upstream.expect(expected[:-3])
            await upstream.write(with_length(b"too early", status=b"413 Content Too Large"))
            await client.expect(with_length(b"too early", status=b"413 Content Too Large"))
            await client.write(b"llo" + sent)
            await upstream.expect(b"llo" + expected)
            await upstream.write(with_length(b"b"))
            await client.expect(with_length(b"b"))
            assert [one.request_body for one in rig.sink.exchanges] == [b"he", b"hello"]
            assert rig.sink.exchanges[0].headers_ns >= 0

    run(main())


def test_an_early_answer_that_closes_is_read_though_the_client_still_sends(run):
    async def main():
        refusal = with_length(b"too large", status=b"413 Content Too Large", headers=b"Connection: close\r\n")
        async with Rig() as rig:
            client = await rig.client()
            sent, _ = rig.request(b"/v1/x", b"x" * 5_000_000)
            await client.write(sent[:1000])
            upstream = await rig.upstream()
            await upstream.head()
            await upstream.write(refusal)
            assert await upstream.rest() == b"x" * (1000 - sent.index(b"\r\n\r\n") - 4)
            await client.expect(refusal)
            await client.write(sent[1000:])
            client.writer.write_eof()
            assert await client.rest() == b""

    run(main())


def test_pipelined_requests_are_answered_in_order(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            pairs = [rig.request(b"/v1/%d" % number, b"b%d" % number) for number in range(4)]
            await client.write(b"".join(sent for sent, _ in pairs))
            upstream = await rig.upstream()
            for number, (_, expected) in enumerate(pairs):
                await upstream.expect(expected)
                await upstream.write(with_length(b"answer %d" % number))
            for number in range(4):
                await client.expect(with_length(b"answer %d" % number))
            assert rig.opened == 0
            assert [one.path for one in rig.sink.exchanges] == [f"/v1/{number}" for number in range(4)]

    run(main())


def test_half_closed_client_gets_all_its_answers(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            first, first_expected = rig.request(b"/v1/a")
            second, second_expected = rig.request(b"/v1/b")
            await client.write(first + second)
            client.writer.write_eof()
            upstream = await rig.upstream()
            await upstream.expect(first_expected)
            await upstream.write(CHUNKED)
            await client.expect(CHUNKED)
            rig.proxy.look()
            await upstream.write(chunks(b"a"))
            await client.expect(chunks(b"a"))
            await upstream.expect(second_expected)
            await upstream.write(with_length(b"b"))
            assert await client.rest() == with_length(b"b")
            assert [one.end for one in rig.sink.exchanges] == ["complete", "complete"]

    run(main())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end",
        b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 13\r\n\r\nuntil the end",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nuntil the end",
    ],
    ids=["until-close", "http-1.0", "connection-close", "coded-until-close"],
)
def test_an_answer_that_ends_with_its_connection_ends_the_clients(run, answer):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            sent, expected = rig.request()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await upstream.write(answer)
            upstream.close()
            assert await client.rest() == answer
            (exchange,) = rig.sink.exchanges
            assert (exchange.end, exchange.response_body) == ("complete", b"until the end")

    run(main())


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        (
            b"POST /v1/x HTTP/1.0\r\nContent-Length: 1\r\n\r\nb",
            b"POST /v1/x HTTP/1.0\r\nHost: %b\r\nContent-Length: 1\r\n\r\nb",
        ),
        (
            b"\r\n\r\nPOST /v1/x HTTP/1.1\r\nConnection: close\r\nHost:a\r\nContent-Length: 1\r\n\r\nb",
            b"POST /v1/x HTTP/1.1\r\nConnection: close\r\nHost: %b\r\nContent-Length: 1\r\n\r\nb",
        ),
        (
            b"POST http://elsewhere:1/v1/x?y HTTP/1.1\r\nHost: elsewhere:1\r\nContent-Length: 1\r\n\r\nb",
            b"POST /v1/x?y HTTP/1.1\r\nHost: %b\r\nContent-Length: 1\r\n\r\nb",
        ),
        (b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", b"OPTIONS * HTTP/1.1\r\nHost: %b\r\n\r\n"),
        (b"TRACE /v1 HTTP/1.1\r\nHost: a\r\n\r\n", b"TRACE /v1 HTTP/1.1\r\nHost: %b\r\n\r\n"),
    ],
    ids=["http-1.0", "close", "absolute-form", "asterisk-form", "trace"],
)
def test_requests_of_other_kinds(run, sent, seen):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(seen % rig.upstream_host)
            await upstream.write(with_length(b"ok"))
            await client.expect(with_length(b"ok"))
            if b"1.0" in sent or b"close" in sent:
                assert await client.rest() == b""
                await upstream.ended()

    run(main())


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n"),
        (b"HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n"),
        (b"DELETE", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_answers_without_a_body_leave_the_connections_usable(run, method, answer):
    async def main():
        async with Rig() as rig:
            client, upstream = await rig.client(), None
            for _ in range(2):
                await client.write(b"%b /v1/models HTTP/1.1\r\nHost: %b\r\n\r\n" % (method, rig.host))
                upstream = upstream or await rig.upstream()
                await upstream.expect(b"%b /v1/models HTTP/1.1\r\nHost: %b\r\n\r\n" % (method, rig.upstream_host))
                await upstream.write(answer)
                await client.expect(answer)
            assert rig.opened == 0
            assert rig.sink.exchanges == []
            assert rig.proxy.counters.not_recorded == {"no body" if method == b"DELETE" else method.decode(): 2}

    run(main())


def test_a_websocket_becomes_a_tunnel(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            upgrade = b"GET /v1/realtime HTTP/1.1\r\nHost: %b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            await client.write(upgrade % rig.host + b"early")
            upstream = await rig.upstream()
            await upstream.expect(upgrade % rig.upstream_host)
            switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nframe"
            await upstream.write(switched)
            await client.expect(switched)
            await upstream.expect(b"early")
            await client.write(b"\x00\xff not HTTP \r\n\r\n")
            await upstream.expect(b"\x00\xff not HTTP \r\n\r\n")
            await upstream.write(b"0\r\n\r\n")
            await client.expect(b"0\r\n\r\n")
            client.writer.write_eof()
            assert await upstream.rest() == b""
            await upstream.write(b"bye")
            upstream.close()
            assert await client.rest() == b"bye"
            assert rig.sink.exchanges == []

    run(main())


def test_a_request_that_offers_an_upgrade_is_one_like_any_other_if_it_is_not_taken(run):
    """Java's HTTP client offers h2c with every first request."""

    async def main():
        async with Rig() as rig:
            client = await rig.client()
            offer = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAEAAEAA")
            sent, expected = rig.request(b"/v1/x", b'{"a":1}', *offer)
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await upstream.write(with_length(b"ok"))
            await client.expect(with_length(b"ok"))
            assert rig.sink.exchanges[0].request_body == b'{"a":1}'

    run(main())
