"""Makes the work of a site run durable, so that a crash loses nothing that was reported as stored.

The crawler adds pages, entries of the frontier and notes at any time; they wait in memory. A commit
stores all that wait in one piece (`journal`), and is the checkpoint from which an interrupted crawl
resumes. From then on a page counts as stored, together with the frontier's entry for it: both are
in one frame.

If there are many sites, a site begins in shared files and moves to its own when it has grown: ten
thousand sites of three pages would need ten thousand journals and WARC files, with a wait for the
disk each. `commit_together` stores the data of several sites with the waits of one.

A spool that is opened again continues after the last good commit: the frontier is replayed from
`entries`, and the crawl's counters from `pages`. One thread may add while another commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock

from headgate.frontier.events import JournalEntry
from headgate.model.fetch import Fetched
from headgate.model.page import Page
from headgate.storage.journals.journal import (
    Batch,
    Commit,
    CommitPart,
    Note,
    SpoolFiles,
    SpoolPlace,
)
from headgate.storage.journals.run_journals import Piece, SharedFiles, SiteJournal
from headgate.storage.page import PageRow
from headgate.storage.warc.archive import SiteArchive

__all__ = ["SiteSpool", "begin_together", "commit_together"]

_ROW_BYTES = 500
_SMALL_BYTES = 1_000_000
"""A site with more data gets its own files."""
_KEPT_BYTES = 50_000
_LITTLE_BYTES = 200_000
"""For pages of a few kilobytes, some twenty milliseconds of work."""


class SiteSpool:
    """The durable state of one site run."""

    def __init__(
        self,
        place: SpoolPlace,
        shared: SharedFiles | None = None,
        small_bytes: int = _SMALL_BYTES,
        *,
        one_visit: bool = False,
    ) -> None:
        """``one_visit``: the number in the owner is that of a part of the site, not of a visit."""
        assert place.owner is not None, "a spool is one site's"
        self._owner = place.owner
        self._place = place
        self._small_bytes = small_bytes
        self._journal = SiteJournal() if shared is None else shared.journal_of(self._owner)
        self._own: SpoolFiles | None = None
        if shared is None or place.journal.exists():
            self.files = self._open_own()
            self._finished = self.files.last is not None and self.files.last.finished
        else:
            self.files = shared.files
            """Where the next commit goes; they change only while their lock is held."""
            self._finished = self._journal.finished()
        self._archive = SiteArchive(self.files.writer, 0 if one_visit else self._owner.visit)
        self._kept: list[Commit] | None = None if self._journal.pieces else []
        """All commits while they are few, so that they need not be read again."""
        self.on_stored: Callable[[Sequence[PageRow]], None] | None = None
        """Called with pages when they are stored, in the thread that stores them."""
        self._waiting = Batch()
        self._giving = Lock()
        self._storing_bytes = 0
        self._given = 0
        self._given_bytes = 0
        self._stored = 0

    @property
    def finished(self) -> bool:
        """The site run is finished, durably."""
        return self._finished

    @property
    def waiting_bytes(self) -> int:
        """Rough memory size of what waits to be stored."""
        return self._waiting.bytes + self._storing_bytes

    def put(self, page: Page, entry: JournalEntry | None = None) -> int:
        """Add a finished page with the frontier's entry for it; None: it has none.

        Returns the page's number in this process, from 1 on."""
        outcome = page.outcome
        size = _ROW_BYTES + (len(outcome.payload) if isinstance(outcome, Fetched) else 0)
        if page.links is not None:
            size += page.links.held_bytes
        with self._giving:
            self._waiting.add(page, size)
            if entry is not None:
                self._waiting.entries.append(entry)
            self._given += 1
            return self._given

    def record(self, entry: JournalEntry) -> None:
        """Add an entry without a page: seeds, and URLs from sitemaps."""
        with self._giving:
            self._waiting.entries.append(entry)

    def add_note(self, url: str, wall_time: float, fields: Sequence[tuple[str, str]]) -> None:
        """Add a metadata record for the archive, such as what robots.txt forbids."""
        with self._giving:
            self._waiting.notes.append(Note(url, wall_time, tuple(fields)))

    def finish(self) -> None:
        """Nothing is left to do; durable with the next commit."""
        with self._giving:
            self._waiting.finish()

    def commit(self) -> int:
        """Store all that waits; returns the number of the last page stored."""
        commit_together([self])
        return self._stored

    def entries(self) -> Iterator[JournalEntry]:
        """The frontier's stored entries, in order; may be read repeatedly."""
        return self._journal.entries()

    def commits(self, *, links: bool = True) -> Iterator[Commit]:
        """All that is stored, in order; links only on demand."""
        return self._journal.commits(links=links) if self._kept is None else iter(self._kept)

    def pages(self) -> Iterator[PageRow]:
        """The rows of all stored pages. If read before the first `put`, later pages with the same
        payload become revisits."""
        for rows in self._journal.pages():
            self._archive.remember(rows)
            yield from rows

    def close(self) -> None:
        """Close the files. What was not committed is dropped."""
        if self._own is not None:
            self._own.close()

    def taken(self) -> CommitPart:
        """Take all that waits, to store it now."""
        with self._giving:
            taken, self._waiting = self._waiting, Batch()
            self._storing_bytes = taken.bytes
        return CommitPart(self._owner, self._archive, taken)

    def has_stored(self, batch: Batch, commit: Commit, start: int) -> None:
        """The batch was stored, in the frame at ``start``."""
        self._stored += len(batch.pages)
        self._given_bytes += batch.bytes
        self._storing_bytes = 0
        self._finished = self._finished or batch.finished
        if self.on_stored is not None:
            self.on_stored(commit[1])
        if self._kept is not None:
            self._kept.append(commit)
            if self._given_bytes > _KEPT_BYTES:
                self._kept = None
        if self.files.shared:
            self._journal.note(self.files.path, start)
            if self._given_bytes > self._small_bytes:
                self.files = self._open_own()
                self._archive.write_to(self.files.writer)

    def _open_own(self) -> SpoolFiles:
        self._own = SpoolFiles(self._place)
        self._journal.pieces.append(Piece(self._own.path))
        return self._own


