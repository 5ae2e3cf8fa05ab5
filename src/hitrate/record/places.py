"""Where the journals of recordings are: beside the store they go into, a folder a recording."""

from __future__ import annotations

from pathlib import Path


def journals_folder(store: Path) -> Path:
    return store.with_name(f"{store.name}-journals")


def journal_folder(store: Path, run_id: str) -> Path:
    return journals_folder(store) / run_id
