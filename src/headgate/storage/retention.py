"""Removes old versions of pages; everything that stays can still be replayed.

For each site with a rule (`rules`), looks before a certain time are removed (`Told`): their
lines in index and tables, and their records. A record stays with its line if a remaining look, of
whichever URL, site or run, refers to its payload, so that every remaining capture can be replayed.
Unfinished runs count, too.

What the sites' memories refer to stays with its line as well: the next visit asks whether that
changed, and a 304 refers to it. It need not be the newest in the tables. The memory passes over
the looks of a visit that is doubted (`visit_memory`), and goes by the order of visits where the
tables go by the clock, which may have been set back. Of a site without a sound memory everything
stays.

For each run: a note of what will be removed is saved, durably; index and tables are replaced;
records are blanked in WARC files (`blanking`), and files without records deleted; the note is
deleted. After a crash the note is still there, and all is done again. Only sealed runs are changed.
It needs the collection's lock, and reads every table once: some seconds per million rows.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from headgate.model.errors import DamagedFile, UserMistake
from headgate.model.keeping import ALL_VERSIONS, KeepVersions
from headgate.model.site import Site
from headgate.storage.atomic_write import replacing, write_whole
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.run_journals import site_journals
from headgate.storage.memory.site import SiteMemory
from headgate.storage.safe_files import Amount, NameOf, is_name, opened, reading, writing
from headgate.storage.tables.arrow_tables import Capture, filter_table, read_captures
from headgate.storage.warc.records import record_id, utc_text

__all__ = ["Freed", "apply_retention", "save_retention"]

_NOTE = "removing.json"
_MOST_NOTE_BYTES = 1 << 30
_CONTENTS = (200, 304)
_AHEAD_SECONDS = 300.0
"""A look further ahead was made before the clock was set back."""
_BLOCK_BYTES = 512
_GZIP_WINDOW_BITS = 31
_HEAD_BYTES = 4096

Place = tuple[str, int]
"""A WARC file within the collection, and an offset."""
Page = tuple[str, str]
"""Site and URL."""


class _Note(msgspec.Struct):
    """What is removed from a run."""

    offsets: dict[str, list[Amount]]
    """Offsets of records in tables and index, by WARC file."""
    now: float


def apply_retention(collection: Collection, now: float) -> Freed:
    """``now``: seconds since 1970. Raises `HeadgateError` if the machine fails; what was done until
    then stays done."""
    sealed = [run for run in collection.runs() if not run.unfinished]
    freed = Freed()
    for run in sealed:
        if (run.path / _NOTE).exists():
            freed = freed.plus(_carry_out(run))
    rules = load_retention(collection.path)
    if not rules:
        return freed
    tables = {run.stamp: run for run in sealed if (run.path / "pages.parquet").is_file()}
    goes = _going(collection, list(tables.values()), rules, now)
    for stamp, offsets in goes.items():
        run = tables[stamp]
        write_whole(run.path / _NOTE, msgspec.json.encode(_Note(offsets, now)))
        freed = freed.plus(_carry_out(run))
    return freed


def _going(
    collection: Collection, runs: Sequence[RunFolder], rules: Mapping[str, KeepVersions], now: float
) -> dict[str, dict[str, list[int]]]:
    """Offsets of records to remove, by run and WARC file."""
    rules = {site: rule for site, rule in rules.items() if _is_remembered(collection, site)}
    cuts = _cuts(runs, rules, now)
    old: dict[Place, None] = {}
    """In the order of runs."""
    needed: set[Place] = set()
    for run in runs:
        for capture in read_captures(run.path / "pages.parquet"):
            cut = cuts.get((capture.site, capture.url))
            if cut is not None and capture.at < cut and is_name(NameOf.WARC, capture.file):
                old[f"{run.shelf}/{capture.file}", capture.offset] = None
            elif capture.original_file:
                needed.add((capture.original_file, capture.original_offset))
    for site in rules:
        for place in _needed_by_memory(collection, site):
            old.pop(place, None)
    # After the memories: a visit may end in between.
    needed.update(_needed_by_visits(collection))
    stamps = {run.shelf: run.stamp for run in runs}
    found: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for path, offset in old:
        if (path, offset) not in needed:
            shelf, _, file = path.rpartition("/")
            found[stamps[shelf]][file].append(offset)
    return {
        stamp: {file: sorted(offsets) for file, offsets in by_file.items()}
        for stamp, by_file in found.items()
    }


def _cuts(
    runs: Sequence[RunFolder], rules: Mapping[str, KeepVersions], now: float
) -> dict[Page, float]:
    """The time before which looks are removed, by page; without those that lose nothing. ``runs``:
    the newest first.

    Looks in the future, made before the clock was set back, say nothing of others' age. Memory goes
    with versions, and with the looks of one run."""
    begins: defaultdict[Page, list[Told]] = defaultdict(list)
    for run in reversed(runs):
        looks: defaultdict[Page, list[Told]] = defaultdict(list)
        for capture in read_captures(run.path / "pages.parquet", rules):
            told = capture.status in _CONTENTS and capture.digest
            if told and capture.at <= now + _AHEAD_SECONDS:
                looks[capture.site, capture.url].append((capture.at, capture.digest))
        for page, seen in looks.items():
            add_looks(begins[page], seen)
    cuts = ((page, cut_of(seen, rules[page[0]], now)) for page, seen in begins.items())
    return {page: cut for page, cut in cuts if cut > min(begins[page])[0]}


def _is_remembered(collection: Collection, site: str) -> bool:
    """Whether it has a sound memory."""
    try:
        with SiteMemory.checked(collection.memory(site), site) as memory:
            return memory.entries is not None
    except UserMistake:
        return False


def _needed_by_memory(collection: Collection, site: str) -> Iterator[Place]:
    with SiteMemory(collection.memory(site), site) as memory:
        for page in memory:
            if page.digest:
                yield memory.file(page), page.offset


def _needed_by_visits(collection: Collection) -> Iterator[Place]:
    for run in collection.runs():
        if run.unfinished:
            for journal in site_journals(run).values():
                for rows in journal.pages():
                    for row in rows:
                        if row.original_file:
                            yield row.original_file, row.original_offset


def _carry_out(run: RunFolder) -> Freed:
    """Do what the note says; idempotent."""
    path = run.path / _NOTE
    note = _read_note(path)
    run.refuse_links()
    goes = {file: set(offsets) for file, offsets in note.offsets.items()}
    _filter_index(run, goes)
    left = _filter_tables(run, goes)
    before = sum(map(_disk_bytes, run.warc.glob("*.warc.gz")))
    for name, offsets in note.offsets.items():
        warc = run.warc / name
        if not warc.exists():
            continue
        if name not in left:
            with writing(warc):
                warc.unlink()
        else:
            blank_out(warc, list(_regions(warc, offsets)), note.now)
    after = sum(map(_disk_bytes, run.warc.glob("*.warc.gz")))
    with writing(path):
        path.unlink()
    return Freed(sum(map(len, note.offsets.values())), max(before - after, 0))


def _read_note(path: Path) -> _Note:
    """Somebody else's may name any file."""
    remedy = "move it away, and old versions of that run stay"
    with reading(path), opened(path) as file:
        data = file.read(_MOST_NOTE_BYTES)
    try:
        note = msgspec.json.decode(data, type=_Note)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DamagedFile(path, str(error), remedy) from None
    for name in note.offsets:
        if not is_name(NameOf.WARC, name):
            raise DamagedFile(path, "it names what is no WARC file of its run", remedy)
    return note


