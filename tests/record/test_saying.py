"""Lines on standard error, wherever that leads to."""

import errno
import io
import sys

import pytest

from hitrate.record.saying import say


class Full(io.StringIO):
    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")


class Closed(io.StringIO):
    def write(self, text):
        raise ValueError("I/O operation on closed file")


def test_a_line_has_its_kind_in_front(capsys):
    say("the journal is full")
    say("no such run", "error")
    assert capsys.readouterr().err == "note: the journal is full\nerror: no such run\n"


@pytest.mark.parametrize("stream", [Full(), Closed()])
def test_what_cannot_be_said_is_dropped(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    say("nobody hears this")
