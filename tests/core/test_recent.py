from __future__ import annotations

from hitrate.core.recent import Recent


def test_what_is_asked_for_stays_and_the_rest_goes():
    recent: Recent[int, str] = Recent(3)
    recent.put(0, "kept")
    for number in range(1, 50):
        recent.put(number, str(number))
        assert recent.get(0) == "kept"
        assert len(recent) <= 6
    assert recent.get(49) == "49"
    assert recent.get(1) is None