def _filter_index(run: RunFolder, goes: Mapping[str, set[int]]) -> None:
    index = run.path / "index.cdxj"
    if not index.exists():
        return
    shelf = f"{run.shelf}/"
    with (
        reading(index), index.open("rb") as lines, replacing(index) as part, writing(part),
        part.open("wb") as kept,
    ):  # fmt: skip
        for line in lines:
            fields = msgspec.json.decode(line.split(b" ", 2)[2], type=dict[str, str])
            name = fields["filename"].removeprefix(shelf)
            if int(fields["offset"]) not in goes.get(name, ()):
                kept.write(line)


def _filter_tables(run: RunFolder, goes: Mapping[str, set[int]]) -> set[str]:
    """Returns the WARC files that are still referred to."""
    files: set[str] = set()
    pages: set[tuple[str, str]] = set()

    def stays(capture: Capture) -> bool:
        if capture.offset in goes.get(capture.file, ()):
            return False
        files.add(capture.file)
        pages.add((capture.site, capture.url))
        return True

    table = run.path / "pages.parquet"
    gone = {
        (each.site, each.url)
        for each in read_captures(table)
        if each.offset in goes.get(each.file, ())
    }
    with replacing(table) as part:
        filter_table(table, part, stays)
    links = run.path / "links.parquet"
    if links.exists() and (gone := gone - pages):
        with replacing(links) as part:
            filter_table(links, part, lambda link: (link.site, link.url) not in gone)
    return files


