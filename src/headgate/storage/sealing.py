"""The end of a run: journals become index, tables and validators.

Each file is made whole beside its place and put there in one step. Done twice, it gives the same
files, so a crash in between costs time only. The journals stay until `RunFolder.finish`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from headgate.storage.collection import RunFolder
from headgate.storage.index import index_lines, write_index
from headgate.storage.journal import PageLinks, read_links, read_pages, read_site
from headgate.storage.page import PageRow
from headgate.storage.replacing import replacing
from headgate.storage.tables import write_links, write_pages
from headgate.storage.validators import write_validators

__all__ = ["seal"]


def seal(run: RunFolder) -> None:
    """Write everything the run leaves beside its WARC files."""
    sites = [(site, path) for path in run.journals() if (site := read_site(path))]
    warc_folder = run.warc.relative_to(run.collection).as_posix()
    with replacing(run.path / "index.cdxj") as part:
        write_index(part, index_lines(_all_rows(sites), warc_folder))
    with replacing(run.path / "pages.parquet") as part:
        write_pages(part, ((site, _rows(path)) for site, path in sites))
    with replacing(run.path / "links.parquet") as part:
        write_links(part, ((site, _links(path)) for site, path in sites))
    with replacing(run.path / "validators.bin") as part:
        write_validators(part, _all_rows(sites))


def _rows(journal: Path) -> Iterator[PageRow]:
    return chain.from_iterable(read_pages(journal))


def _links(journal: Path) -> Iterator[PageLinks]:
    return chain.from_iterable(read_links(journal))


def _all_rows(sites: list[tuple[str, Path]]) -> Iterator[PageRow]:
    return chain.from_iterable(_rows(path) for _, path in sites)
