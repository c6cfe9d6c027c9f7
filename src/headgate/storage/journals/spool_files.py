"""A journal and the WARC files that it speaks of: one site's, or shared by small sites.

Opening them recovers them. The journal is cut to its last whole frame, the WARC files to the mark
in that frame; whatever was written behind them was never reported stored.

A commit appends the WARC records of its batches, makes them durable, and only then writes a frame
for each batch and makes those durable, too: two waits for the disk, however many sites take part.
After a commit has failed, the files refuse to go on; opened again, they stand where the last good
commit left them.
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
    """Whose they are; None: shared."""
    journal: Path
    warc: WarcFiles


class Note(msgspec.Struct, frozen=True):
    url: str
    wall_time: float
    fields: tuple[tuple[str, str], ...]


class Batch(msgspec.Struct):
    """What a site has given, to be stored in one piece."""

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
        self.writer = WarcWriter(place.warc, self.last.mark if self.last else NO_FILES)
        """For the archives of those who take part in a commit."""
        self.lock = Lock()
        """Held by whoever commits, from when he takes what waits: batches stay in their order."""
        self._broken = False

    @property
    def path(self) -> Path:
        """The journal's."""
        return self._journal.path

    @property
    def shared(self) -> bool:
        return self.place.owner is None

    def write(self, parts: Sequence[Part]) -> list[Commit]:
        """The first half of a commit: pages become records. The disk is not waited for, but where
        a WARC file is begun."""
        if self._broken:
            raise WorldFault(f"{self.path} could not be written before; use --resume")
        self._broken = True
        return [self._write(part) for part in parts]

    def store(self, commits: Sequence[Commit]) -> list[int]:
        """The second: all of it is stored; answers where the frame of each part begins."""
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
        """The mark is that of this part: when a crash leaves only the first frames of a commit,
        the WARC files are cut to their records."""
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