def _regions(warc: Path, offsets: Iterable[int]) -> Iterator[Region]:
    """Regions of records with their request records; adjacent ones are joined."""
    start = at = -1
    with reading(warc), warc.open("rb") as file:
        fd = file.fileno()
        for offset in offsets:
            end = member_end(fd, offset)
            if end is None:
                continue  # within a region blanked before
            if offset != at:
                if at > 0:
                    yield start, at
                start = offset
            request = member_end(fd, end) if _is_request(fd, end) else None
            at = request or end
    if at > 0:
        yield start, at


def _is_request(fd: int, start: int) -> bool:
    try:
        packed = os.pread(fd, _HEAD_BYTES, start)
        head = zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(packed, _HEAD_BYTES)
    except zlib.error:
        return False
    return b"\r\nWARC-Type: request\r\n" in head.partition(b"\r\n\r\n")[0] + b"\r\n"


def _disk_bytes(path: Path) -> int:
    return path.stat().st_blocks * _BLOCK_BYTES


class Freed(msgspec.Struct, frozen=True):
    """What removing old versions has freed."""

    captures: int = 0
    """Looks whose records are gone."""
    bytes: int = 0
    """On the disk."""

    def plus(self, other: Freed) -> Freed:
        return Freed(self.captures + other.captures, self.bytes + other.bytes)


# ``retention.json``: which versions of a site's pages stay; read when volumes are sealed.
#
# A keeper writes it to its collection. If it is lost or damaged, everything stays.


_NAME = "retention.json"
_MOST_BYTES = 100_000_000


def save_retention(collection: Path, sites: Iterable[Site]) -> None:
    """Replace all rules: pages of sites that are no longer kept stay as they are."""
    rules = {
        site.name: site.keeping.keep_versions
        for site in sites
        if site.keeping.keep_versions != ALL_VERSIONS
    }
    if rules != load_retention(collection):
        write_whole(collection / _NAME, msgspec.json.encode(rules))


def load_retention(collection: Path) -> Mapping[str, KeepVersions]:
    try:
        with opened(collection / _NAME) as file:
            return msgspec.json.decode(file.read(_MOST_BYTES), type=dict[str, KeepVersions])
    except (OSError, UserMistake, msgspec.MsgspecError):
        return {}


# Which versions of a page stay: a time for each URL, before which everything is removed.
#
# A version is the same content over consecutive looks; the newest always stays. It need not be the
# one that the site's memory has (`apply_retention` spares that, too). A rule keeps a number of
# newest versions, or those replaced no longer ago than some time. Everything before the first look
# at the oldest version that stays may go, errors included.


Told = tuple[float, str]
"""Time and digest of a look with content."""


def add_looks(begins: list[Told], looks: Iterable[Told]) -> None:
    """Add to a page's looks, oldest first, those of a further run that show another content than
    the one before. Where the clock was set back some may be missed, so that more versions stay.

    >>> begins = [(1.0, "a")]
    >>> add_looks(begins, [(3.0, "b"), (2.0, "a"), (4.0, "b"), (5.0, "a")])
    >>> begins
    [(1.0, 'a'), (3.0, 'b'), (5.0, 'a')]
    """
    for at, digest in sorted(looks):
        if not begins or begins[-1][1] != digest:
            begins.append((at, digest))


def cut_of(looks: Iterable[Told], rule: KeepVersions, now: float) -> float:
    """For one URL; ``looks`` are times and digests of looks with content, in any order. Minus
    infinity: everything stays.

    >>> looks = [(1.0, "a"), (2.0, "a"), (3.0, "b"), (4.0, "c"), (5.0, "c")]
    >>> cut_of(looks, KeepVersions(newest=2), 9.0), cut_of(looks, KeepVersions(newest=3), 9.0)
    (3.0, 1.0)
    >>> cut_of(looks, KeepVersions(seconds=5.5), 9.0), cut_of(looks, KeepVersions(seconds=4), 9.0)
    (3.0, 4.0)
    """
    begins: list[float] = []
    last = None
    for at, digest in sorted(looks):
        if digest != last:
            begins.append(at)
            last = digest
    if not begins:
        return -math.inf
    if rule.newest is not None:
        return begins[-rule.newest] if len(begins) >= rule.newest else begins[0]
    if rule.seconds is None:
        return -math.inf
    replaced = [at for at in begins[1:] if at < now - rule.seconds]
    return replaced[-1] if replaced else begins[0]


# Removes records from WARC files without moving the others.
#
# Indexes, tables and memories refer to records by offset. So a removed record is replaced by one of
# the same length, a ``metadata`` record of zeros in an uncompressed gzip member. The zeros are a
# hole in the file, which takes no space; readers see a valid file with some empty records.


