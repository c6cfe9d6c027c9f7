"""All that a collection knows of one site's pages, in one file (layout: `file`).

Two URLs with the same key are adjacent and distinguished by the URL in the entry. Pages that are
gone stay as entries, so that a 404 is not counted again when a run is merged twice; they are
dropped when they are far more than the others.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Self

import msgspec

from headgate.model.errors import UserMistake
from headgate.storage.memory.file import DamagedMemory, MemoryFile, Words, key_of
from headgate.storage.memory.page import PageLook, PageMemory

__all__ = ["MemorySummary", "SiteMemory", "VisitCounts", "read_summary"]

_decode = msgspec.msgpack.Decoder(PageMemory).decode


class SiteMemory:
    """One site's file; a site without one has an empty memory."""

    def __init__(self, path: Path, site: str) -> None:
        """Raises `DamagedMemory` for damage that shows without reading the whole file."""
        self.summary = MemorySummary(site)
        self.entries: MemoryFile | None = None
        """The mapped file; None: there are no entries."""
        self._path = path
        if not path.exists():
            return
        self.entries = MemoryFile(path)
        try:
            self._open(self.entries, site)
        except BaseException:
            self.close()
            raise

    @classmethod
    def checked(cls, path: Path, site: str) -> Self:
        """The same, after reading every byte."""
        memory = cls(path, site)
        if memory.entries is not None and not memory.entries.whole:
            memory.close()
            raise DamagedMemory(path, "not as it was written")
        return memory

    @property
    def size_bytes(self) -> int:
        """Of the file."""
        return 0 if self.entries is None else self.entries.size_bytes

    @property
    def keys(self) -> Words:
        """The keys of all entries, in order."""
        return array("Q") if self.entries is None else self.entries.keys_of(0, len(self))

    def __len__(self) -> int:
        """Number of entries, including gone pages."""
        return 0 if self.entries is None else len(self.entries)

    def __iter__(self) -> Iterator[PageMemory]:
        return map(self.page, range(len(self)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, url: str) -> PageMemory | None:
        entries = self.entries
        if entries is None:
            return None
        key = key_of(url)
        place = entries.place_of(key)
        while place < len(entries) and entries.key(place) == key:
            page = self.page(place)
            if page.url == url:
                return page
            place += 1
        return None

    def file(self, page: PageMemory) -> str:
        """The WARC file that holds its payload, within the collection."""
        files = self.summary.files
        if page.file >= len(files):
            raise DamagedMemory(self._path, "an entry names a file that it does not list")
        return files[page.file]

    def page(self, place: int) -> PageMemory:
        assert self.entries is not None
        return self.decode(self.entries.bytes_of(place, place + 1))

    def decode(self, entry: bytes) -> PageMemory:
        """A file made on purpose may have right checksums and wrong entries."""
        try:
            return _decode(entry)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise DamagedMemory(self._path, "an entry cannot be read") from None

    def close(self) -> None:
        if self.entries is not None:
            self.entries.close()
            self.entries = None

    def _open(self, entries: MemoryFile, site: str) -> None:
        try:
            self.summary = msgspec.msgpack.decode(entries.summary, type=MemorySummary)
        except (msgspec.MsgspecError, ValueError, OverflowError):
            raise DamagedMemory(self._path, "not as it was written") from None
        if self.summary.site != site:
            raise UserMistake(
                f"{self._path} belongs to the site {self.summary.site!r}; name {site!r} otherwise"
            )


def read_summary(path: Path, site: str) -> MemorySummary | None:
    """The summary of a site's memory; None: there is none, or it is unreadable."""
    with suppress(DamagedMemory), SiteMemory(path, site) as memory:
        return memory.summary if len(memory) else None
    return None


# The summary in a site's memory: totals, and what the last visit found.


class VisitCounts(msgspec.Struct):
    """Results of the last merged visit, compared with what was known before."""

    asked: int = 0
    """Pages requested."""
    changed: int = 0
    same: int = 0
    """Unchanged: not modified, or sent with the same content."""
    new: int = 0
    """Seen for the first time."""
    gone: int = 0
    """Newly found to be gone."""
    failed: int = 0
    """Without an answer about the content: errors, time-outs, robots.txt."""
    not_modified: int = 0
    """Of the unchanged: answered with 304, ..."""
    not_modified_bytes: int = 0
    """... with so many bytes on the line in all, ..."""
    saved_bytes: int = 0
    """... and so many saved."""
    dates_right: int = 0
    """Pages that had changed since the date in a sitemap, as it said, ..."""
    dates_wrong: int = 0
    """... and pages that had not."""
    doubted: bool = False
    """Nearly all pages showed one new content; those looks were ignored."""

    def count(self, before: PageMemory | None, page: PageMemory, look: PageLook) -> None:
        self.asked += 1
        if before is not None and not page.failing and before.promised_change(look.at):
            right = page.changes > before.changes
            self.dates_right += right
            self.dates_wrong += not right
        if page.gone and not (page.never_there or (before is not None and before.gone)):
            self.gone += 1
        elif page.failing:
            self.failed += 1
        elif before is None or not before.changed:
            self.new += 1
        elif page.changes > before.changes:
            self.changed += 1
        else:
            self.same += 1
            if look.status == HTTPStatus.NOT_MODIFIED:
                self.not_modified += 1
                self.not_modified_bytes += look.size_bytes
                self.saved_bytes += page.size_bytes


class MemorySummary(msgspec.Struct, frozen=True):
    """Totals of a site."""

    site: str
    run: str = ""
    """The last run that was merged."""
    pages: int = 0
    """Pages known and not gone."""
    never_asked: int = 0
    """Of them."""
    sized: int = 0
    """Of them: sent in full at least once, ..."""
    sized_bytes: int = 0
    """... with so many bytes on the line in all, when last sent."""
    revalidatable: int = 0
    """Of them: can be requested conditionally."""
    gone: int = 0
    """Further entries, of pages that are gone."""
    files: list[str] = []
    """WARC files with payloads, by their path in the collection; entries refer to them by
    number."""
    visit: int = 0
    """The last merged visit of a keeper; 0: there is none."""
    visited: VisitCounts = msgspec.field(default_factory=VisitCounts)
    dates_right: int = 0
    """As in `VisitCounts`, over all visits."""
    dates_wrong: int = 0
