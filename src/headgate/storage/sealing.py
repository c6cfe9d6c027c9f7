"""The end of a run: journals become index, tables and what is known of the sites.

Each file is written under another name and renamed. Sealing twice gives the same files, so a crash
in between costs only time. The journals stay until `RunFolder.finish`. They are read once, and all
files are made from them at the same time: there may be ten thousand journals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import ExitStack
from pathlib import Path

from headgate.model.page import Role
from headgate.storage.atomic_write import replacing, sync_files
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.journals.run_journals import SiteJournal, site_journals
from headgate.storage.memory.remembering import mend, remember
from headgate.storage.tables.writing import writing_links, writing_pages
from headgate.storage.warc.index import index_lines, writing_index

__all__ = ["TABLES", "Complete", "seal", "seal_volume", "write_run_table", "write_tables"]

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
