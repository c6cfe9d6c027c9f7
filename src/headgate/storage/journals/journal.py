"""A journal: beside the WARC files, the only record of what site runs have done.

It is a log of frames (`framed_log`), one for each commit of a site, with three sections of
MessagePack: the frontier's entries with how far the WARC files reach (`Group`), the rows of the
pages, and their links. Each reader decodes its own section only: a restart the first, the tables
the others. A journal belongs to one visit of one site, or is shared by small sites
(`run_journals`): then each group names its site, and readers select frames.

Invariants: every URL is found once and every page done once, so there is nothing to compact; the
file grows by some ten bytes for each URL and each link and is deleted when the run has been sealed.
A frame is written only after the WARC records it refers to are durable.

Why not SQLite: appending a URL to a bare table took it 1.3 µs and 68 bytes where a frame takes 0.16
and a few (``bench/archive.py``), and nothing here is ever looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Self, TypeAlias, TypeVar

import msgspec

from headgate.frontier.events import JournalEntry
from headgate.model.errors import WorldFault
from headgate.model.page import Links, Page
from headgate.storage.journals.framed_log import FramedLog, LogFrame, LogKind
from headgate.storage.page import PageRow
from headgate.storage.safe_files import Count
from headgate.storage.warc.archive import SiteArchive
from headgate.storage.warc.writer import NO_FILES, Mark, WarcFiles, WarcWriter

__all__ = [
    "Batch",
    "Commit",
    "CommitPart",
    "Group",
    "Journal",
    "LinkLines",
    "Note",
    "Owner",
    "SpoolFiles",
    "SpoolPlace",
    "commit_sizes",
    "read_commits",
    "read_groups",
    "read_links",
    "read_owner",
    "read_owners",
    "read_pages",
    "unpacked_bytes",
]

_KIND = LogKind(
    signature=b"headgate journal 2 ",  # JSON ends the line: the site, [site, visit], null if shared
    mark=b"\xf5HG\xa1",
    sections=3,
    level=1,
    foreign="is not this site's journal; move it away",
    other_version="move the folder it is in away: the run's WARC files stay, without an index",
    remedy="restore it from a copy, or delete it to crawl the site anew",
)
_GROUP, _PAGES, _LINKS = range(3)

Kind = TypeVar("Kind")
Starts: TypeAlias = Iterable[int] | None
"""Offsets of the wanted commits; None: all of them."""


class Owner(NamedTuple):
    """The visit that commits belong to."""

    site: str
    visit: int = 0
    """Its number, in a run that visits sites repeatedly; 0: the only one."""


class LinkLines(msgspec.Struct, frozen=True, array_like=True):
    """The links of the page ``source``, one per line: the table is made from such text quickly."""

    source: str
    depth: Count
    targets: str
    rels: str
    """As many lines as targets; empty when no link has one."""

    def __post_init__(self) -> None:
        if self.rels and self.rels.count("\n") != self.targets.count("\n"):
            raise ValueError("as many rels as targets are wanted")

    @classmethod
    def from_links(cls, source: str, depth: int, links: Links) -> Self:
        return cls(source, depth, _lines(links.targets), _lines(links.rels))


class Group(msgspec.Struct, frozen=True, array_like=True):
    """What one commit made durable for the frontier."""

    entries: Sequence[JournalEntry]
    mark: Mark
    """The end of the WARC files after this commit."""
    finished: bool = False
    """Nothing is left to do: the last group of its site."""
    site: str = ""
    """Its site, in a shared journal."""
    visit: Count = 0


class _GroupOwner(msgspec.Struct, frozen=True, array_like=True):
    """The owner of a `Group`, without decoding the rest."""

    entries: msgspec.Raw
    mark: msgspec.Raw
    finished: bool = False
    site: str = ""
    visit: Count = 0


Commit: TypeAlias = tuple[Group, list[PageRow], list[LinkLines]]

_encode = msgspec.msgpack.Encoder().encode
_decode_owner = msgspec.msgpack.Decoder(_GroupOwner).decode
_decode_group = msgspec.msgpack.Decoder(Group).decode
_decode_pages = msgspec.msgpack.Decoder(list[PageRow]).decode
_decode_links = msgspec.msgpack.Decoder(list[LinkLines]).decode


class Journal:
    """Opened for writing. A new file is made by the first commit."""

    __slots__ = ("_log", "last", "path")

    def __init__(self, path: Path, owner: Owner | None) -> None:
        """``owner`` None: it is shared."""
        self.path = path
        name = owner.site if owner is not None and not owner.visit else owner
        self._log = FramedLog(path, _KIND, _KIND.signature + msgspec.json.encode(name) + b"\n")
        self.last: Group | None = None
        """The last group committed; None in a new journal."""
        if self._log.last is not None:
            plain = _KIND.plain(path, self._log.last.sections[_GROUP])
            with _KIND.sound(path):
                self.last = _decode_group(plain)

    def begin(self) -> None:
        """Make the file now, without a commit."""
        self._log.append_all(())

    def append(self, *commits: Commit) -> list[int]:
        """Write commits and make them durable; returns their offsets."""
        starts = self._log.append_all(
            (_encode(group), _encode(pages), _encode_links(links))
            for group, pages, links in commits
        )
        self.last = commits[-1][0]
        return starts

    def close(self) -> None:
        self._log.close()


def read_owner(path: Path) -> Owner | None:
    """The owner of a journal that is not shared; None: a crash came before it was written."""
    line = _KIND.first_line(path)
    if not line:
        return None
    with _KIND.sound(path):
        name = msgspec.json.decode(line[len(_KIND.signature) :], type=str | tuple[str, Count])
    return Owner(name) if isinstance(name, str) else Owner(*name)


def read_owners(path: Path) -> Iterator[tuple[Owner, int]]:
    """The owner and offset of each commit of a shared journal."""
    for frame in _KIND.frames(path):
        plain = _KIND.plain(path, frame.sections[_GROUP])
        with _KIND.sound(path):
            group = _decode_owner(plain)
        yield Owner(group.site, group.visit), frame.start


def unpacked_bytes(path: Path, starts: Starts = None) -> int:
    """Size of commits after decompression, which may be a thousand times the file."""
    return sum(commit_sizes(path, starts))


def commit_sizes(path: Path, starts: Starts = None) -> Iterator[int]:
    """The same for each commit."""
    for frame in _frames(path, starts):
        yield sum(_KIND.plain_bytes(path, section) for section in frame.sections)


def read_groups(path: Path, starts: Starts = None) -> Iterator[Group]:
    """The groups of all complete commits, or of those at ``starts``, in order."""
    return _decoded(path, starts, _GROUP, _decode_group)


def read_pages(path: Path, starts: Starts = None) -> Iterator[list[PageRow]]:
    """The rows of each commit, in the same order."""
    return _decoded(path, starts, _PAGES, _decode_pages)


def read_links(path: Path, starts: Starts = None) -> Iterator[list[LinkLines]]:
    """The links of each commit, in the same order."""
    return _decoded(path, starts, _LINKS, _decode_links)


def read_commits(path: Path, starts: Starts = None, *, links: bool = True) -> Iterator[Commit]:
    """Whole commits; links, which are most of the data, can be left out."""
    for frame in _frames(path, starts):
        wanted = frame.sections if links else frame.sections[:_LINKS]
        group, pages, *rest = (_KIND.plain(path, section) for section in wanted)
        with _KIND.sound(path):
            lines = _decode_links(rest[0]) if rest else []
            commit = _decode_group(group), _decode_pages(pages), lines
        yield commit


def _frames(path: Path, starts: Starts) -> Iterator[LogFrame]:
    return _KIND.frames(path) if starts is None else _KIND.frames_at(path, starts)


def _decoded(
    path: Path, starts: Starts, section: int, decode: Callable[[bytes], Kind]
) -> Iterator[Kind]:
    for frame in _frames(path, starts):
        plain = _KIND.plain(path, frame.sections[section])
        with _KIND.sound(path):
            decoded = decode(plain)
        yield decoded


def _encode_links(links: Sequence[LinkLines]) -> bytes:
    try:
        return _encode(links)
    except UnicodeEncodeError:
        return _encode([_writable(page) for page in links])


def _writable(page: LinkLines) -> LinkLines:
    """A hostile page may contain a lone surrogate, which has no UTF-8."""
    plain = [text.encode("utf-8", "replace").decode() for text in (page.targets, page.rels)]
    return LinkLines(page.source, page.depth, *plain)


def _lines(texts: Sequence[str]) -> str:
    """Joined to lines; line ends within a text are replaced."""
    lines = "\n".join(texts)
    if texts and lines.count("\n") >= len(texts):
        return "\n".join([text.replace("\n", " ") for text in texts])
    return lines


class SpoolPlace(msgspec.Struct, frozen=True):
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

    def add(self, page: Page, size: int) -> None:
        """``size``: roughly what it takes in memory."""
        self.pages.append(page)
        self.bytes += size

    def finish(self) -> None:
        self.finished = True

    def __bool__(self) -> bool:
        return bool(self.pages or self.entries or self.notes or self.finished)


class CommitPart(msgspec.Struct, frozen=True):
    """A site's part of a commit."""

    owner: Owner
    archive: SiteArchive
    batch: Batch


