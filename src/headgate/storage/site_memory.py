"""``sites/<site>.pages``: all that a collection knows of a site's pages, in one file.

    head       signature, number of entries, where keys and summary begin, three checks
    entries    `PageMemory` as MessagePack, in the order of their keys
    keys       XXH3 of each entry's URL, 64 bits, the lowest byte first like all numbers, sorted
    starts     where in the file each entry begins, in the same order, and where the last one ends
    summary    MessagePack: the site, the last run merged, counts, names of WARC files

It is looked up in place through a memory map, so ten million pages cost no memory to speak of. Two
URLs with one key lie side by side and are told apart by the URL in the entry. The file is never
changed: a merge writes another beside it, makes it durable and renames it. What a run did not touch
is copied in blocks, undecoded; 50 bytes a page are in memory meanwhile.

Pages that are gone stay as entries, so that the same 404 is not counted anew when a run is merged
twice; they are dropped when there are many more of them than of the others.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from io import BytesIO
from itertools import groupby, pairwise
from pathlib import Path
from typing import IO, BinaryIO, Self, TypeAlias, Union

import msgspec
from isal import isal_zlib
from xxhash import xxh3_64_intdigest

from headgate.model.errors import DamagedFile, UserMistake
from headgate.storage.appending import sync_folder
from headgate.storage.faults import reading, writing
from headgate.storage.own_files import opened
from headgate.storage.page_memory import Look, PageMemory, Sighting, after
from headgate.storage.replacing import replacing, replacing_soon, write_soon

__all__ = [
    "DamagedMemory",
    "Files",
    "MemorySummary",
    "SiteMemory",
    "VisitCounts",
    "merge",
    "read_summary",
]

_SIGNATURE = b"headgate pages 1\n".ljust(24, b"\0")
_HEAD = struct.Struct("<24sQQQIII")
"""Signature, entries, start of keys, start of summary; CRC-32 of what lies between head and
summary, of the summary, of the head up to here."""
_WORD_BYTES = 8
_COPIED_AT_ONCE = 10_000
_SMALL_BYTES = 1 << 20
"""Of what a run met: more goes to disk."""
_MOST_GONE = 1000
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PageMemory).decode
_decode_sighting = msgspec.msgpack.Decoder(Sighting).decode
_Words: TypeAlias = Union["array[int]", "memoryview[int]"]
_NO_WORDS = array("Q")
_FEW = 20_000
"""So many are sorted sooner than NumPy, which is quicker at it, would be loaded."""


class DamagedMemory(DamagedFile):
    """The file is not what was written; its pages can be had from the runs' tables."""

    def __init__(self, path: Path, how: str) -> None:
        super().__init__(
            path, how, "delete it: the next crawl makes it again from the runs' tables"
        )


class VisitCounts(msgspec.Struct):
    """What the last visit that was merged found, beside what was known before it."""

    asked: int = 0
    """Looks at pages, whatever came of them."""
    changed: int = 0
    same: int = 0
    """Not modified, or sent with the same content."""
    new: int = 0
    """Seen for the first time."""
    gone: int = 0
    """Found gone, which they were not."""
    failed: int = 0
    """Told nothing: errors, silence, robots.txt."""
    not_modified: int = 0
    """Of the same: without their bytes, ..."""
    not_modified_bytes: int = 0
    """... with so many on the line all together, ..."""
    saved_bytes: int = 0
    """... instead of so many."""
    dates_right: int = 0
    """Looks at pages that a sitemap said had changed, where that was so, ..."""
    dates_wrong: int = 0
    """... and where it was not."""
    doubted: bool = False
    """One new content stood for nearly all pages; those looks were passed over."""

    def count(self, before: PageMemory | None, page: PageMemory, look: Look) -> None:
        self.asked += 1
        if before is not None and not page.failing and before.promised_change(look.at):
            right = page.changes > before.changes
            self.dates_right += right
            self.dates_wrong += not right
        if page.gone and not (before is not None and before.gone):
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
    """A site at a glance."""

    site: str
    run: str = ""
    """The last that was merged."""
    pages: int = 0
    """Known and not gone."""
    never_asked: int = 0
    """Of them."""
    sized: int = 0
    """Of them: sent whole at least once, ..."""
    sized_bytes: int = 0
    """... with so many bytes on the line when last sent, all together."""
    revalidatable: int = 0
    """Of them: can be asked for on condition that they changed."""
    gone: int = 0
    """Beside them: entries of pages that are gone."""
    files: list[str] = []
    """WARC files that hold payloads, within the collection; entries name them by number."""
    visit: int = 0
    """The last that was merged, of a site that is visited again and again; 0: it is not."""
    visited: VisitCounts = msgspec.field(default_factory=VisitCounts)
    dates_right: int = 0
    """Of all visits: `VisitCounts`."""
    dates_wrong: int = 0


