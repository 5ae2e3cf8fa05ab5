"""What is kept of an exchange, and what never is."""

import gzip

import msgspec
import pytest
from proxy_rig import CHUNKED, Rig, chunks, with_length

from hitrate.serve.proxy.proxy import Limits

KEY = b"sk-planted-0123456789abcdef"
COOKIE = b"cookie-planted-0123456789"
QUERY = b"query-planted-0123456789"
TOKEN = b"token-planted-0123456789"
SET = b"set-planted-0123456789"


async def carried(rig, sent, expected, answer):
    client = await rig.client()
    await client.write(sent)
    upstream = await rig.upstream()
    await upstream.expect(expected)
    await upstream.write(answer)
    await client.expect(answer)
    return rig.sink.exchanges[-1]


def test_headers_by_the_allow_list(run):
    async def main():
        async with Rig(base="/v1") as rig:
            headers = (b"X-Session-Id: s1", b"Anthropic-Version: 2023-06-01", b"Accept: */*", b"Content-Encoding: GZIP")
            sent, expected = rig.request(b"/v1/chat/completions?a=b", gzip.compress(b"{}"), *headers)
            answer = with_length(
                gzip.compress(b"ok"),
                headers=b"Request-Id: r1\r\nContent-Type: application/json\r\ncontent-encoding: gzip\r\nX-Else: 1\r\n",
            )
            exchange = await carried(rig, sent, expected, answer)
            assert exchange.upstream == f"http://{rig.upstream_host.decode()}/v1"
            assert (exchange.method, exchange.path) == ("POST", "/v1/chat/completions?a=b")
            assert exchange.request_headers == {
                "x-session-id": "s1",
                "anthropic-version": "2023-06-01",
                "content-encoding": "gzip",
            }
            assert exchange.response_headers == {
                "request-id": "r1",
                "content-type": "application/json",
                "content-encoding": "gzip",
            }
            assert gzip.decompress(exchange.response_body) == b"ok"
            assert exchange.status == 200

    run(main())


@pytest.mark.parametrize("coding", [b"", b"Content-Encoding: gzip\r\n"], ids=["plain", "gzip"])
def test_no_secret_is_kept_though_all_are_passed_on(run, coding):
    async def main():
        planted = (KEY, COOKIE, QUERY, TOKEN, SET)
        async with Rig(token=TOKEN.decode()) as rig:
            everything = b" | ".join((*planted, b"Bearer " + KEY))
            client_headers = (
                b"Authorization: Bearer " + KEY,
                b"X-Api-Key: " + KEY,
                b"Cookie: a=b; session=" + COOKIE,
                b"X-Session-Id: " + KEY,
                b"User-Agent: agent/" + KEY,
            )
            sent, expected = rig.request(b"/v1/messages?key=" + QUERY, b'{"m":"%b"}' % everything, *client_headers)
            sent = sent.replace(b" /v1", b" /t/%b/v1" % TOKEN, 1)
            body = everything if not coding else gzip.compress(everything)
            answer = with_length(
                body,
                status=b"401 Unauthorized",
                headers=b"Set-Cookie: id=%b; Path=/\r\nX-Request-Id: %b\r\n%b" % (SET, KEY, coding),
            )
            exchange = await carried(rig, sent, expected, answer)
            kept = msgspec.msgpack.encode(exchange)
            assert [value for value in planted if value in kept] == []
            assert exchange.path == "/v1/messages?key=***"
            assert exchange.request_headers == {"x-session-id": "***", "user-agent": "agent/***"}
            assert exchange.request_body == b'{"m":"*** | *** | *** | *** | *** | Bearer ***"}'
            assert exchange.response_body == b"*** | *** | *** | *** | *** | Bearer ***"
            assert "content-encoding" not in exchange.response_headers
            assert [so_far for so_far, _ in exchange.reads] == [len(exchange.response_body)]
            assert exchange.response_headers["x-request-id"] == "***"

    run(main())


def test_the_token_reaches_no_upstream(run):
    async def main():
        async with Rig(token="s3cret-token") as rig:
            sent, expected = rig.request(b"/v1/x", b"{}", b"A: 1")
            await carried(
                rig, sent.replace(b"A: 1", b"X-Hitrate-Token: s3cret-token\r\nA: 1"), expected, with_length(b"")
            )
            assert "x-hitrate-token" not in rig.sink.exchanges[0].request_headers

    run(main())


def test_over_the_limit_a_body_is_passed_on_and_its_start_kept(run):
    async def main():
        async with Rig(limits=Limits(max_body_kept=4)) as rig:
            sent, expected = rig.request(b"/v1/x", b"12345678")
            exchange = await carried(rig, sent, expected, CHUNKED + chunks(b"abc", b"def"))
            assert (exchange.request_body, exchange.response_body, exchange.left_out) == (b"1234", b"abcd", 6)
            assert [so_far for so_far, _ in exchange.reads] == [6]

    run(main())


