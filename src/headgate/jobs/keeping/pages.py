"""Writes the HTML page of a keeper into its collection."""

from __future__ import annotations

from pathlib import Path

from headgate.model.keep_status import KeepStatus
from headgate.storage.keep_state import load_hours
from headgate.storage.replacing import write_whole

__all__ = ["write_keep_page"]

_PAGE = "keep.html"


def write_keep_page(collection: Path, status: KeepStatus, now: float, *, alive: bool) -> Path:
    """Write the page from what is stored in the collection; return its path."""
    from headgate.views.keep_page import keep_page

    hours = load_hours(collection)
    if status.hour is not None and (not hours or hours[-1].start < status.hour.start):
        hours.append(status.hour)
    name = collection.resolve().name
    path = collection / _PAGE
    write_whole(path, keep_page(status, hours, name, now, alive=alive).encode("utf-8", "replace"))
    return path
