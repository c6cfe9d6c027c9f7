"""A page as a look found it, and its body in the archive."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from headgate.model.fetch import Fetched
from headgate.storage.warc.stored_response import read_response

__all__ = ["PageState", "read_body"]


class PageState(NamedTuple):
    """As a look found a page."""

    seen_at: float
    title: str
    content_type: str
    digest: bytes
    """Empty: it was gone."""
    file: str
    """Within the collection, with the record at ``offset``, archived as ``record_url``."""
    offset: int
    record_url: str

    @property
    def there(self) -> bool:
        return bool(self.digest)


def read_body(collection: Path, url: str, state: PageState) -> Fetched | None:
    """The response that was archived; None: it cannot be had."""
    file = collection / state.file
    if not file.resolve().is_relative_to(collection.resolve()):
        return None
    return read_response(file, state.offset, url, state.digest)
