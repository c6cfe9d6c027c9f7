"""A journal and the WARC files that it refers to: of one site, or shared by small sites.

Opening them recovers them. The journal is cut to its last whole frame, the WARC files to the mark
in that frame; what was written after them was never reported as stored.

A commit appends the WARC records of its batches, makes them durable, and only then writes a frame
for each batch and makes those durable, too: two waits for the disk, however many sites take part.
After a commit has failed, the files accept no more; opened again, they continue after the last good
commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import msgspec

from headgate.frontier.journal import JournalEntry
from headgate.model.errors import WorldFault
from headgate.model.page import Page
from headgate.storage.journals.journal import Commit, Group, Journal, LinkLines, Owner
from headgate.storage.warc.archive import SiteArchive
from headgate.storage.warc.writer import NO_FILES, WarcFiles, WarcWriter

__all__ = ["Batch", "Note", "Part", "Place", "SpoolFiles"]


class Place(msgspec.Struct, frozen=True):
    """Where a journal and its WARC files are."""

    owner: Owner | None
    """The visit they belong to; None: shared."""
    journal: Path
    warc: WarcFiles


class Note(msgspec.Struct, frozen=True):
    url: str
    wall_time: float
    fields: tuple[tuple[str, str], ...]


class Batch(msgspec.Struct):
    """Data of a site, to be stored in one piece."""

    pages: list[Page] = msgspec.field(default_factory=list)
    entries: list[JournalEntry] = msgspec.field(default_factory=list)
    notes: list[Note] = msgspec.field(default_factory=list)
    finished: bool = False
    bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.pages or self.entries or self.notes or self.finished)


class Part(msgspec.Struct, frozen=True):
    """A site's part of a commit."""

    owner: Owner
    archive: SiteArchive
    batch: Batch


class SpoolFiles:
    """Opened for writing, by one process."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._journal = Journal(place.journal, place.owner)
        self.last = self._journal.last
        """The last group found; None: there was none."""
        try:
            self.writer = WarcWriter(place.warc, self.last.mark if self.last else NO_FILES)
        except BaseException:
            self._journal.close()
            raise
        """Used by the archives of all sites in a commit."""
        self.lock = Lock()
        """Held from when a commit takes what waits, so that batches stay in order."""
        self._broken = False

    @property
    def path(self) -> Path:
        """The path of the journal."""
        return self._journal.path

    @property
    def shared(self) -> bool:
        return self.place.owner is None

    def write(self, parts: Sequence[Part]) -> list[Commit]:
        """The first half of a commit: pages become records. Waits for the disk only where a WARC
        file is begun."""
        if self._broken:
            raise WorldFault(f"{self.path} could not be written before; use --resume")
        self._broken = True
        return [self._write(part) for part in parts]

    def store(self, commits: Sequence[Commit]) -> list[int]:
        """The second half: store everything; returns the offset of each part's frame."""
        starts = []
        if commits:
            self.writer.sync()
            starts = self._journal.append(*commits)
        self._broken = False
        return starts

    def close(self) -> None:
        with self.lock:
            self.writer.close()
            self._journal.close()

    def _write(self, part: Part) -> Commit:
        """Each part has its own mark: if a crash leaves only the first frames of a commit, the WARC
        files are cut to their records."""
        batch = part.batch
        rows = [part.archive.store(page) for page in batch.pages]
        for remark in batch.notes:
            part.archive.note(remark.url, remark.wall_time, remark.fields)
        owner = part.owner if self.shared else Owner("")
        group = Group(batch.entries, self.writer.mark, batch.finished, *owner)
        return group, rows, _links(part)


def _links(part: Part) -> list[LinkLines]:
    return [
        LinkLines.of(page.outcome.url, page.depth, page.links)
        for page in part.batch.pages
        if page.links is not None and page.links.targets
    ]
