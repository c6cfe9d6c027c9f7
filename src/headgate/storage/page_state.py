"""The state of a page at one look, and its body in the archive."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from headgate.model.fetch import Fetched
from headgate.storage.warc.stored_response import read_response

__all__ = ["PageState", "read_body"]


class PageState(NamedTuple):
    """The state of a page at one look."""

    seen_at: float
    title: str
    content_type: str
    digest: bytes
    """Empty: it was gone."""
    file: str
    """WARC file within the collection; the record is at ``offset``, archived under
    ``record_url``."""
    offset: int
    record_url: str

    @property
    def there(self) -> bool:
        return bool(self.digest)


def read_body(collection: Path, url: str, state: PageState) -> Fetched | None:
    """The archived response; None: it is not available."""
    file = collection / state.file
    if not file.resolve().is_relative_to(collection.resolve()):
        return None
    return read_response(file, state.offset, url, state.digest)
