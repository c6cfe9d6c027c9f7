"""Files that are there whole or not at all: written under another name, made durable, renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.storage.appending import sync_folder
from headgate.storage.faults import writing

__all__ = ["replacing", "write_whole"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives the name to write to; on success the file takes the place of ``path``."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        with writing(path):
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(path)
        sync_folder(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(path: Path, data: bytes) -> None:
    with replacing(path) as part, writing(path):
        part.write_bytes(data)
