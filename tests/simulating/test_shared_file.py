"""Temporary files of processes that were killed go when the next one is made; those of others stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hitrate.simulating import shared_file as module
from hitrate.simulating.shared_file import shared_file

KILLED_AT_WORK = """
import os, signal
from hitrate.simulating.shared_file import shared_file
with shared_file() as (path, out):
    out.write(b"columns")
    out.flush()
    print(path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no locks that end with a process")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left_behind() -> Path:
    killed = subprocess.run([sys.executable, "-c", KILLED_AT_WORK], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    return Path(killed.stdout.strip())


def test_the_file_of_a_killed_process_goes_and_one_in_use_stays(folder: Path) -> None:
    with shared_file() as (in_use, _):
        left = left_behind()
        assert sorted(folder.iterdir()) == sorted([in_use, left])
        with shared_file() as (new, _):
            assert sorted(folder.iterdir()) == sorted([in_use, new])
        assert list(folder.iterdir()) == [in_use]
    assert list(folder.iterdir()) == []


def test_the_file_of_another_machine_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = left_behind()
    monkeypatch.setattr(module, "_PREFIX", "hitrate-trace-another-")
    with shared_file() as (new, _):
        assert sorted(folder.iterdir()) == sorted([left, new])


def test_what_is_no_file_stays(folder: Path) -> None:
    precious = folder / "precious"
    precious.write_bytes(b"kept")
    pipe, link = (Path(f"{folder}/{module._PREFIX}{name}.columns") for name in ("pipe", "link"))
    os.mkfifo(pipe)
    link.symlink_to(precious)
    with shared_file():
        pass
    assert sorted(folder.iterdir()) == sorted([precious, pipe, link])


def test_a_file_that_is_removed_before_it_is_locked_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = module._lock
    removed = []

    def quicker(handle: int, *, wait: bool) -> None:
        if not removed:
            removed.append(Path(f"/proc/self/fd/{handle}").readlink())
            removed[0].unlink()
        lock(handle, wait=wait)

    monkeypatch.setattr(module, "_lock", quicker)
    with shared_file() as (path, _):
        assert path.exists()
        assert path != removed[0]
