from __future__ import annotations

import gc

import pytest

from hitrate.explaining import explain_bodies

BODIES = [{"model": "m", "messages": [{"role": "user", "content": "hello"}]}] * 2


@pytest.fixture
def thresholds():
    before = gc.get_threshold()
    gc.set_threshold(123, 4, 5)
    yield (123, 4, 5)
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
    explain_bodies(BODIES)
    assert gc.collect() > 0