_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_TRAILER_BYTES = 8
_BLOCK_HEAD_BYTES, _MOST_IN_BLOCK = 5, 65_535
_COPY_BYTES = 1 << 20
_END = b"\r\n\r\n"

Region = tuple[int, int]
"""Start and end."""


def blank_out(path: Path, regions: Sequence[Region], wall_time: float) -> None:
    """In one durable step; idempotent. Regions are whole members, in order, not adjacent."""
    with writing(path), replacing(path) as part, path.open("rb") as old, part.open("wb") as new:
        at = 0
        for start, end in regions:
            pieces = blank_pieces(end - start, wall_time)
            if pieces is None:
                continue  # too small for a blank record: it stays
            _copy(old, new, at, start)
            for offset, data in pieces:
                new.seek(start + offset)
                new.write(data)
            at = end
        size = os.fstat(old.fileno()).st_size
        _copy(old, new, at, size)
        new.truncate(size)


def blank_pieces(length: int, wall_time: float) -> list[tuple[int, bytes]] | None:
    """The non-zero bytes of a blank member of this length, by offset; None: it is too short.

    >>> member = bytearray(1000)
    >>> for offset, data in blank_pieces(1000, 0.0):
    ...     member[offset : offset + len(data)] = data
    >>> record = zlib.decompress(bytes(member), 31)
    >>> head, _, block = record.partition(_END)
    >>> head.split(_END[:2])[-1] == b"Content-Length: %d" % (len(block) - 4), block[-5:]
    (True, b'\\x00\\r\\n\\r\\n')
    """
    inside = length - len(_GZIP_HEAD) - _TRAILER_BYTES
    blocks = -(-inside // (_MOST_IN_BLOCK + _BLOCK_HEAD_BYTES))
    size = inside - blocks * _BLOCK_HEAD_BYTES
    """Of the record."""
    head = _head(size, wall_time)
    if head is None:
        return None
    zeros = size - len(head) - len(_END)
    pieces = [(0, _GZIP_HEAD)]
    for block in range(blocks):
        before = min(block * _MOST_IN_BLOCK, size)
        held = min(_MOST_IN_BLOCK, size - before)
        at = len(_GZIP_HEAD) + block * _BLOCK_HEAD_BYTES + before
        is_last = block == blocks - 1
        pieces.append((at, struct.pack("<BHH", is_last, held, held ^ 0xFFFF)))
    pieces += _placed(0, head)
    pieces += _placed(size - len(_END), _END)
    checksum = zlib.crc32(_END, _crc_of_zeros(zlib.crc32(head), zeros))
    pieces.append((length - _TRAILER_BYTES, struct.pack("<II", checksum, size & 0xFFFFFFFF)))
    return pieces


def member_end(file: int, start: int) -> int | None:
    """The end of the gzip member at ``start``; None: there is none."""
    reader = zlib.decompressobj(_GZIP_WINDOW_BITS)
    at = start
    while not reader.eof:
        data = os.pread(file, _COPY_BYTES, at)
        if not data:
            return None
        try:
            while data and not reader.eof:
                reader.decompress(data, _COPY_BYTES)
                at += len(data) - len(reader.unconsumed_tail) - len(reader.unused_data)
                data = reader.unconsumed_tail
        except zlib.error:
            return None
    return at


def _head(size: int, wall_time: float) -> bytes | None:
    fixed = (
        f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {record_id()}\r\n"
        f"WARC-Date: {utc_text(wall_time)}\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: "
    ).encode()
    for digits in range(1, 12):
        zeros = size - len(fixed) - digits - 2 * len(_END)
        if zeros >= 0 and len(str(zeros)) == digits:
            return fixed + str(zeros).encode() + _END
    return None


def _placed(start: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Positions of the record's bytes, around the block headers."""
    while data:
        block, within = divmod(start, _MOST_IN_BLOCK)
        fits = data[: _MOST_IN_BLOCK - within]
        before = len(_GZIP_HEAD) + (block + 1) * _BLOCK_HEAD_BYTES
        yield before + start, fits
        start, data = start + len(fits), data[len(fits) :]


def _crc_of_zeros(checksum: int, count: int) -> int:
    some = bytes(_COPY_BYTES)
    while count > 0:
        checksum = zlib.crc32(some[:count], checksum)
        count -= len(some)
    return checksum


def _copy(old: BinaryIO, new: BinaryIO, start: int, end: int) -> None:
    old.seek(start)
    new.seek(start)
    while start < end and (data := old.read(min(_COPY_BYTES, end - start))):
        new.write(data)
        start += len(data)
