"""A pass-through on aiohttp that records nothing: what a careful hand-written proxy costs. Prints its port.

python aiohttp_proxy.py UPSTREAM_URL
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

HOP = {"host", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"}


async def main(upstream: str) -> None:
    session = ClientSession(connector=TCPConnector(limit=0), timeout=ClientTimeout(total=None), auto_decompress=False)

    async def carry(request: web.Request) -> web.StreamResponse:
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in HOP]
        body = await request.read()
        async with session.request(request.method, upstream + request.path_qs, headers=headers, data=body) as answer:
            kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in HOP]
            response = web.StreamResponse(status=answer.status)
            response.headers.extend(kept)
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response

    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", carry)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(site._server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()
    await session.close()


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1]))