def test_moments_of_a_stream(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            sent, expected = rig.request()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await upstream.write(CHUNKED)
            await client.expect(CHUNKED)
            for chunk in (b"3\r\nabc\r\n", b"2\r\nd", b"e\r\n", b"0\r\n\r\n"):
                await upstream.write(chunk)
                await client.expect(chunk)
            (exchange,) = rig.sink.exchanges
            assert [so_far for so_far, _ in exchange.reads] == [3, 4, 5]
            moments = [0, exchange.headers_ns, *(stamp for _, stamp in exchange.reads), exchange.total_ns]
            assert moments == sorted(moments)
            assert exchange.sent_at_s >= 0
            assert exchange.connect_s > 0

    run(main())


def test_moments_stay_with_what_they_belong_to_when_a_secret_is_taken_out(run):
    async def main():
        async with Rig() as rig:
            client = await rig.client()
            sent, expected = rig.request(b"/v1/x", b"{}", b"X-Api-Key: " + KEY)
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await upstream.write(CHUNKED)
            await client.expect(CHUNKED)
            for part in (b"a" + KEY, b"b", KEY[:5], KEY[5:] + b"c"):
                await upstream.write(chunks(part)[:-5])
                await client.expect(chunks(part)[:-5])
            await upstream.write(chunks())
            await client.expect(chunks())
            (exchange,) = rig.sink.exchanges
            assert exchange.response_body == b"a***b***c"
            assert [so_far for so_far, _ in exchange.reads] == [4, 5, 9, 9]

    run(main())


def test_what_is_recorded_and_what_is_only_counted(run):
    async def main():
        async with Rig() as rig:
            client, upstream = await rig.client(), None
            for method, body in ((b"GET", b""), (b"POST", b""), (b"POST", b"{}"), (b"PUT", b"{}"), (b"OPTIONS", b"x")):
                sent, expected = rig.request(b"/v1/x", body, method=method)
                await client.write(sent)
                upstream = upstream or await rig.upstream()
                await upstream.expect(expected)
                await upstream.write(with_length(b""))
                await client.expect(with_length(b""))
            assert [one.method for one in rig.sink.exchanges] == ["POST", "PUT"]
            counters = rig.proxy.counters
            assert (counters.requests, counters.recorded, len(rig.proxy.running)) == (5, 2, 0)
            assert counters.not_recorded == {"GET": 1, "no body": 1, "OPTIONS": 1}
            assert (counters.connections_opened, counters.upstream_errors, counters.aborts) == (1, 0, 0)
            assert counters.bytes_to_clients == 5 * len(with_length(b""))

    run(main())


def test_without_a_record_everything_passes_and_is_counted(run):
    async def main():
        async with Rig(record=False) as rig:
            client = await rig.client()
            sent, expected = rig.request()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await upstream.write(with_length(b"1"))
            await client.expect(with_length(b"1"))
            assert rig.proxy.counters.not_recorded == {"--no-record": 1}

    run(main())


def test_own_pages_come_from_the_process_that_keeps_the_record(run):
    async def main():
        async with Rig() as rig:
            rig.proxy._page = lambda: rig.upstream_port
            client = await rig.client()
            await client.write(b"GET /_hitrate/sessions?x HTTP/1.1\r\nHost: %b\r\n\r\n" % rig.host)
            page = await rig.upstream()
            await page.expect(b"GET /_hitrate/sessions?x HTTP/1.1\r\nHost: %b\r\n\r\n" % rig.upstream_host)
            await page.write(with_length(b"page"))
            await client.expect(with_length(b"page"))
            assert rig.proxy.counters.requests == 0
            rig.proxy._page = lambda: None
            await client.write(b"GET /_hitrate/ HTTP/1.1\r\nHost: %b\r\n\r\n" % rig.host)
            assert (await client.head()).startswith(b"HTTP/1.1 503 ")

    run(main())


def test_what_the_proxy_counts_is_shown_by_itself(run):
    async def main():
        async with Rig() as rig:
            await carried(rig, *rig.request(), with_length(b"1"))
            client = await rig.client()
            await client.write(b"GET /_hitrate/proxy HTTP/1.1\r\nHost: %b\r\n\r\n" % rig.host)
            head, _, text = (await client.rest()).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4")
            assert b"\nhitrate_proxy_in_flight 0\n" in text
            assert b"\nhitrate_proxy_requests_total 1\n" in text
            assert b"\nhitrate_proxy_recorded_total 1\n" in text
            assert rig.proxy.counters.refused == 0

    run(main())
