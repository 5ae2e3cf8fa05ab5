from __future__ import annotations

import gc
import threading
from contextlib import ExitStack

import pytest

from hitrate.collecting import collecting_seldom
from hitrate.explaining import explain_bodies

BODIES = [{"model": "m", "messages": [{"role": "user", "content": "hello"}]}] * 2


@pytest.fixture(params=[123, 0])
def thresholds(request):
    before = gc.get_threshold()
    gc.set_threshold(request.param, 4, 5)
    yield (request.param, 4, 5)
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.parametrize("frozen", [False, True])
def test_the_collector_is_left_as_it_was(thresholds, frozen):
    if frozen:
        gc.freeze()
    explain_bodies(BODIES)
    assert gc.get_threshold() == thresholds
    assert (gc.get_freeze_count() > 0) is frozen


def test_cycles_made_meanwhile_can_still_be_collected(thresholds):
    gc.collect()
    with collecting_seldom():
        cycle: list = []
        cycle.append(cycle)
        del cycle
    assert gc.collect() == 1


@pytest.mark.parametrize(("usual", "meanwhile"), [(700, 70_000), (100_000, 100_000), (0, 0)])
def test_the_collector_waits_a_hundred_times_as_long(usual, meanwhile):
    before = gc.get_threshold()
    gc.set_threshold(usual)
    try:
        with collecting_seldom(), collecting_seldom():
            assert gc.get_threshold()[0] == meanwhile
        assert gc.get_threshold()[0] == usual
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize("left", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_last_to_leave_puts_the_threshold_back_whatever_the_order(thresholds, left):
    meanwhile = (70_000 if thresholds[0] else 0, *thresholds[1:])
    entered = [ExitStack() for _ in left]
    for one in entered:
        one.enter_context(collecting_seldom())
    found = []
    for number in left:
        found.append(gc.get_threshold())
        entered[number].close()
    assert (found, gc.get_threshold()) == ([meanwhile] * 3, thresholds)


def test_threads_that_overlap_leave_the_threshold_as_it_was(thresholds):
    together = threading.Barrier(4, timeout=10)

    def work():
        for _ in range(50):
            with collecting_seldom():
                together.wait()  # all have entered, and leave as it comes

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gc.get_threshold() == thresholds