class SiteMemory:
    """One site's file, mapped; a site without one has an empty memory."""

    def __init__(self, path: Path, site: str) -> None:
        """Raises `DamagedMemory` for what can be seen without reading all of it."""
        self.summary = MemorySummary(site)
        self._path = path
        self._map: mmap.mmap | None = None
        self._keys: _Words = _NO_WORDS
        self._starts: _Words = _NO_WORDS
        if not path.exists():
            return
        with reading(path), opened(path) as file:
            if os.fstat(file.fileno()).st_size < _HEAD.size:
                raise DamagedMemory(path, "cut short")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._open(path, site)
        except BaseException:
            self.close()
            raise

    @classmethod
    def checked(cls, path: Path, site: str) -> Self:
        """The same, after reading every byte."""
        memory = cls(path, site)
        if memory._map is not None:
            _, _, _, end, check, _, _ = _HEAD.unpack_from(memory._map)
            with memoryview(memory._map) as data, data[_HEAD.size : end] as between:
                whole = isal_zlib.crc32(between) == check
            if not whole or not memory._in_order:
                memory.close()
                raise DamagedMemory(path, "not as it was written")
        return memory

    @property
    def size_bytes(self) -> int:
        """Of the file."""
        return 0 if self._map is None else len(self._map)

    def __len__(self) -> int:
        """Entries, those of pages that are gone included."""
        return len(self._keys)

    def __iter__(self) -> Iterator[PageMemory]:
        return map(self._entry, range(len(self)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, url: str) -> PageMemory | None:
        if self._map is None:
            return None
        key = _key(url)
        place = self.place_of(key)
        while place < len(self) and self.key(place) == key:
            page = self._entry(place)
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

    def close(self) -> None:
        for words in (self._keys, self._starts):
            if isinstance(words, memoryview):
                words.release()
        self._keys = self._starts = _NO_WORDS
        if self._map is not None:
            self._map.close()
            self._map = None

    def place_of(self, key: int) -> int:
        """The first with this key, or where it would be."""
        return bisect_left(self._keys, key)

    def key(self, place: int) -> int:
        return self._keys[place]

    def keys_of(self, begin: int, end: int) -> _Words:
        return self._keys[begin:end]

    def bytes_of(self, begin: int, end: int) -> bytes:
        """The entries from one place up to another, as they are in the file."""
        assert self._map is not None
        return self._map[self._start(begin) : self._start(end)]

    def starts_of(self, begin: int, end: int) -> _Words:
        return self._starts[begin:end]

    def _entry(self, place: int) -> PageMemory:
        return self.decode(self.bytes_of(place, place + 1))

    def decode(self, entry: bytes) -> PageMemory:
        """No check sum is proof against whoever made the file on purpose."""
        try:
            return _decode(entry)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise DamagedMemory(self._path, "an entry cannot be read") from None

    def _start(self, place: int) -> int:
        return self._starts[place]

    def _open(self, path: Path, site: str) -> None:
        assert self._map is not None
        signature, count, keys_start, summary_start, _, *checks = _HEAD.unpack_from(self._map)
        summary = self._map[summary_start:]
        if signature != _SIGNATURE or checks != [
            isal_zlib.crc32(summary),
            isal_zlib.crc32(self._map[: _HEAD.size - 4]),
        ]:
            raise DamagedMemory(path, "not as it was written")
        try:
            self.summary = msgspec.msgpack.decode(summary, type=MemorySummary)
            self._keys = self._words(keys_start, count)
            self._starts = self._words(keys_start + count * _WORD_BYTES, count + 1)
        except (msgspec.MsgspecError, ValueError, OverflowError):
            raise DamagedMemory(path, "not as it was written") from None
        if self.summary.site != site:
            raise UserMistake(
                f"{path} belongs to the site {self.summary.site!r}; name {site!r} otherwise"
            )

    def _words(self, start: int, count: int) -> _Words:
        """As they lie there: on all machines that isal is made for, the lowest byte comes first."""
        assert self._map is not None
        end = start + count * _WORD_BYTES
        if end > len(self._map):
            raise ValueError("beyond the end of the file")
        return memoryview(self._map)[start:end].cast("Q")

    @property
    def _in_order(self) -> bool:
        """Whether keys and entries follow one another."""
        starts = self._starts
        if not len(starts):
            return True
        return starts[0] == _HEAD.size and _ascending(starts) and _ascending(self._keys)


def _key(url: str) -> int:
    return xxh3_64_intdigest(url.encode("utf-8", "replace"))


def _ascending(words: _Words) -> bool:
    if len(words) <= _FEW:
        return all(word <= following for word, following in pairwise(words))
    import numpy as np

    column = np.frombuffer(words, np.uint64)
    return bool((column[1:] >= column[:-1]).all())


def _sorted_places(words: array[int]) -> array[int]:
    """Where the words lie, from the least to the greatest; equal ones in their order."""
    if len(words) <= _FEW:
        return array("Q", sorted(range(len(words)), key=words.__getitem__))
    import numpy as np

    places = np.argsort(np.frombuffer(words, np.uint64), kind="stable")
    return array("Q", places.astype(np.uint64).tobytes())


def read_summary(path: Path, site: str) -> MemorySummary | None:
    """What is known of a site, at a glance; None: nothing, or nothing that can be read."""
    with suppress(DamagedMemory), SiteMemory(path, site) as memory:
        return memory.summary if len(memory) else None
    return None


@dataclass(slots=True)
class Files:
    """Numbers for WARC files, those of an older memory first."""

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
    """Write ``path`` anew: what ``old`` knows, and then what a run met, in the run's order.

    ``soon``: without waiting for the disk. ``visit``: whose sightings they are; 0: not kept.
    ``doubted``: of the visit."""
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

    with writing(path), tempfile.SpooledTemporaryFile(_SMALL_BYTES, dir=str(path.parent)) as heap:
        met = _Met(heap, sightings(files))
        if soon and met.bytes + old.size_bytes <= _SMALL_BYTES:
            file = BytesIO()
            summary = written(file, met)
            write_soon(path, file.getvalue())
            return summary
        putting = replacing_soon if soon else replacing
        with putting(path) as part, part.open("w+b") as opened_part:
            return written(opened_part, met)


class _Met:
    """Sightings in the order of their keys; sixteen bytes of each are in memory."""

    def __init__(self, heap: IO[bytes], sightings: Iterable[Sighting]) -> None:
        keys, starts, end = array("Q"), array("Q"), 0
        self.visit = 0
        """The last there is a sighting of."""
        for sighting in sightings:
            self.visit = max(self.visit, sighting.visit)
            keys.append(_key(sighting.url))
            starts.append(end)
            end += heap.write(_encode(sighting))
        self._heap = heap
        self.bytes = end
        """On the heap."""
        self._starts = starts
        self._keys = keys
        self._order = _sorted_places(keys)

    def groups(self) -> Iterator[tuple[int, list[Sighting]]]:
        """All sightings of one key, in their own order."""
        if not self._order:
            return
        with self._mapped() as heap:
            for key, places in groupby(self._order, key=self._keys.__getitem__):
                yield key, [self._sighting(heap, place) for place in places]

    @contextmanager
    def _mapped(self) -> Iterator[mmap.mmap | bytes]:
        """What was put on the heap; of a small site it is in memory anyway."""
        self._heap.seek(0)
        if self.bytes <= _SMALL_BYTES:
            yield self._heap.read()
        else:
            with mmap.mmap(self._heap.fileno(), 0, access=mmap.ACCESS_READ) as heap:
                yield heap

    def _sighting(self, heap: mmap.mmap | bytes, place: int) -> Sighting:
        after_it = place + 1
        end = self._starts[after_it] if after_it < len(self._starts) else self.bytes
        return _decode_sighting(heap[self._starts[place] : end])


class _Counts:
    """The figures of a summary, kept while entries come and go."""

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
    """Old entries and new ones, on their way into a file in the order of their keys."""

    def __init__(self, file: BinaryIO, old: SiteMemory, files: Files) -> None:
        self._file = file
        self._old = old
        self._files = files
        self._counts = _Counts(old.summary)
        self.visited = VisitCounts()
        self._purging = old.summary.gone > old.summary.pages + _MOST_GONE
        self._place = 0
        """Old entries before this one are done with."""
        self._keys = array("Q")
        self._starts = array("Q")
        self._end = _HEAD.size
        self._check = 0
        file.write(bytes(_HEAD.size))

    def take(self, met: _Met) -> None:
        for key, sightings in met.groups():
            self._copy(self._old.place_of(key))
            self._merge(key, sightings)
        self._copy(len(self._old))

    def finish(self, run: str, visit: int) -> MemorySummary:
        counts = self._counts
        summary = MemorySummary(
            self._old.summary.site,
            run,
            counts.pages,
            counts.never_asked,
            counts.sized,
            counts.sized_bytes,
            counts.revalidatable,
            counts.gone,
            self._files.names,
            visit,
            self.visited,
            self._old.summary.dates_right + self.visited.dates_right,
            self._old.summary.dates_wrong + self.visited.dates_wrong,
        )
        self._starts.append(self._end)
        self._write(bytes(-self._end % _WORD_BYTES))  # words lie better where they are aligned
        keys_start = self._end
        for words in (self._keys, self._starts):
            self._write(words.tobytes())
        packed = _encode(summary)
        self._file.write(packed)
        checks = (self._check, isal_zlib.crc32(packed), 0)
        head = _HEAD.pack(_SIGNATURE, len(self._keys), keys_start, self._end, *checks)[:-4]
        self._file.seek(0)
        self._file.write(head + isal_zlib.crc32(head).to_bytes(4, "little"))
        return summary

    def _copy(self, end: int) -> None:
        """Old entries up to a place, as they are; when there are too many, not those gone."""
        while self._place < end:
            block = min(end, self._place + _COPIED_AT_ONCE)
            if self._purging:
                for place in range(self._place, block):
                    self._keep_unless_gone(place)
            else:
                self._copy_block(block)
            self._place = block

    def _copy_block(self, end: int) -> None:
        starts = self._old.starts_of(self._place, end)
        self._keys.frombytes(self._old.keys_of(self._place, end).tobytes())
        shift = self._end - starts[0]
        self._starts.extend([start + shift for start in starts])
        self._write(self._old.bytes_of(self._place, end))

    def _keep_unless_gone(self, place: int) -> None:
        data = self._old.bytes_of(place, place + 1)
        page = self._old.decode(data)
        if page.gone:
            self._counts.count(page, -1)
        else:
            self._add(self._old.key(place), data)

    def _merge(self, key: int, sightings: list[Sighting]) -> None:
        pages: dict[str, PageMemory] = {}
        while self._place < len(self._old) and self._old.key(self._place) == key:
            page = self._old.decode(self._old.bytes_of(self._place, self._place + 1))
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

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._check = isal_zlib.crc32(data, self._check)
        self._end += len(data)
