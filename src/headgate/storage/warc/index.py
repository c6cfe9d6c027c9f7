"""``index.cdxj``: which record holds which page, sorted by SURT key and time, for pywb.

One line for each fetch with a response: a keeper's volume has a URL as often as it was fetched, and
each version can be replayed. A 304 has no line, because pywb would replay it as an empty answer;
the earlier capture is used instead. Lines are sorted in bounded memory: sorted pieces are written
beside the index and merged.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from http import HTTPStatus
from itertools import groupby
from pathlib import Path

import msgspec

from headgate.storage.faults import writing
from headgate.storage.own_files import make_own
from headgate.storage.page import PageRow
from headgate.storage.warc.records import digest_text
from headgate.storage.warc.surt import surt_key

__all__ = ["IndexFields", "index_line", "index_lines", "mime", "writing_index"]

_PIECE_LINES = 50_000
_encode = msgspec.json.Encoder().encode


class IndexFields(msgspec.Struct, omit_defaults=True):
    """All of them text, as pywb writes them."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str


def index_lines(rows: Iterable[PageRow], warc_folder: str) -> Iterator[str]:
    """The unsorted lines of rows that can be replayed.

    ``warc_folder`` comes before each file's name: the folder's path within the collection."""
    for row in rows:
        if row.status not in (0, HTTPStatus.NOT_MODIFIED):
            fields = IndexFields(
                url=row.url,
                mime="warc/revisit" if row.original_url else mime(row.content_type),
                status=str(row.status),
                digest=digest_text(row.digest) if row.digest else "-",
                length=str(row.warc_length),
                offset=str(row.warc_offset),
                filename=f"{warc_folder}/{row.warc_file}",
            )
            yield index_line(_stamp(int(row.fetched_at)), fields)


def index_line(stamp: str, fields: IndexFields) -> str:
    """``stamp`` is the time in fourteen digits."""
    return f"{surt_key(fields.url)} {stamp} {_encode(fields).decode()}\n"


@contextmanager
def writing_index(
    path: Path, piece_lines: int = _PIECE_LINES
) -> Iterator[Callable[[Iterable[str]], None]]:
    """Yields a function that takes lines; they are sorted into the file."""
    pieces: list[Path] = []
    waiting: list[str] = []
    with writing(path), ExitStack() as stack:

        def put_down() -> None:
            pieces.append(path.with_name(f"{path.name}.piece-{len(pieces)}"))
            stack.callback(pieces[-1].unlink, missing_ok=True)
            make_own(pieces[-1])
            text = "".join(sorted(waiting))
            pieces[-1].write_text(text, encoding="utf-8", newline="\n")
            waiting.clear()

        def add(lines: Iterable[str]) -> None:
            for line in lines:
                waiting.append(line)
                if len(waiting) >= piece_lines:
                    put_down()

        yield add
        if waiting:
            put_down()
        opened = [
            stack.enter_context(piece.open(encoding="utf-8", newline="\n")) for piece in pieces
        ]
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(line for line, _ in groupby(heapq.merge(*opened)))


@lru_cache(maxsize=64)
def mime(content_type: str) -> str:
    """
    >>> mime("Text/HTML; charset=utf-8"), mime("")
    ('text/html', 'unk')
    """
    return content_type.partition(";")[0].strip().lower() or "unk"


@lru_cache(maxsize=64)
def _stamp(seconds: int) -> str:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds))
