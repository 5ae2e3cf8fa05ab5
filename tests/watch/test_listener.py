"""A server that is there before it is loaded."""

import socket
import subprocess
import sys

from serving import ask

from hitrate.watch.listener import LazyServer


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def test_the_first_visitor_has_it_made_and_is_answered():
    made = []

    def make_app():
        made.append(True)
        return hello

    listening = socket.create_server(("127.0.0.1", 0))
    server = LazyServer(listening, make_app)
    assert made == []
    assert [ask(listening.getsockname()[1], "/")[2] for _ in range(2)] == [b"hello", b"hello"]
    assert made == [True]
    server.close()


def test_it_ends_when_nobody_ever_came():
    listening = socket.create_server(("127.0.0.1", 0))
    server = LazyServer(listening, lambda: 1 / 0)
    server.close()
    assert listening.fileno() == -1


def test_a_keeper_whose_page_nobody_opens_loads_no_web_server():
    heavy = (
        "uvicorn",
        "starlette",
        "jinja2",
        "asyncio",
        "hitrate.explain",
        "hitrate.watch.app",
        "genai_prices",
        "rich",
    )
    code = f"import hitrate.watch.__main__, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
