"""The report.json of a run, read back."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from headgate.model.errors import UserMistake
from headgate.storage.faults import reading
from headgate.storage.own_files import opened

__all__ = ["read_report"]

Report = TypeVar("Report")


def read_report(path: Path, kind: type[Report]) -> Report:
    """``kind``: the report of a crawl or a survey."""
    with reading(path), opened(path) as file:
        data = file.read()
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UserMistake(f"{path} is damaged or of another version: {error}") from None
