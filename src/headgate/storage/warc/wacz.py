"""WACZ 1.1.1: the chosen records of a collection in one ZIP file, ready to be replayed.

archive/data.warc.gz    the records as they are, and those that revisits refer to
indexes/index.cdx.gz    where each is, in blocks of 3,000 lines, and index.idx over those
pages/pages.jsonl       pages to begin with
datapackage.json        all that with lengths and digests, and datapackage-digest.json
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import msgspec
import pyarrow as pa
from isal import isal_zlib

from headgate.storage.page_states import THERE
from headgate.storage.warc.index import mime, writing_index
from headgate.storage.warc.record_copying import RecordCopying

__all__ = ["write_wacz"]

_DATA = "data.warc.gz"
_BLOCKS = "index.cdx.gz"
_BLOCK_LINES = 3_000
_GZIP_WINDOW_BITS = 31
_json = msgspec.json.encode


def write_wacz(
    collection: Path, batches: Iterable[pa.Table], created: str, target: IO[bytes]
) -> RecordCopying:
    """``batches``: rows of pages.parquet with a column ``run``; ``created``: a time in ISO 8601.
    Returns what could not be read."""
    with zipfile.ZipFile(target, "w") as archive, TemporaryDirectory() as folder:
        package = _Package(archive)
        index, pages = Path(folder) / "index.cdx", Path(folder) / "pages.jsonl"
        with (
            pages.open("wb") as page_list,
            writing_index(index) as add_lines,
            package.resource(f"archive/{_DATA}") as data,
        ):
            copying = RecordCopying(collection, _DATA, data.write)
            page_list.write(_line({"format": "json-pages-1.0", "id": "pages", "title": "Pages"}))
            for batch in batches:
                for row in batch.to_pylist():
                    add_lines(copying.copy(row))
                    if _is_page(row) and copying.can_be_shown(row):
                        page_list.write(_page_line(row))
        with package.resource(f"indexes/{_BLOCKS}") as blocks:
            directory = list(_write_blocks(index, blocks))
        with package.resource("indexes/index.idx") as file:
            file.write(b"".join(directory))
        with package.resource("pages/pages.jsonl") as file, pages.open("rb") as lines:
            for line in lines:
                file.write(line)
        package.finish(created)
    return copying


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
