"""WACZ 1.1.1: the chosen records of a collection in one ZIP file, ready to be replayed."""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

import msgspec
import pyarrow as pa
from isal import isal_zlib

from headgate.model.errors import UserMistake
from headgate.reading.http_head import read_head
from headgate.storage.collection import RunFolder
from headgate.storage.page_states import THERE
from headgate.storage.safe_files import archived_file, opened
from headgate.storage.warc.index import IndexFields, index_line, mime, writing_index

__all__ = ["write_wacz"]

_DATA = "data.warc.gz"
_BLOCKS = "index.cdx.gz"
_BLOCK_LINES = 3_000
_GZIP_WINDOW_BITS = 31
_json = msgspec.json.encode


def write_wacz(
    collection: Path, batches: Iterable[pa.Table], created: str, target: IO[bytes]
) -> RecordCopier:
    """WACZ 1.1.1: the chosen records of a collection in one ZIP file, ready to be replayed.

    archive/data.warc.gz    the records as they are, and those that revisits refer to
    indexes/index.cdx.gz    where each is, in blocks of 3,000 lines, and index.idx over those
    pages/pages.jsonl       pages to begin with
    datapackage.json        all that with lengths and digests, and datapackage-digest.json

    ``batches``: rows of pages.parquet with a column ``run``; ``created``: a time in ISO 8601.
    Returns what could not be read.
    """
    with zipfile.ZipFile(target, "w") as archive, TemporaryDirectory() as folder:
        package = _Package(archive)
        index, pages = Path(folder) / "index.cdx", Path(folder) / "pages.jsonl"
        with (
            pages.open("wb") as page_list,
            writing_index(index) as add_lines,
            package.resource(f"archive/{_DATA}") as data,
        ):
            copier = RecordCopier(collection, _DATA, data.write)
            page_list.write(_line({"format": "json-pages-1.0", "id": "pages", "title": "Pages"}))
            for batch in batches:
                for row in batch.to_pylist():
                    add_lines(copier.copy(row))
                    if _is_page(row) and copier.can_be_shown(row):
                        page_list.write(_page_line(row))
        with package.resource(f"indexes/{_BLOCKS}") as blocks:
            directory = list(_write_blocks(index, blocks))
        with package.resource("indexes/index.idx") as file:
            file.write(b"".join(directory))
        with package.resource("pages/pages.jsonl") as file, pages.open("rb") as lines:
            for line in lines:
                file.write(line)
        package.finish(created)
    return copier


class _Resource:
    """A file of the package, being written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.length = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self.digest.update(data)
        self.length += len(data)


class _Package:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._resources: list[dict[str, str | int]] = []

    @contextmanager
    def resource(self, path: str) -> Iterator[_Resource]:
        with self._archive.open(zipfile.ZipInfo(path), "w", force_zip64=True) as file:
            resource = _Resource(file)
            yield resource
        self._resources.append(
            {
                "name": path.rpartition("/")[2],
                "path": path,
                "hash": f"sha256:{resource.digest.hexdigest()}",
                "bytes": resource.length,
            }
        )

    def finish(self, created: str) -> None:
        package = _json(
            {
                "profile": "data-package",
                "wacz_version": "1.1.1",
                "software": "Headgate",
                "created": created,
                "resources": self._resources,
            }
        )
        digest = f"sha256:{hashlib.sha256(package).hexdigest()}"
        self._archive.writestr("datapackage.json", package)
        self._archive.writestr(
            "datapackage-digest.json", _json({"path": "datapackage.json", "hash": digest})
        )


def _write_blocks(index: Path, target: _Resource) -> Iterator[bytes]:
    """Write the index lines in compressed blocks; returns the lines of the secondary index."""
    yield b'!meta 0 {"format":"cdxj-gzip-1.0","filename":"%b"}\n' % _BLOCKS.encode()
    with index.open("rb") as lines:
        while block := list(islice(lines, _BLOCK_LINES)):
            packing = isal_zlib.compressobj(wbits=_GZIP_WINDOW_BITS)
            packed = packing.compress(b"".join(block)) + packing.flush()
            place = {
                "offset": target.length,
                "length": len(packed),
                "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}",
                "filename": _BLOCKS,
            }
            target.write(packed)
            key, stamp, _ = block[0].split(b" ", 2)
            yield b"%b %b %b\n" % (key, stamp, _json(place))


def _is_page(row: Mapping[str, Any]) -> bool:
    return (
        row["role"] == "page" and row["status"] in THERE
        and mime(row["content_type"] or "text/html") in ("text/html", "application/xhtml+xml")
    )  # fmt: skip


def _page_line(row: Mapping[str, Any]) -> bytes:
    moment = row["original_at"] if row["original_file"] else row["fetched_at"]
    page = {"url": row["original_url"] or row["url"], "ts": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}
    return _line(page | {"title": row["title"] or row["url"]})


def _line(values: Mapping[str, str]) -> bytes:
    return _json(values) + b"\n"


_READ_BYTES = 1 << 18
_MOST_BYTES = 40_000_000
_END_OF_HEAD = b"\r\n\r\n"
_END_OF_HTTP_HEAD = re.compile(rb"\n\r?\n")


class _Record(NamedTuple):
    member: bytes
    """As it is on disk."""
    head: Mapping[str, str]
    block: bytes


class RecordCopier:
    """Copies records from WARC files into another, unchanged, each in its own gzip member.

    The record that a revisit refers to is copied, too, from whichever run has it, and so are
    warcinfo and request records: the copy is complete in itself.

    Copies records that rows of pages.parquet name; counts those that could not be read.
    """

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
        path = archived_file(self._collection, file)
        if path is None:
            return None
        try:
            return _record(path, offset)
        except (OSError, zlib.error, UserMistake):
            return None


def _record(path: Path, offset: int) -> _Record | None:
    """The record at ``offset``; None: there is none, or it is cut off."""
    pieces: list[bytes] = []
    text: list[bytes] = []
    total = 0
    unpacking = zlib.decompressobj(_GZIP_WINDOW_BITS)
    with opened(path) as file:
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
