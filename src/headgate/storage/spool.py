"""What one site run has done so far, so that a crash costs nothing that was reported stored.

The crawler gives pages, the frontier's entries and notes at any time; they wait in memory.
`SiteSpool.commit` takes all that wait, appends their WARC records, makes those durable, and only
then writes one journal frame that names them and makes that durable, too. A page counts as stored
from there on, together with the frontier's entry for it: both are in one frame.

Opening a spool recovers it. The journal is cut to its last whole frame, the WARC files to the mark
in that frame; whatever was written behind them was never reported stored. `entries` then is all
that the frontier's replay needs, and `pages` all that the crawl's counters need.

One thread may give while another commits. Commits run one at a time. After a commit has failed,
the spool refuses to go on; opened again, it stands where the last good commit left it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from headgate.frontier.journal import JournalEntry
from headgate.model.errors import WorldFault
from headgate.model.fetch import Fetched
from headgate.model.page import Page
from headgate.storage.archive import SiteArchive
from headgate.storage.journal import Group, Journal, PageLinks, read_groups, read_pages
from headgate.storage.page import PageRow
from headgate.storage.warc import NO_FILES, WarcFiles, WarcWriter

__all__ = ["SitePlace", "SiteSpool"]

_ROW_BYTES = 500


@dataclass(frozen=True, slots=True)
class SitePlace:
    """Where one site run keeps its files."""

    journal: Path
    warc: WarcFiles


@dataclass(frozen=True, slots=True)
class _Note:
    url: str
    wall_time: float
    fields: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Waiting:
    """Given, but not yet part of a commit."""

    pages: list[Page] = field(default_factory=list)
    entries: list[JournalEntry] = field(default_factory=list)
    notes: list[_Note] = field(default_factory=list)
    finished: bool = False
    bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.pages or self.entries or self.notes or self.finished)


class SiteSpool:
    """The durable state of one site run."""

    def __init__(self, place: SitePlace) -> None:
        self._journal = Journal(place.journal, place.warc.site)
        last = self._journal.last
        self._archive = SiteArchive(WarcWriter(place.warc, last.mark if last else NO_FILES))
        self._finished = last is not None and last.finished
        self._waiting = _Waiting()
        self._giving = Lock()
        self._committing = Lock()
        self._storing_bytes = 0
        self._given = 0
        self._stored = 0
        self._broken = False

    @property
    def finished(self) -> bool:
        """The site run came to its end, durably."""
        return self._finished

    @property
    def waiting_bytes(self) -> int:
        """Memory held by what is given and not stored, roughly."""
        return self._waiting.bytes + self._storing_bytes

    def put(self, page: Page, entry: JournalEntry | None = None) -> int:
        """Give a finished page with the frontier's entry for it; None: the frontier has none.

        The answer is the page's number in this process, from 1 on."""
        outcome = page.outcome
        size = _ROW_BYTES + (len(outcome.payload) if isinstance(outcome, Fetched) else 0)
        with self._giving:
            self._waiting.pages.append(page)
            if entry is not None:
                self._waiting.entries.append(entry)
            self._waiting.bytes += size
            self._given += 1
            return self._given

    def record(self, entry: JournalEntry) -> None:
        """Give an entry that comes with no page: seeds, and what sitemaps brought."""
        with self._giving:
            self._waiting.entries.append(entry)

    def note(self, url: str, wall_time: float, fields: Sequence[tuple[str, str]]) -> None:
        """Give a remark for the archive, such as what robots.txt forbids."""
        with self._giving:
            self._waiting.notes.append(_Note(url, wall_time, tuple(fields)))

    def finish(self) -> None:
        """Say that nothing is left to do; durable with the next commit."""
        with self._giving:
            self._waiting.finished = True

    def commit(self) -> int:
        """Store all that waits; the answer is the number of the last page that is now stored."""
        with self._committing:
            if self._broken:
                raise WorldFault(f"{self._journal.path} could not be written before; use --resume")
            with self._giving:
                taken, self._waiting = self._waiting, _Waiting()
                self._storing_bytes = taken.bytes
            if taken:
                self._broken = True
                self._store(taken)
                self._broken = False
            self._storing_bytes = 0
            return self._stored

    def entries(self) -> Iterator[JournalEntry]:
        """The frontier's entries as stored, in order; may be read again and again."""
        for group in read_groups(self._journal.path):
            yield from group.entries

    def pages(self) -> Iterator[PageRow]:
        """The rows of all pages stored. Read before the first `put`, it lets payloads that equal
        one of theirs become revisits."""
        for rows in read_pages(self._journal.path):
            self._archive.remember(rows)
            yield from rows

    def close(self) -> None:
        """Let go of the files. What waits and was not committed is dropped."""
        with self._committing:
            self._archive.close()
            self._journal.close()

    def _store(self, taken: _Waiting) -> None:
        rows = [self._archive.store(page) for page in taken.pages]
        for remark in taken.notes:
            self._archive.note(remark.url, remark.wall_time, remark.fields)
        links = [
            PageLinks.of(page.outcome.url, page.depth, page.links)
            for page in taken.pages
            if page.links is not None and page.links.targets
        ]
        mark = self._archive.sync()
        self._journal.append(Group(taken.entries, mark, taken.finished), rows, links)
        self._stored += len(rows)
        self._finished = self._finished or taken.finished
