"""Copies records from WARC files into another, unchanged, each in its own gzip member.

The record that a revisit refers to is copied, too, from whichever run has it, and so are warcinfo
and request records: the copy is complete in itself.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from headgate.reading.http_head import read_head
from headgate.storage.collection import RunFolder
from headgate.storage.warc.index import IndexFields, index_line, mime

__all__ = ["RecordCopying"]

_GZIP_WINDOW_BITS = 31
_READ_BYTES = 1 << 18
_MOST_BYTES = 40_000_000
_END_OF_HEAD = b"\r\n\r\n"
_END_OF_HTTP_HEAD = re.compile(rb"\n\r?\n")


class _Record(NamedTuple):
    member: bytes
    """As it is on disk."""
    head: Mapping[str, str]
    block: bytes


class RecordCopying:
    """Copies records that rows of pages.parquet name; counts those that could not be read."""

    def __init__(self, collection: Path, name: str, write: Callable[[bytes], object]) -> None:
        self._collection = collection
        self._name = name
        """Name of the new file in its index."""
        self._write = write
        self._length = 0
        self._begun: set[str] = set()
        self._copied: dict[tuple[str, int], bool] = {}
        """Whether a record could be copied, by file and offset."""
        self.unreadable = 0
        self.first_trouble = ""

    def copy(self, row: Mapping[str, Any]) -> Iterator[str]:
        """Copy the records of a row with a column ``run``; returns their lines for the index."""
        if row["original_file"]:
            yield from self._response(row["original_file"], row["original_offset"])
        if row["status"] not in (None, HTTPStatus.NOT_MODIFIED):
            yield from self._response(*self._own_place(row))

    def can_be_shown(self, row: Mapping[str, Any]) -> bool:
        """Whether a copied row can be replayed: its payload may be in another record."""
        original = row["original_file"], row["original_offset"]
        return self._copied.get(original if original[0] else self._own_place(row), False)

    def _own_place(self, row: Mapping[str, Any]) -> tuple[str, int]:
        shelf = RunFolder(self._collection, row["run"]).shelf
        return f"{shelf}/{row['warc_file']}", row["warc_offset"]

    def _response(self, file: str, offset: int) -> Iterator[str]:
        if (file, offset) in self._copied:
            return
        record = self._read(file, offset)
        fields = record and _fields(record)
        self._copied[file, offset] = fields is not None
        if record is None or fields is None:
            self.unreadable += 1
            trouble = f"{self._collection / file}: no whole record at {offset}"
            self.first_trouble = self.first_trouble or trouble
            return
        if file not in self._begun:
            self._begun.add(file)
            self._take(self._read(file, 0), "warcinfo")
        fields.offset, fields.filename = str(self._length), self._name
        self._put(record.member)
        yield index_line(re.sub(r"\D", "", record.head["warc-date"])[:14], fields)
        self._take(self._read(file, offset + len(record.member)), "request")

    def _take(self, record: _Record | None, kind: str) -> None:
        if record is not None and record.head.get("warc-type") == kind:
            self._put(record.member)

    def _put(self, member: bytes) -> None:
        self._write(member)
        self._length += len(member)

    def _read(self, file: str, offset: int) -> _Record | None:
        path = self._collection / file
        if not path.resolve().is_relative_to(self._collection.resolve()):
            return None
        try:
            return _record(path, offset)
        except (OSError, zlib.error):
            return None


def _record(path: Path, offset: int) -> _Record | None:
    """The record at ``offset``; None: there is none, or it is cut off."""
    pieces: list[bytes] = []
    text: list[bytes] = []
    total = 0
    unpacking = zlib.decompressobj(_GZIP_WINDOW_BITS)
    with path.open("rb", buffering=0) as file:
        file.seek(offset)
        while not unpacking.eof:
            data = file.read(_READ_BYTES)
            text.append(unpacking.decompress(data, _MOST_BYTES))
            total += len(text[-1])
            if not data or unpacking.unconsumed_tail or total > _MOST_BYTES:
                return None
            pieces.append(data)
    member = b"".join(pieces)
    head, found, block = b"".join(text).partition(_END_OF_HEAD)
    if not found or not head.startswith(b"WARC/1."):
        return None
    lines = (line.partition(":") for line in head.decode("utf-8", "replace").split("\r\n")[1:])
    fields = {name.strip().lower(): value.strip() for name, _, value in lines}
    return _Record(member[: len(member) - len(unpacking.unused_data)], fields, block)


def _fields(record: _Record) -> IndexFields | None:
    """Index fields of a response or revisit; None: it is another type."""
    kind = record.head.get("warc-type")
    url, date = record.head.get("warc-target-uri"), record.head.get("warc-date")
    end = _END_OF_HTTP_HEAD.search(record.block)
    http = None if end is None else read_head(record.block[: end.end()])
    if kind not in ("response", "revisit") or not url or not date or http is None:
        return None
    content_type = next((value for name, value in http.fields if name == "content-type"), "")
    return IndexFields(
        url=url,
        mime="warc/revisit" if kind == "revisit" else mime(content_type),
        status=str(http.status),
        digest=record.head.get("warc-payload-digest", "-"),
        length=str(len(record.member)),
        offset="",
        filename="",
    )
