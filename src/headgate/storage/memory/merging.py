"""Rewrites a site's memory: merges what it knew with what a run or visit found.

Entries that the run did not touch are copied in blocks, undecoded; new ones are sorted in pieces.
Meanwhile it needs sixteen bytes of RAM per page: the offset of each entry, and its key.
"""

from __future__ import annotations

import heapq
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO

import msgspec
from isal import isal_zlib

from headgate.storage.append_file import sync_folder
from headgate.storage.atomic_write import replacing, replacing_soon, write_soon
from headgate.storage.memory.file import HEAD, SIGNATURE, WORD_BYTES, MemoryFile, key_of
from headgate.storage.memory.page import PageMemory, Sighting, after
from headgate.storage.memory.site import MemorySummary, SiteMemory, VisitCounts
from headgate.storage.safe_files import writing

__all__ = ["Files", "merge"]

_COPIED_AT_ONCE = 10_000
_SMALL_BYTES = 1 << 20
"""Up to this size, the file is built in RAM and written in one step."""
_PIECE_BYTES = 4_000_000
_FRAME = struct.Struct("<QI")
"""Before each sighting in a piece: its key and length."""
_MOST_GONE = 1000
_encode = msgspec.msgpack.Encoder().encode
_decode_sighting = msgspec.msgpack.Decoder(Sighting).decode
_Encoded = tuple[int, bytes]
"""A key and the encoded sighting."""
_key: Callable[[_Encoded], int] = itemgetter(0)


@dataclass(slots=True)
class Files:
    """Numbers for WARC files; those of the old memory come first."""

    names: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


def merge(
    path: Path,
    old: SiteMemory,
    run: str,
    sightings: Callable[[Files], Iterable[Sighting]],
    *,
    soon: bool = False,
    visit: int = 0,
    doubted: bool = False,
) -> MemorySummary:
    """Write ``path`` anew: what ``old`` knows, then what a run found, in the run's order.

    ``soon``: without waiting for the disk. ``visit``: the visit's number; 0: not by a keeper.
    ``doubted``: as in `VisitCounts`."""
    if not path.parent.exists():
        with writing(path):
            path.parent.mkdir(exist_ok=True)
        sync_folder(path.parent.parent)
    files = Files(list(old.summary.files))

    def written(file: BinaryIO, met: _Met) -> MemorySummary:
        merging = _Merging(file, old, files)
        merging.visited.doubted = doubted
        merging.take(met)
        return merging.finish(run, max(visit, met.visit, old.summary.visit))

    with writing(path), ExitStack() as stack:
        met = _Met(stack, path.parent, sightings(files))
        if soon and met.bytes + old.size_bytes <= _SMALL_BYTES:
            file = BytesIO()
            summary = written(file, met)
            write_soon(path, file.getvalue())
            return summary
        putting = replacing_soon if soon else replacing
        with putting(path) as part, part.open("w+b") as opened_part:
            return written(opened_part, met)


class _Met:
    """Sightings ordered by key, those with one key in their original order. A few megabytes stay in
    RAM; beyond that, sorted pieces are written to disk and merged while reading."""

    def __init__(self, stack: ExitStack, folder: Path, sightings: Iterable[Sighting]) -> None:
        """``stack`` closes the pieces."""
        self.visit = 0
        """The last visit with a sighting."""
        self.bytes = 0
        """Total encoded size."""
        self._pieces: list[IO[bytes]] = []
        self._rest: list[_Encoded] = []
        put_down = 0
        for sighting in sightings:
            self.visit = max(self.visit, sighting.visit)
            data = _encode(sighting)
            self._rest.append((key_of(sighting.url), data))
            self.bytes += len(data)
            if self.bytes - put_down >= _PIECE_BYTES:
                put_down = self.bytes
                piece = TemporaryFile(dir=folder)  # noqa: SIM115
                self._put_down(stack.enter_context(piece))
        self._rest.sort(key=_key)

    def groups(self) -> Iterator[tuple[int, list[Sighting]]]:
        """The sightings of each key, in their original order."""
        sorted_pieces = [*map(_read, self._pieces), self._rest]
        for key, some in groupby(heapq.merge(*sorted_pieces, key=_key), key=_key):
            yield key, [_decode_sighting(data) for _, data in some]

    def _put_down(self, piece: IO[bytes]) -> None:
        self._rest.sort(key=_key)
        piece.writelines(_FRAME.pack(key, len(data)) + data for key, data in self._rest)
        self._rest.clear()
        self._pieces.append(piece)


def _read(piece: IO[bytes]) -> Iterator[_Encoded]:
    piece.seek(0)
    while frame := piece.read(_FRAME.size):
        key, length = _FRAME.unpack(frame)
        yield key, piece.read(length)


