"""Reads site files from disk or stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from headgate.model.errors import SiteFileError, UserMistake
from headgate.site_file.contents import SiteFile

__all__ = ["read_site_file", "read_text", "shown"]

MOST_BYTES = 256_000_000
"""Larger than any valid file, so that an endless one is not read to its end."""


def read_site_file(path: str | Path) -> SiteFile:
    """``sites`` and ``budget`` of a site file, as ``headgate crawl`` understands it."""
    from headgate.jobs.crawl_request import CrawlRequest  # here: commands start without it

    return CrawlRequest(path=str(path), text=read_text(str(path))).contents()


def read_text(name: str) -> str:
    """A site file's text, not yet parsed; ``-`` is stdin."""
    return _decoded(_bytes_of(name), shown(name))


def shown(name: str) -> str:
    return "<stdin>" if name == "-" else name


def _bytes_of(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    try:
        with Path(name).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise UserMistake(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise UserMistake(f"{name}: this is a folder, not a site file") from None


def _decoded(data: bytes, path: str) -> str:
    if len(data) > MOST_BYTES:
        raise SiteFileError("the file is larger than any site file can be", path=path, line=1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise SiteFileError(problem, path=path, line=line) from None
