"""The WARC files of one site run: ``<site>-00001.warc.gz``, ``-00002`` and so on; or files that
small sites share.

Each record is a gzip member, so that a reader can start at any of them. Members are made by ISA-L
at level 1. Of a 14 KB page it made 2.9 KB in 31 µs; zlib-ng took 74 µs for that, or 44 for 3.8 KB,
and zlib 86 µs for 3.0 KB (``bench/archive.py`` repeats the race).

A file that has reached its size is made durable and followed by the next one. All records of a page
are in one file. `Mark` says where the valid data ends: recovery opens the writer at the last
committed mark, which truncates the marked file there and deletes later ones.
"""

from __future__ import annotations

import re
import zlib
from hashlib import blake2b
from pathlib import Path

import msgspec
from isal import isal_zlib

from headgate.model.errors import WorldFault
from headgate.storage.append_file import AppendFile, sync_folder
from headgate.storage.safe_files import Amount, Count, reading, writing
from headgate.storage.warc import records

__all__ = [
    "DEFAULT_FILE_BYTES",
    "NO_FILES",
    "Mark",
    "Position",
    "WarcFiles",
    "WarcWriter",
    "file_safe",
]

DEFAULT_FILE_BYTES = 1_000_000_000
_LEVEL = 1
_GZIP_WINDOW_BITS = 31
_LONGEST_NAME = 80
_TAKEN = re.compile(r"-[0-9a-f]{6}$|^small-sites-\d+$")
"""Names that could collide: those with a hash, and those of shared files."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_IDENTITY = re.compile(rb"^WARC-Record-ID: (\S+)", re.M)
_FIRST_RECORD_BYTES = 1 << 16


class Position(msgspec.Struct, frozen=True):
    """Where a record is."""

    file: str
    offset: int
    length: int


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """Files up to ``number`` exist, and that one has ``length`` bytes; number 0: there is none."""

    number: Count = 0
    length: Amount = 0


NO_FILES = Mark()


class WarcFiles(msgspec.Struct, frozen=True):
    """The folder and name of a series of files, and the fields of their warcinfo."""

    folder: Path
    stem: str
    """Prefix of their names."""
    fields: tuple[tuple[str, str], ...] = ()
    """Of the warcinfo record: software, operator, robots policy."""
    max_bytes: int = DEFAULT_FILE_BYTES
    shelf: str = ""
    """The folder's path within the collection, by which other files refer to it."""

    def path(self, number: int) -> Path:
        return self.folder / f"{self.stem}-{number:05d}.warc.gz"


class WarcWriter:
    """Appends records; durable only after `sync`."""

    __slots__ = ("_file", "_files", "_identity", "_number")

    def __init__(self, files: WarcFiles, mark: Mark = NO_FILES) -> None:
        self._files = files
        self._number = mark.number
        self._identity = ""
        self._file: AppendFile | None = None
        self._delete_behind(mark.number)
        if mark.number:
            path = files.path(mark.number)
            if not path.exists():
                raise WorldFault(f"{path} is missing; put it back or start a new run")
            self._file = AppendFile(path, mark.length)
            self._identity = _warcinfo_id(path)

    @property
    def shelf(self) -> str:
        return self._files.shelf

    def warcinfo_id(self, wall_time: float) -> str:
        """The record id of the warcinfo for the next records; opens a file if needed."""
        if self._file is None or self._file.length >= self._files.max_bytes:
            self._next_file(wall_time)
        return self._identity

    def write(self, *record_bytes: bytes) -> Position:
        """Append records, each as its own member; returns the position of the first."""
        file = self._file
        if file is None:
            raise WorldFault("no WARC file is open: ask for warcinfo_id first")
        members = [isal_zlib.compress(record, _LEVEL, _GZIP_WINDOW_BITS) for record in record_bytes]
        start = file.append(members[0])
        for member in members[1:]:
            file.append(member)
        return Position(file.path.name, start, len(members[0]))

    @property
    def mark(self) -> Mark:
        """The end of the files with all records appended."""
        return Mark(self._number, 0 if self._file is None else self._file.length)

    def sync(self) -> Mark:
        """Make all records durable."""
        if self._file is not None:
            self._file.sync()
        return self.mark

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _next_file(self, wall_time: float) -> None:
        if self._file is not None:
            self._file.sync()
            self._file.close()
        self._number += 1
        path = self._files.path(self._number)
        self._file = AppendFile(path)
        sync_folder(path.parent)
        self._identity = records.record_id()
        self.write(records.warcinfo(self._identity, path.name, wall_time, self._files.fields))

    def _delete_behind(self, number: int) -> None:
        path = self._files.path(number + 1)
        while path.exists():
            with writing(path):
                path.unlink()
            number += 1
            path = self._files.path(number + 1)


def file_safe(site: str) -> str:
    """A site's name as part of a file name. Names that had to be changed get a hash, to stay
    distinct; so do names that look as if they had one, or like those of shared files.

    >>> file_safe("python-docs"), file_safe("a/b c"), file_safe("..")
    ('python-docs', 'a_b_c-9614a9', '_.-8539e5')
    >>> file_safe("a_b_c-9614a9")
    'a_b_c-9614a9-c9950a'
    >>> file_safe("small-sites-1")
    'small-sites-1-e32737'
    """
    safe = _UNSAFE.sub("_", site)[:_LONGEST_NAME]
    if safe[:1] in {".", "-", ""}:
        safe = "_" + safe[1:]
    if safe == site and not _TAKEN.search(site):
        return site
    return f"{safe}-{blake2b(site.encode('utf-8', 'replace'), digest_size=3).hexdigest()}"


def _warcinfo_id(path: Path) -> str:
    with reading(path), path.open("rb") as file:
        head = file.read(_FIRST_RECORD_BYTES)
    try:
        found = _IDENTITY.search(zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(head))
    except zlib.error:
        found = None
    if found is None:
        raise WorldFault(f"{path} does not begin with a WARC record; it was changed from outside")
    return found[1].decode("ascii", "replace")
