"""The two event loops that the client has to work on."""

import asyncio

import pytest


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    """Runs a coroutine to its end on one of the two loops."""
    factory = None if request.param == "asyncio" else pytest.importorskip("uvloop").new_event_loop

    def run_on_loop(main):
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(asyncio.wait_for(main, 30))

    return run_on_loop
