"""The two event loops that the proxy has to work on."""

import asyncio

import pytest


@pytest.fixture(params=["asyncio", "uvloop"])
def runner(request):
    """Runs coroutines, one after the other, on one of the two loops."""
    factory = None if request.param == "asyncio" else pytest.importorskip("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        yield runner


@pytest.fixture
def run(runner):
    return lambda main: runner.run(asyncio.wait_for(main, 60))
