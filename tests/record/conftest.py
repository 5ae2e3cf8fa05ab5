"""Puts this folder on the import path, so that the tests share `exchanges`."""

from __future__ import annotations

import pytest

from hitrate.logs.store import Store


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "runs.sqlite3") as opened:
        yield opened


@pytest.fixture
def run(store):
    return store.begin_run("record", "practice", None, "hitrate proxy practice", "2026-11-29T12:00:00Z")
