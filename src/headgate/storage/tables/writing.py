"""``pages.parquet`` and ``links.parquet``: one row per fetch, one row per link.

During the run the rows are in the sites' journals, safe from crashes; at its end they are turned
into columns here, a row group at a time across sites, so that memory stays bounded and ten thousand
small sites make no more groups than one large one. Few rows are written by `plain_parquet`; for
more, Arrow is imported (`arrow_tables`), and a thread writes a group while the rows of the next are
read: most of its work releases the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import structs

from headgate.storage.journals.journal import LinkLines
from headgate.storage.page import PageRow
from headgate.storage.safe_files import writing
from headgate.storage.tables.columns import LINK_COLUMNS, PAGE_COLUMNS
from headgate.storage.tables.plain_parquet import ColumnType, parquet_file

__all__ = ["writing_links", "writing_pages"]

_PAGES_PER_GROUP = 5_000
_LINKS_PER_GROUP = 50_000
_LINK_TEXT_PER_GROUP = 4_000_000
"""In characters: a link may have two thousand."""
_FEW_PAGES = 500
_FEW_LINKS = 20_000
_Row = TypeVar("_Row")
_Writer = Callable[[Sequence[tuple[str, _Row]]], None]


@contextmanager
def writing_pages(path: Path) -> Iterator[Callable[[str, Iterable[PageRow]], None]]:
    """Yields a function that takes rows of a site."""
    with ExitStack() as stack:
        table = _Table(stack, path, _page_groups)

        def add(site: str, rows: Iterable[PageRow]) -> None:
            for row in rows:
                table.waiting.append((site, row))
                if len(table.waiting) >= _PAGES_PER_GROUP:
                    table.flush()

        yield add
        table.end(_few_pages, few=len(table.waiting) <= _FEW_PAGES)


@contextmanager
def writing_links(path: Path) -> Iterator[Callable[[str, Iterable[LinkLines]], None]]:
    """Yields a function that takes the links of a site's pages."""
    links = text = 0
    with ExitStack() as stack:
        table = _Table(stack, path, _link_groups)

        def add(site: str, pages: Iterable[LinkLines]) -> None:
            nonlocal links, text
            for page in chain.from_iterable(map(_parts, pages)):
                if links >= _LINKS_PER_GROUP or text + len(page.targets) > _LINK_TEXT_PER_GROUP:
                    table.flush()
                    links = text = 0
                table.waiting.append((site, page))
                links += page.targets.count("\n") + 1
                text += len(page.targets)

        yield add
        table.end(_few_links, few=links <= _FEW_LINKS)


class _Table(Generic[_Row]):
    """Collects rows and writes them in groups; the file is begun with the first full group."""

    def __init__(
        self, stack: ExitStack, path: Path,
        groups: Callable[[Path], AbstractContextManager[_Writer[_Row]]],
    ) -> None:  # fmt: skip
        self.waiting: list[tuple[str, _Row]] = []
        self._stack = stack
        self._path = path
        self._groups = groups
        self._write: Callable[[Sequence[tuple[str, _Row]]], Future[None]] | None = None
        """Starts writing a group."""
        self._group: Future[None] | None = None
        """The group being written; one at a time."""

    def flush(self) -> None:
        if self._write is None:
            self._write = self._begun()
        if self._group is not None:
            self._group.result()
        if self.waiting:
            self._group = self._write(self.waiting)
            self.waiting = []

    def end(self, whole: Callable[[Sequence[tuple[str, _Row]]], bytes], *, few: bool) -> None:
        """``whole`` makes a file of all rows if they are few."""
        if few and self._write is None:
            with writing(self._path):
                self._path.write_bytes(whole(self.waiting))
        else:
            self.flush()
            if self._group is not None:
                self._group.result()

    def _begun(self) -> Callable[[Sequence[tuple[str, _Row]]], Future[None]]:
        write = self._stack.enter_context(self._groups(self._path))
        beside = self._stack.enter_context(ThreadPoolExecutor(1))
        return lambda rows: beside.submit(write, rows)


def _page_groups(path: Path) -> AbstractContextManager[_Writer[PageRow]]:
    from headgate.storage.tables.arrow_tables import page_groups  # here: it brings 60 MB

    return page_groups(path)


def _link_groups(path: Path) -> AbstractContextManager[_Writer[LinkLines]]:
    from headgate.storage.tables.arrow_tables import link_groups  # here: it brings 60 MB

    return link_groups(path)


def _few_pages(rows: Sequence[tuple[str, PageRow]]) -> bytes:
    columns: dict[str, tuple[ColumnType, Sequence[object]]] = {
        "site": (ColumnType.TEXT, [site for site, _ in rows])
    }
    for name, (kind, get) in PAGE_COLUMNS.items():
        columns[name] = kind, [get(row) for _, row in rows]
    return parquet_file(columns, len(rows))


def _few_links(pages: Sequence[tuple[str, LinkLines]]) -> bytes:
    rows = [
        (site, page.source, target, rel or None, page.depth)
        for site, page in pages
        for target, rel in zip(page.targets.split("\n"), _rels(page), strict=True)
    ]
    values = list(zip(*rows, strict=True)) or [()] * len(LINK_COLUMNS)
    columns = {
        name: (kind, column)
        for (name, kind), column in zip(LINK_COLUMNS.items(), values, strict=True)
    }
    return parquet_file(columns, len(rows))


def _rels(page: LinkLines) -> list[str]:
    return (page.rels or "\n" * page.targets.count("\n")).split("\n")


def _parts(page: LinkLines) -> Iterable[LinkLines]:
    """The links of a page, in parts that fit into a group."""
    return (page,) if len(page.targets) <= _LINK_TEXT_PER_GROUP else _cut(page)


def _cut(page: LinkLines) -> Iterator[LinkLines]:
    targets, rels = page.targets.split("\n"), page.rels.split("\n")
    size = max(len(targets) * _LINK_TEXT_PER_GROUP // len(page.targets), 1)
    for start in range(0, len(targets), size):
        some = slice(start, start + size)
        yield structs.replace(page, targets="\n".join(targets[some]), rels="\n".join(rels[some]))
