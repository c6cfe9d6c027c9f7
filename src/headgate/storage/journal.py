"""The journal of one site run: the only truth about what was done, beside the WARC bytes.

It is a file of frames, one for each commit. A frame has three sections under one CRC, each of them
compressed MessagePack: the frontier's entries with how far the WARC files reach (`Group`), the rows
of the pages, and their links. A commit is therefore there wholly or not at all, and each reader
decodes its own section only: a restart the first, the tables the others.

Invariants: every URL is found once and every page done once, so there is nothing to compact; the
file grows by some ten bytes for each URL and each link and is deleted when the run has been sealed.
A frame is written only after the WARC bytes it speaks of are durable.

A restart finds at most one frame that is not whole, the last one, and cuts it off. A bad frame with
a good one behind it was not made by a crash; it is reported and nothing is cut.

Why not SQLite: appending a URL to a bare table took it 1.3 µs and 68 bytes where a frame takes 0.16
and a few (``bench/archive.py``), and nothing here is ever looked up.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Self

import msgspec
import zstandard
from isal import isal_zlib

from headgate.frontier.journal import JournalEntry
from headgate.model.errors import WorldFault
from headgate.model.page import Links
from headgate.storage.appending import AppendFile, sync_folder
from headgate.storage.faults import reading
from headgate.storage.page import PageRow
from headgate.storage.warc import Mark

__all__ = ["Group", "Journal", "PageLinks", "read_groups", "read_links", "read_pages", "read_site"]

_SIGNATURE = b"headgate journal 2 "
"""Begins the first line; the site's name as JSON ends it."""
_FRAME_MARK = b"\xf5HG\xa1"
_FRAME = struct.Struct("<4sIIII")
"""Mark, bytes of the three sections, CRC-32 of them."""
_GROUP, _PAGES, _LINKS = range(3)
_LEVEL = 1


class PageLinks(msgspec.Struct, frozen=True, array_like=True):
    """The links of the page ``source``, in lines: text that the table is cut from in one go."""

    source: str
    depth: int
    targets: str
    rels: str
    """As many lines as targets; empty when no link has one."""

    @classmethod
    def of(cls, source: str, depth: int, links: Links) -> Self:
        return cls(source, depth, _lines(links.targets), _lines(links.rels))


class Group(msgspec.Struct, frozen=True, array_like=True):
    """What one commit made durable for the frontier."""

    entries: Sequence[JournalEntry]
    mark: Mark
    """How far the WARC files reach with the pages of this commit."""
    finished: bool = False
    """Nothing is left to do; the last group of the journal."""


_encode = msgspec.msgpack.Encoder().encode
_decode_group = msgspec.msgpack.Decoder(Group).decode
_decode_pages = msgspec.msgpack.Decoder(list[PageRow]).decode
_decode_links = msgspec.msgpack.Decoder(list[PageLinks]).decode


class Journal:
    """Opened for writing; a torn tail is cut off first."""

    __slots__ = ("_compressor", "_file", "last")

    def __init__(self, path: Path, site: str) -> None:
        self.last: Group | None = None
        """The last group committed; None in a new journal."""
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        first_line = _SIGNATURE + msgspec.json.encode(site) + b"\n"
        good = 0
        if path.exists():
            good, self.last = _find_end(path, first_line)
        self._file = AppendFile(path, good)
        if good == 0:
            self._file.append(first_line)
            self._file.sync()
            sync_folder(path.parent)

    @property
    def path(self) -> Path:
        return self._file.path

    def append(self, group: Group, pages: Sequence[PageRow], links: Sequence[PageLinks]) -> None:
        """Write one commit and make it durable."""
        plain = (_encode(group), _encode(pages), _encode_links(links))
        sections = [self._compressor.compress(section) for section in plain]
        self._file.append(_FRAME.pack(_FRAME_MARK, *map(len, sections), _check(sections)))
        for section in sections:
            self._file.append(section)
        self._file.sync()
        self.last = group

    def close(self) -> None:
        self._file.close()


