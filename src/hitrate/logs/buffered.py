"""A buffered stream that gives what came before its damage."""

from __future__ import annotations

import io
import zlib


class UpToDamage(io.BufferedReader):
    """Bytes that were read before reading failed come first, and reading on raises what is wrong: a plain buffered
    reader, asked for more than that, raises at once and loses them. The stream below has to raise again."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return super().read(size)
        pieces: list[bytes] = []
        while size:
            try:
                piece = self.read1(size) if self.peek(1) else b""  # without a look ahead it would not fill the buffer
            except (EOFError, zlib.error, OSError):
                if not pieces:
                    raise
                break
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
