"""What is recorded comes out again; what cannot be kept is counted and said, and nothing raises."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from exchanges import chat

from hitrate.errors import HitrateError
from hitrate.record import journal as journal_module
from hitrate.record.exchange import Exchange
from hitrate.record.journal import FRAME, Gap, Journal, segment_numbers, segment_path
from hitrate.record.journal_reader import Damage, Position, has_writer, read_journal

FIRST = 1


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "journals" / "r2"


def entries(folder, position=Position()):  # noqa: B008
    return [entry for entry, _ in read_journal(folder, position)]


def written(folder, *numbers: int) -> None:
    writer = Journal(folder)
    assert all(writer.record(chat(number)) for number in numbers)
    writer.close()


def test_exchanges_come_out_as_they_went_in(folder):
    odd = Exchange(
        upstream="http://127.0.0.1:8000/v1",
        method="POST",
        path="/v1/x?key=***",
        at=1.5,
        sent_at_s=0.5,
        connect_s=0.25,
        request_headers={"session_id": "s"},
        request_body=b"\x00\xff",
        response_body=b"\n" * 1000,
        reads=((1, 2), (1000, 2**60)),
        headers_ns=2**60,
        end="cut",
        error="reset",
        left_out=2**40,
    )
    writer = Journal(folder)
    assert writer.record(odd)
    assert writer.record(chat(2))
    assert entries(folder) == [odd, chat(2)]
    writer.close()
    assert entries(folder) == [odd, chat(2)]


def test_reading_goes_on_where_it_stopped(folder):
    writer = Journal(folder, segment_bytes=2000)
    position = Position()
    for number in range(20):
        writer.record(chat(number))
        ((entry, position),) = read_journal(folder, position)
        assert entry == chat(number)
    assert list(read_journal(folder, position)) == []
    assert segment_numbers(folder) == list(range(1, len(segment_numbers(folder)) + 1))
    assert position.segment == len(segment_numbers(folder)) > 3
    writer.close()


def test_segments_that_were_taken_in_may_be_gone(folder):
    writer = Journal(folder, segment_bytes=2000)
    for number in range(10):
        writer.record(chat(number))
    segment_path(folder, 1).unlink()
    assert entries(folder) == entries(folder, Position(1, 10_000)) == entries(folder, Position(2))
    writer.close()


def test_a_second_writer_is_refused_and_a_later_one_goes_on(folder):
    first = Journal(folder)
    first.record(chat(1))
    assert has_writer(folder)
    with pytest.raises(HitrateError, match="is written by another process"):
        Journal(folder)
    first.close()
    assert not has_writer(folder)
    written(folder, 2)
    assert entries(folder) == [chat(1), chat(2)]


def test_files_are_for_the_user_alone(folder):
    written(folder, 1)
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_headers_with_secrets_do_not_reach_the_disk(folder):
    writer = Journal(folder)
    secret = {"authorization": "Bearer sk-planted", "cookie": "sk-planted", "session_id": "s"}
    assert writer.record(chat(1, request_headers=secret, response_headers={"set-cookie": "sk-planted"}))
    assert entries(folder)[0].request_headers == {"session_id": "s"}
    assert b"sk-planted" not in segment_path(folder, FIRST).read_bytes()
    writer.close()


# --- what cannot be kept -----------------------------------------------------------------------------------------


def test_a_full_journal_refuses_until_there_is_room(folder, monkeypatch):
    monkeypatch.setattr(journal_module, "_LOOK_AGAIN_S", 0.0)
    writer = Journal(folder, limit_bytes=6000, segment_bytes=1500)
    kept = [number for number in range(20) if writer.record(chat(number))]
    assert 0 < len(kept) < 20
    assert writer.missed == 20 - len(kept)
    assert writer.trouble == f"the journal {folder} is full (0 MiB wait to be stored)"
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 6000
    for number in segment_numbers(folder)[:-1]:
        segment_path(folder, number).unlink()
    assert writer.record(chat(20))
    assert writer.trouble is None
    gap, last = entries(folder)[-2:]
    assert last == chat(20)
    assert (gap.exchanges, gap.first_at, gap.last_at) == (20 - len(kept), 1.79e9 + len(kept), 1.79e9 + 19)
    assert "is full" in gap.reason
    writer.close()


def disk_full_after(taken: int):
    """As `os.write` on a disk with room for so many bytes."""
    room = taken

    def write(file, data):
        nonlocal room
        now = min(room, len(data))
        room -= now
        if now == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(file, data[:now])

    real_write = os.write
    return write


@pytest.mark.parametrize("room", [0, 1, 11, 12, 300, 900])
def test_a_full_disk_loses_what_did_not_fit_and_nothing_else(folder, monkeypatch, room):
    writer = Journal(folder)
    assert writer.record(chat(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", disk_full_after(room))
        kept = [number for number in range(2, 6) if writer.record(chat(number))]
    assert writer.trouble == f"the journal {folder} cannot be written: No space left on device"
    assert writer.record(chat(6))
    writer.close()
    found = [entry for entry in entries(folder) if not isinstance(entry, Gap)]
    assert found == [chat(number) for number in (1, *kept, 6)]
    assert writer.missed == 4 - len(kept)


def test_half_a_frame_that_cannot_be_taken_back_ends_its_segment(folder, monkeypatch):
    def fails(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    writer = Journal(folder)
    writer.record(chat(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", disk_full_after(100))
        patch.setattr(os, "ftruncate", fails)
        assert not writer.record(chat(2))
    assert writer.record(chat(3))
    found = entries(folder)
    assert [type(entry) for entry in found] == [Exchange, Damage, Gap, Exchange]
    assert (found[1].torn, found[1].what) == (True, "00000001.journal: the last 100 bytes are half a frame")
    assert segment_numbers(folder) == [1, 2]
    writer.close()


def test_a_gap_at_the_end_is_noted_when_the_recording_ends(folder, monkeypatch):
    writer = Journal(folder)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", disk_full_after(0))
        writer.record(chat(1))
    writer.close()
    assert [entry.exchanges for entry in entries(folder)] == [1]
    assert not writer.record(chat(2))
    assert writer.trouble == "the recording has ended"


def test_a_folder_that_cannot_be_written_is_tried_again(tmp_path):
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "r2"
    writer = Journal(folder)
    assert writer.trouble is not None
    assert not writer.record(chat(1))
    assert writer.trouble == f"the journal {folder} cannot be written: File exists"
    (tmp_path / "file").unlink()
    assert writer.record(chat(2))
    assert [type(entry) for entry in entries(folder)] == [Gap, Exchange]
    writer.close()


def test_a_folder_that_is_removed_is_made_again(folder):
    writer = Journal(folder)
    writer.record(chat(1))
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    assert writer.record(chat(2))
    assert entries(folder) == [chat(2)]
    assert has_writer(folder)
    writer.close()


def test_what_has_no_form_in_the_journal_is_missed_and_does_not_raise(folder):
    writer = Journal(folder)
    assert not writer.record(chat(1, path="/\ud800"))
    assert writer.record(chat(2))
    assert [type(entry) for entry in entries(folder)] == [Gap, Exchange]
    writer.close()


# --- what a crash or worse leaves --------------------------------------------------------------------------------


def test_half_a_frame_at_the_end_is_waited_for_while_its_writer_lives(folder):
    writer = Journal(folder)
    writer.record(chat(1))
    path = segment_path(folder, FIRST)
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        with path.open("r+b") as file:
            file.truncate(len(whole))
            file.seek(len(whole))
            file.write(whole[:size])
        assert entries(folder) == [chat(1)]
    writer.close()
    first, torn = entries(folder)
    assert (first, torn.torn) == (chat(1), True)


def test_a_damaged_frame_is_reported_and_those_around_it_are_read(folder):
    written(folder, 1, 2, 3)
    path = segment_path(folder, FIRST)
    data = path.read_bytes()
    size = len(data) // 3
    for place in (*range(size, size + 20), *range(size + 20, 2 * size, 31)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        found = entries(folder)
        assert [found[0], found[-1]] == [chat(1), chat(3)]
        assert found[1] == Damage(f"00000001.journal: {size} bytes at {size} are damaged", torn=False)
        assert len(found) == 3


def test_a_frame_of_another_version_is_passed_over(folder):
    written(folder, 1)
    path = segment_path(folder, FIRST)
    data = path.read_bytes()
    other = b"\xa5later"
    frame = FRAME.pack(b"hrEx", len(other), journal_module.zlib.crc32(other)) + other
    path.write_bytes(frame + data)
    damage, entry = entries(folder)
    assert damage.what.startswith("a frame is not understood")
    assert entry == chat(1)


def test_no_journal_has_nothing_in_it(tmp_path):
    assert entries(tmp_path / "none") == []
    assert not has_writer(tmp_path / "none")


def test_the_lock_ends_with_its_process(folder):
    script = (
        "import os, signal, sys; from pathlib import Path; from hitrate.record.journal import Journal;"
        "writer = Journal(Path(sys.argv[1])); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        assert has_writer(folder)
        process.kill()
    assert not has_writer(folder)


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from exchanges import chat
from hitrate.record.journal import Journal
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
writer = Journal(Path(sys.argv[1]), segment_bytes=1 << 20)
print([number for number in range(30) if writer.record(chat(number))])
print(writer.trouble)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(writer.record(chat(30)), writer.missed)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_a_limit_of_the_operating_system_in_the_middle_of_a_frame(folder):
    """A write that it cuts short is taken back, and what was acknowledged is whole."""
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder), str(Path(__file__).parent)], stdout=subprocess.PIPE, check=True
    )
    kept, trouble, after = ran.stdout.decode().splitlines()
    numbers = json.loads(kept)
    assert numbers == list(range(len(numbers))) and 5 < len(numbers) < 30
    assert trouble == f"the journal {folder} cannot be written: File too large"
    assert after == f"True {30 - len(numbers)}"
    found = entries(folder)
    assert [entry for entry in found if isinstance(entry, Exchange)] == [chat(number) for number in (*numbers, 30)]
    assert [type(entry) for entry in found if not isinstance(entry, Exchange)] == [Gap]
