"""The key that content is hashed with: made once per store, kept in a file beside it for the user alone."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path

from msgspec import Struct

from hitrate.errors import HitrateError

_BYTES = 32


class ContentKey(Struct, frozen=True):
    """`made_at` is Unix time."""

    secret: bytes
    made_at: float


def content_key(store: Path) -> ContentKey:
    """The key of the store at that path, made now where there is none. HitrateError where its file cannot be used.

    Equal content has equal hashes in all runs of a store. Who has the store and not the key cannot try out texts;
    without the key nothing is lost but that later runs can be compared with earlier ones.
    """
    file = store.with_name(store.name + ".content-key")
    try:
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = f"{secrets.token_hex(_BYTES)} {time.time():.0f}\n"
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read(file)
        with os.fdopen(descriptor, "w", encoding="ascii") as made:
            made.write(written)
        return _read(file)
    except OSError as error:
        raise HitrateError(f"the key for --no-content cannot be used, {file}: {error.strerror or error}") from None


def _read(file: Path) -> ContentKey:
    try:
        secret, made_at = file.read_text(encoding="ascii").split()
        key = ContentKey(bytes.fromhex(secret), float(made_at))
    except ValueError:
        key = None
    if key is None or len(key.secret) != _BYTES:
        raise HitrateError(f"the key for --no-content in {file} is damaged", hint="Remove the file to make a new one.")
    return key