def read_site(path: Path) -> str:
    """Whose journal it is; empty: nobody's yet, it was torn at birth."""
    with reading(path), path.open("rb") as file:
        line = file.readline()
    if not (line.startswith(_SIGNATURE) and line.endswith(b"\n")):
        return ""
    return msgspec.json.decode(line[len(_SIGNATURE) :], type=str)


def read_groups(path: Path) -> Iterator[Group]:
    """Of all whole commits, in their order."""
    return map(_decode_group, _sections(path, _GROUP))


def read_pages(path: Path) -> Iterator[list[PageRow]]:
    """The rows of each commit, in the same order."""
    return map(_decode_pages, _sections(path, _PAGES))


def read_links(path: Path) -> Iterator[list[PageLinks]]:
    """The links of each commit, in the same order."""
    return map(_decode_links, _sections(path, _LINKS))


def _encode_links(links: Sequence[PageLinks]) -> bytes:
    try:
        return _encode(links)
    except UnicodeEncodeError:
        return _encode([_writable(page) for page in links])


def _writable(page: PageLinks) -> PageLinks:
    """A hostile page can hold half a surrogate pair, which has no UTF-8."""
    plain = [text.encode("utf-8", "replace").decode() for text in (page.targets, page.rels)]
    return PageLinks(page.source, page.depth, *plain)


def _lines(texts: Sequence[str]) -> str:
    """No text, however bad, may be two lines."""
    lines = "\n".join(texts)
    if texts and lines.count("\n") >= len(texts):
        return "\n".join([text.replace("\n", " ") for text in texts])
    return lines


def _sections(path: Path, which: int) -> Iterator[bytes]:
    plain = zstandard.ZstdDecompressor().decompress
    with reading(path), path.open("rb") as file:
        if not file.readline().startswith(_SIGNATURE):
            return
        while (frame := _read_frame(file)) is not None:
            yield plain(frame[which])


def _read_frame(file: BinaryIO) -> list[bytes] | None:
    header = file.read(_FRAME.size)
    if len(header) < _FRAME.size:
        return None
    mark, *lengths, check = _FRAME.unpack(header)
    if mark != _FRAME_MARK:
        return None
    sections = [file.read(length) for length in lengths]
    return sections if _check(sections) == check else None


def _check(sections: Sequence[bytes]) -> int:
    check = 0
    for section in sections:
        check = isal_zlib.crc32(section, check)
    return check


def _find_end(path: Path, first_line: bytes) -> tuple[int, Group | None]:
    """Bytes up to the end of the last whole frame, and its group."""
    with reading(path), path.open("rb") as file:
        found = file.readline()
        if found != first_line:
            _refuse_foreign(path, found, first_line)
            return 0, None
        end, last = file.tell(), b""
        while (frame := _read_frame(file)) is not None:
            end, last = file.tell(), frame[_GROUP]
        _refuse_hole(path, file, end)
    return end, _decode_group(zstandard.ZstdDecompressor().decompress(last)) if last else None


def _refuse_foreign(path: Path, found: bytes, first_line: bytes) -> None:
    if not first_line.startswith(found.rstrip(b"\0")):
        raise WorldFault(f"{path} is not this site's journal, or not of this version; move it away")


def _refuse_hole(path: Path, file: BinaryIO, end: int) -> None:
    """A crash can spoil the last frame only: one that is good behind ``end`` tells of damage."""
    file.seek(end)
    rest = file.read()
    at = rest.find(_FRAME_MARK, 1)
    while at >= 0:
        file.seek(end + at)
        if _read_frame(file) is not None:
            raise WorldFault(
                f"{path} is damaged at byte {end:,}: whole entries follow a broken one; "
                "restore the file from a copy, or delete it to crawl the site anew"
            )
        at = rest.find(_FRAME_MARK, at + 1)