def commit_together(spools: Sequence[SiteSpool]) -> None:
    """Store all that waits in any of them; spools that share files need one wait for the disk."""
    waiting = list(spools)
    while waiting:
        files = waiting[0].files
        with files.lock:
            members = [spool for spool in waiting if spool.files is files]
            _Commit(files, members).store()
        waiting = [spool for spool in waiting if spool not in members]


def begin_together(spools: Sequence[SiteSpool]) -> Callable[[], None]:
    """The same for an event loop: does what needs no disk, and returns the rest, to be run in a
    thread.

    In a thread, each page would have to wait for the interpreter lock. Batches that would hold up
    the loop are left to the thread entirely."""
    files = spools[0].files
    little = sum(spool.waiting_bytes for spool in spools) <= _LITTLE_BYTES
    alone = little and files.lock.acquire(blocking=False)
    if alone and any(spool.files is not files for spool in spools):
        files.lock.release()
        alone = False
    if not alone:
        return partial(commit_together, spools)
    try:
        commit = _Commit(files, spools)
    except BaseException:
        files.lock.release()
        raise

    def store() -> None:
        try:
            commit.store()
        finally:
            files.lock.release()

    return store


class _Commit:
    """A commit of several spools, under the lock of their files."""

    def __init__(self, files: SpoolFiles, spools: Sequence[SiteSpool]) -> None:
        self._files = files
        self._taken = [(spool, part) for spool in spools if (part := spool.taken()).batch]
        self._written = files.write([part for _, part in self._taken])

    def store(self) -> None:
        starts = self._files.store(self._written)
        stored = zip(self._taken, self._written, starts, strict=True)
        for (spool, part), commit, start in stored:
            spool.has_stored(part.batch, commit, start)
