"""The end of a run: journals become index, tables and what is known of the sites.

Each file is written under another name and renamed. Sealing twice gives the same files, so a crash
in between costs only time. The journals stay until `RunFolder.finish`. They are read once, and all
files are made from them at the same time: there may be ten thousand journals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import structs

from headgate.model.page import Role
from headgate.storage.atomic_write import replacing, sync_files
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Commit, LinkLines, Owner
from headgate.storage.journals.run_journals import SiteJournal, site_journals
from headgate.storage.memory.remembering import mend, remember
from headgate.storage.page import PageRow
from headgate.storage.safe_files import writing
from headgate.storage.tables.columns import LINK_COLUMNS, PAGE_COLUMNS
from headgate.storage.tables.plain_parquet import ColumnType, parquet_file
from headgate.storage.warc.index import index_lines, writing_index

__all__ = [
    "Complete",
    "seal",
    "seal_volume",
    "write_run_table",
    "write_tables",
    "writing_links",
    "writing_pages",
]

TABLES = ("pages", "links")
_INDEX = "index.cdxj"
Complete = Callable[[Owner, Iterable[Commit]], Iterable[Commit]]
"""Adds to the commits of a visit what they do not contain."""
_SMALL_BYTES = 1 << 20
"""A journal up to this size is held in memory while files are made from it."""


def write_run_table(run: RunFolder, table: str, path: Path) -> None:
    """A table of what the run has stored so far; also while its journals are being written."""
    if table == "pages":
        with writing_pages(path) as add_pages:
            for owner, journal in site_journals(run).items():
                for rows in journal.pages():
                    add_pages(owner.site, rows)
    else:
        with writing_links(path) as add_links:
            for owner, journal in site_journals(run).items():
                for links in journal.links():
                    add_links(owner.site, links)


def write_tables(run: RunFolder) -> None:
    """Write both tables, each in one step."""
    for table in TABLES:
        with replacing(run.path / f"{table}.parquet") as part:
            write_run_table(run, table, part)


def seal(
    run: RunFolder,
    remembered: Set[str] = frozenset(),
    complete: Complete | None = None,
    tables_written: Callable[[], bool] | None = None,
) -> list[str]:
    """Write all files of a run other than its WARC files; idempotent.

    ``remembered`` are sites whose memory has all of this run already; ``complete`` adds what
    journals lack. ``tables_written`` waits for another process that writes the tables, and says
    whether it succeeded; None: there is none. Returns repairs, a sentence each."""
    collection = Collection(run.collection)
    sites: list[str] = []
    remarks: list[str] = []

    def again(owner: Owner, journal: SiteJournal) -> Iterable[Commit]:
        return journal.commits() if owner.site in remembered else _commits(journal)

    def done(owner: Owner, commits: Iterable[Commit]) -> None:
        sites.append(owner.site)
        whole = Owner(owner.site)  # the number is that of a part of the site, not of a visit
        if owner.site not in remembered and not remember(run, whole, commits):
            remarks.extend(mend(collection, owner.site))

    told: dict[str, set[str]] = {}

    def completed(owner: Owner, commits: Iterable[Commit]) -> Iterable[Commit]:
        whole = commits if complete is None else complete(owner, commits)
        return _told_once(whole, told.setdefault(owner.site, set())) if owner.visit else whole

    if tables_written is None:
        _write_files(run, again, done, completed)
    else:
        _write_index(run, done)
        if not tables_written():
            write_tables(run)
    sync_files(collection.memories, [collection.memory(site).name for site in sites])
    return remarks


def seal_volume(run: RunFolder) -> None:
    """The same for a volume of a keeper, whose visits are in the sites' memories already."""
    _write_files(run, lambda _, journal: journal.commits(), lambda *_: None)


def _write_files(
    run: RunFolder,
    read: Callable[[Owner, SiteJournal], Iterable[Commit]],
    done: Callable[[Owner, Iterable[Commit]], None],
    complete: Complete | None = None,
) -> None:
    """Index and tables, in one pass over the journals."""
    with ExitStack() as files:

        def part(name: str) -> Path:
            return files.enter_context(replacing(run.path / name))

        add_lines = files.enter_context(writing_index(part(_INDEX)))
        add_pages = files.enter_context(writing_pages(part("pages.parquet")))
        add_links = files.enter_context(writing_links(part("links.parquet")))
        for owner, journal in site_journals(run).items():
            commits = read(owner, journal)
            whole = commits if complete is None else complete(owner, commits)
            for _, rows, links in whole:
                add_lines(index_lines(rows, run.shelf))
                add_pages(owner.site, rows)
                add_links(owner.site, links)
            done(owner, commits)


def _write_index(run: RunFolder, done: Callable[[Owner, Iterable[Commit]], None]) -> None:
    """Only the index, for which most of a journal need not be read."""
    with replacing(run.path / _INDEX) as part, writing_index(part) as add_lines:
        for owner, journal in site_journals(run).items():
            for rows in journal.pages():
                add_lines(index_lines(rows, run.shelf))
            done(owner, _Rereading(journal, links=False))


def _commits(journal: SiteJournal) -> Iterable[Commit]:
    """The commits of one site, to be iterated twice; a large journal is read twice."""
    if journal.unpacked_bytes() <= _SMALL_BYTES:
        return list(journal.commits())
    return _Rereading(journal)


def _told_once(commits: Iterable[Commit], told: set[str]) -> Iterator[Commit]:
    """Without the robots.txt files that each part of a site requested again."""
    for group, rows, links in commits:
        new = [row for row in rows if row.role == Role.PAGE or row.url not in told]
        told.update(row.url for row in new if row.role != Role.PAGE)
        yield group, new, links


class _Rereading:
    def __init__(self, journal: SiteJournal, *, links: bool = True) -> None:
        self._journal = journal
        self._links = links

    def __iter__(self) -> Iterator[Commit]:
        return self._journal.commits(links=self._links)


# ``pages.parquet`` and ``links.parquet``: one row per fetch, one row per link.
#
# During the run the rows are in the sites' journals, safe from crashes; at its end they are turned
# into columns here, a row group at a time across sites, so that memory stays bounded and ten
# thousand small sites make no more groups than one large one. Few rows are written by
# `plain_parquet`; for more, Arrow is imported (`arrow_tables`), and a thread writes a group while
# the rows of the next are read: most of its work releases the interpreter lock.


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