class _Counts:
    """The counts of a summary, updated as entries are added and removed."""

    def __init__(self, start: MemorySummary) -> None:
        self.pages = start.pages
        self.never_asked = start.never_asked
        self.sized = start.sized
        self.sized_bytes = start.sized_bytes
        self.revalidatable = start.revalidatable
        self.gone = start.gone

    def count(self, page: PageMemory, by: int) -> None:
        if page.gone:
            self.gone += by
            return
        self.pages += by
        self.never_asked += by * page.never_asked
        self.sized += by * bool(page.size_bytes)
        self.sized_bytes += by * page.size_bytes
        self.revalidatable += by * page.revalidatable


class _Merging:
    """Writes old and new entries to a file, ordered by key."""

    def __init__(self, file: BinaryIO, old: SiteMemory, files: Files) -> None:
        self._file = file
        self._old = old
        self._files = files
        self._counts = _Counts(old.summary)
        self.visited = VisitCounts()
        self._purging = old.summary.gone > old.summary.pages + _MOST_GONE
        self._place = 0
        """Old entries before this one are written."""
        self._keys = array("Q")
        self._starts = array("Q")
        self._end = HEAD.size
        self._check = 0
        file.write(bytes(HEAD.size))

    def take(self, met: _Met) -> None:
        old = self._old.entries
        for key, sightings in met.groups():
            if old is not None:
                self._copy(old, old.place_of(key))
            self._merge(key, sightings)
        if old is not None:
            self._copy(old, len(old))

    def finish(self, run: str, visit: int) -> MemorySummary:
        counts = self._counts
        summary = MemorySummary(
            self._old.summary.site,
            run,
            pages=counts.pages,
            never_asked=counts.never_asked,
            sized=counts.sized,
            sized_bytes=counts.sized_bytes,
            revalidatable=counts.revalidatable,
            gone=counts.gone,
            files=self._files.names,
            visit=visit,
            visited=self.visited,
            dates_right=self._old.summary.dates_right + self.visited.dates_right,
            dates_wrong=self._old.summary.dates_wrong + self.visited.dates_wrong,
        )
        self._starts.append(self._end)
        self._write(bytes(-self._end % WORD_BYTES))  # aligned words are read faster
        keys_start = self._end
        for words in (self._keys, self._starts):
            self._write(memoryview(words).cast("B"))
        packed = _encode(summary)
        self._file.write(packed)
        checks = (self._check, isal_zlib.crc32(packed), 0)
        head = HEAD.pack(SIGNATURE, len(self._keys), keys_start, self._end, *checks)[:-4]
        self._file.seek(0)
        self._file.write(head + isal_zlib.crc32(head).to_bytes(4, "little"))
        return summary

    def _copy(self, old: MemoryFile, end: int) -> None:
        """Copy old entries up to a place unchanged; without gone pages if there are too many of
        them."""
        while self._place < end:
            block = min(end, self._place + _COPIED_AT_ONCE)
            if self._purging:
                for place in range(self._place, block):
                    self._keep_unless_gone(old, place)
            else:
                self._copy_block(old, block)
            self._place = block

    def _copy_block(self, old: MemoryFile, end: int) -> None:
        starts = old.starts_of(self._place, end)
        self._keys.frombytes(old.keys_of(self._place, end).tobytes())
        shift = self._end - starts[0]
        self._starts.extend([start + shift for start in starts])
        self._write(old.bytes_of(self._place, end))

    def _keep_unless_gone(self, old: MemoryFile, place: int) -> None:
        data = old.bytes_of(place, place + 1)
        page = self._old.decode(data)
        if page.gone:
            self._counts.count(page, -1)
        else:
            self._add(old.key(place), data)

    def _merge(self, key: int, sightings: list[Sighting]) -> None:
        pages: dict[str, PageMemory] = {}
        old = self._old.entries
        while old is not None and self._place < len(old) and old.key(self._place) == key:
            page = self._old.page(self._place)
            self._counts.count(page, -1)
            pages[page.url] = page
            self._place += 1
        for sighting in sightings:
            before = pages.get(sighting.url)
            page = pages[sighting.url] = after(before, sighting)
            if sighting.look is not None and page is not before:
                self.visited.count(before, page, sighting.look)
        for page in pages.values():
            self._counts.count(page, 1)
            self._add(key, _encode(page))

    def _add(self, key: int, data: bytes) -> None:
        self._keys.append(key)
        self._starts.append(self._end)
        self._write(data)

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._check = isal_zlib.crc32(data, self._check)
        self._end += len(data)
