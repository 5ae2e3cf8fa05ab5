"""Upstreams with TLS, whose certificate is checked."""

import json
from pathlib import Path

import pytest
from proxy_rig import CHUNKED, Rig, chunks, tls_pair, with_length

from hitrate.targets.reaching import tls_context

CERTIFICATE = Path(__file__).parents[2] / "data" / "localhost-for-tests-only.pem"


def test_an_upstream_with_tls(run):
    async def main():
        server, client_context = tls_pair(CERTIFICATE)
        async with Rig(tls=server, proxy_tls=client_context) as rig:
            client, upstream = await rig.client(), None
            for _ in range(2):
                sent, expected = rig.request(body=b"x" * 300_000)
                await client.write(sent)
                upstream = upstream or await rig.upstream()
                assert upstream.writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
                await upstream.expect(expected)
                await upstream.write(CHUNKED, chunks(b"abc"))
                await client.expect(CHUNKED + chunks(b"abc"))
            first, second = rig.sink.exchanges
            assert first.connect_s > 0
            assert second.connect_s is None
            assert rig.opened == 0

    run(main())


def test_a_client_that_goes_away_ends_it(run):
    async def main():
        server, client_context = tls_pair(CERTIFICATE)
        async with Rig(tls=server, proxy_tls=client_context) as rig:
            client = await rig.client()
            sent, expected = rig.request()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await upstream.write(CHUNKED)
            await client.expect(CHUNKED)
            client.close()
            await upstream.ended()
            assert [one.end for one in await rig.sink.at_least(1)] == ["abandoned"]

    run(main())


def test_a_cut_answer_looks_cut(run):
    async def main():
        server, client_context = tls_pair(CERTIFICATE)
        async with Rig(tls=server, proxy_tls=client_context) as rig:
            client = await rig.client()
            sent, expected = rig.request()
            await client.write(sent)
            upstream = await rig.upstream()
            await upstream.expect(expected)
            await upstream.write(CHUNKED + b"3\r\nabc\r\n")
            await client.expect(CHUNKED + b"3\r\nabc\r\n")
            upstream.writer.transport.abort()
            assert await client.rest() == b""
            assert [one.end for one in await rig.sink.at_least(1)] == ["cut"]

    run(main())


@pytest.mark.parametrize("upstream", ["https://127.0.0.1:{port}/v1", "https://localhost:{port}/v1"])
def test_a_certificate_nobody_vouches_for_is_refused(run, upstream):
    async def main():
        server, _ = tls_pair(CERTIFICATE)
        async with Rig(tls=server, proxy_tls=tls_context(), upstreams=[upstream]) as rig:
            client = await rig.client()
            await client.write(rig.request()[0])
            body = (await client.rest()).partition(b"\r\n\r\n")[2]
            message = json.loads(body)["error"]["message"]
            assert "TLS certificate refused: self-signed certificate" in message
            assert [one.end for one in rig.sink.exchanges] == ["unanswered"]

    run(main())


def test_an_upstream_that_speaks_no_tls(run):
    async def main():
        _, client_context = tls_pair(CERTIFICATE)
        async with Rig(proxy_tls=client_context, upstreams=["https://127.0.0.1:{port}"]) as rig:
            client = await rig.client()
            await client.write(rig.request()[0])
            upstream = await rig.upstream()
            await upstream.write(with_length(b"plain"))
            message = json.loads((await client.rest()).partition(b"\r\n\r\n")[2])["error"]["message"]
            assert "TLS handshake failed" in message

    run(main())