class SpoolFiles:
    """A journal and the WARC files that it refers to: of one site, or shared by small sites.

    Opening them recovers them. The journal is cut to its last whole frame, the WARC files to the
    mark in that frame; what was written after them was never reported as stored.

    A commit appends the WARC records of its batches, makes them durable, and only then writes a
    frame for each batch and makes those durable, too: two waits for the disk, however many sites
    take part. After a commit has failed, the files accept no more; opened again, they continue
    after the last good commit.

    Opened for writing, by one process.
    """

    def __init__(self, place: SpoolPlace) -> None:
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

    def write(self, parts: Sequence[CommitPart]) -> list[Commit]:
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

    def _write(self, part: CommitPart) -> Commit:
        """Each part has its own mark: if a crash leaves only the first frames of a commit, the WARC
        files are cut to their records."""
        batch = part.batch
        rows = [part.archive.store(page) for page in batch.pages]
        for remark in batch.notes:
            part.archive.add_note(remark.url, remark.wall_time, remark.fields)
        owner = part.owner if self.shared else Owner("")
        group = Group(batch.entries, self.writer.mark, batch.finished, *owner)
        return group, rows, _links(part)


def _links(part: CommitPart) -> list[LinkLines]:
    return [
        LinkLines.from_links(page.outcome.url, page.depth, page.links)
        for page in part.batch.pages
        if page.links is not None and page.links.targets
    ]
