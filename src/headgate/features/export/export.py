"""Exports tables, text, WACZ or SQLite, of one run or of all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from headgate.features.export.page_content import Contents, Told, page_document, page_file_name
from headgate.features.export.text_workers import AnchorTexts
from headgate.features.export.wacz import write_wacz
from headgate.model.errors import UserMistake
from headgate.reading.main_text import TEXT_FORMS
from headgate.report.phrases import plural
from headgate.storage.atomic_write import write_soon
from headgate.storage.collection import RunFolder
from headgate.storage.runs import chosen_run, crawls, is_survey
from headgate.storage.safe_files import writing
from headgate.storage.stored_page import page_versions
from headgate.storage.tables.rows import (
    RowCondition,
    Rows,
    flat_rows,
    run_table,
    stored_rows,
    unfinished_remark,
    write_rows,
)

__all__ = ["Export", "ExportJob"]

CRAWL_TABLES = ("pages", "links")
SURVEY_TABLES = ("servers", "links", "depths")
_PAGE_FILE_ENDINGS = {"text": ".txt", "markdown": ".md"}


@dataclass(frozen=True, slots=True)
class Export:
    """A user's request."""

    folder: Path
    run: str | None
    """Its stamp, or "all"; None: the newest."""
    form: str
    table: str | None = None
    where: str = ""
    content: str = ""
    """A further column of pages: "text", "markdown" or "html"; of links: "text"."""
    created: str = ""
    """The current time by ISO 8601."""


@dataclass(slots=True)
class ExportJob:
    """One export, and remarks for the user."""

    request: Export
    remarks: list[str] = field(default_factory=list, init=False)
    unreadable: int = field(default=0, init=False)
    """Pages or records that could not be read; also in a remark."""
    runs: list[RunFolder] = field(default_factory=list, init=False)
    """The newest first."""

    def __post_init__(self) -> None:
        asked = self.request
        every = asked.run == "all"
        self.runs = crawls(asked.folder) if every else [chosen_run(asked.folder, asked.run)]
        if not self.runs:
            raise UserMistake(f"{asked.folder}: no crawl in there; --run names a survey")
        kind = "survey" if is_survey(self.runs[0]) else "crawl"
        tables = self.tables
        if asked.table is not None and asked.table not in tables:
            raise UserMistake(
                f"run {self.runs[0].stamp} is a {kind} and has no {asked.table}; --table is one of"
                f" {', '.join(tables)}"
            )
        if kind == "survey" and (asked.form in ("text", "markdown", "wacz") or asked.content):
            raise UserMistake(f"run {self.runs[0].stamp} is a survey, which keeps no pages")

    @property
    def tables(self) -> Sequence[str]:
        """The tables of the run; the first is the default."""
        return SURVEY_TABLES if is_survey(self.runs[0]) else CRAWL_TABLES

    def write(self, target: IO[bytes]) -> None:
        """Write into one file."""
        asked = self.request
        if asked.form in TEXT_FORMS:
            for row, told in self._texts():
                target.write(page_document(row, *told).encode("utf-8", "replace"))
        elif asked.form == "wacz":
            copier = write_wacz(self._collection, self._fetches(), asked.created, target)
            self._count(copier.unreadable, copier.first_trouble, "record")
        else:
            with ExitStack() as stack:
                write_rows(self._rows(asked.table or self.tables[0], stack), asked.form, target)

    def write_database(self, path: Path) -> None:
        with ExitStack() as stack:
            tables = [self.request.table] if self.request.table else self.tables
            write_sqlite({table: self._rows(table, stack) for table in tables}, path)

    def write_folder(self, folder: Path) -> None:
        """Write a file for each page."""
        ending, names = _PAGE_FILE_ENDINGS[self.request.form], set[str]()
        for row, told in self._texts():
            name = page_file_name(row["url"], ending)
            if name in names:
                name = page_file_name(row["url"], ending, marked=True)
            names.add(name)
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_soon(path, page_document(row, *told).encode("utf-8", "replace"))

    @property
    def _collection(self) -> Path:
        return self.runs[0].collection

    def _texts(self) -> Iterator[tuple[Mapping[str, Any], Told]]:
        rows = page_versions(self.runs, self.request.where)
        for run in self.runs:
            self._remark_unfinished(run)
        contents = Contents(self._collection, self.request.form)
        for some, told in contents.read(rows.batches):
            for row, (content, near) in zip(some.to_pylist(), told, strict=True):
                if content.content:
                    yield row, (content, near)
        self._count(contents.unreadable, contents.first_trouble, "page")

    def _fetches(self) -> Iterator[pa.Table]:
        with ExitStack() as stack:
            yield from self._rows("pages", stack, with_run=True).batches

    def _rows(self, table: str, stack: ExitStack, *, with_run: bool = False) -> Rows:
        """The rows of all requested runs that match the condition."""
        found: list[tuple[RunFolder, Rows]] = []
        for run in self.runs:
            self._remark_unfinished(run)
            found.append((run, stored_rows(stack.enter_context(run_table(run, table)))))
        schema = found[0][1].schema
        if with_run or self.request.run == "all":
            schema = schema.insert(0, pa.field("run", pa.string()))
        meant = self.request.where if table == (self.request.table or self.tables[0]) else ""
        condition = RowCondition(meant, schema.names)
        chosen = [(run, _chosen(run.stamp, rows, schema, condition)) for run, rows in found]
        if self.request.content and table == self.request.table == "links":
            return self._with_anchors(schema, chosen, stack)
        rows = Rows(schema, chain.from_iterable(batches for _, batches in chosen))
        return self._with_content(rows) if self.request.content and table == "pages" else rows

    def _with_anchors(
        self,
        schema: pa.Schema,
        chosen: Sequence[tuple[RunFolder, Iterator[pa.Table]]],
        stack: ExitStack,
    ) -> Rows:
        texts = AnchorTexts(self._collection)

        def added() -> Iterator[pa.Table]:
            for run, batches in chosen:
                pages = stored_rows(stack.enter_context(run_table(run, "pages"))).batches
                rows = ({"run": run.stamp, **row} for some in pages for row in some.to_pylist())
                for some, found in texts.read(batches, rows):
                    yield some.append_column("text", pa.array(found, pa.string()))
            self._count(texts.unreadable, texts.first_trouble, "page")

        return Rows(schema.append(pa.field("text", pa.string())), added())

    def _with_content(self, rows: Rows) -> Rows:
        form = self.request.content
        names = (
            [form, "text_language", "published", "duplicate_of"] if form in TEXT_FORMS else [form]
        )
        schema = rows.schema
        for name in names:
            schema = schema.append(pa.field(name, pa.string()))
        contents = Contents(self._collection, form)
        stamp = "" if "run" in rows.schema.names else self.runs[0].stamp

        def added() -> Iterator[pa.Table]:
            named = (_named(some, stamp) if stamp else some for some in rows.batches)
            for some, told in contents.read(named):
                values = [
                    (page.content, page.language or None, page.published or None, near or None)
                    for page, near in told
                ]
                plain = some.drop_columns(["run"]) if stamp else some
                for name, column in zip(names, zip(*values, strict=True), strict=False):
                    plain = plain.append_column(name, pa.array(column, pa.string()))
                yield plain
            self._count(contents.unreadable, contents.first_trouble, "page")

        return Rows(schema, added())

    def _remark_unfinished(self, run: RunFolder) -> None:
        remark = unfinished_remark(run)
        if remark and remark not in self.remarks:
            self.remarks.append(remark)

    def _count(self, unreadable: int, first: str, what: str) -> None:
        if unreadable:
            self.unreadable += unreadable
            counted = plural(unreadable, what)
            self.remarks.append(f"{counted} could not be read; the first: {first}")


def _chosen(
    stamp: str, rows: Rows, schema: pa.Schema, condition: RowCondition
) -> Iterator[pa.Table]:
    for some in rows.batches:
        named = _named(some, stamp) if schema.names[0] == "run" else some
        yield condition.matching(named.select(schema.names))


def _named(rows: pa.Table, stamp: str) -> pa.Table:
    """Add a column with the run."""
    return rows.add_column(0, "run", pa.array([stamp] * len(rows), pa.string()))


_INDEXED = {"pages": ("url", "site"), "links": ("source", "target"), "servers": ("host",)}
_SEARCHED = ("title", "text", "markdown")


def write_sqlite(tables: Mapping[str, Rows], path: Path) -> None:
    """Exports tables as an SQLite database, for Datasette and SQL.

    Write to an empty file. Times are text; lists and maps are JSON. Pages exported with text can
    be searched in ``pages_fts``.
    """
    with writing(path), closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")  # the whole file is made durable at the end
        for name, rows in tables.items():
            _write(database, name, rows)
        database.execute("VACUUM")


def _write(database: sqlite3.Connection, name: str, rows: Rows) -> None:
    columns = ", ".join(f'"{field.name}" {_kind(field.type)}' for field in rows.schema)
    database.execute(f"CREATE TABLE {name} ({columns})")
    marks = ", ".join("?" * len(rows.schema))
    database.execute("BEGIN")
    for some in rows.batches:
        values = zip(*(column.to_pylist() for column in flat_rows(some).columns), strict=True)
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
    for column in _INDEXED.get(name, ()):
        if column in rows.schema.names:
            database.execute(f"CREATE INDEX {name}_{column} ON {name} ({column})")
    searched = [column for column in _SEARCHED if column in rows.schema.names]
    if len(searched) > 1:
        names = ", ".join(searched)
        database.execute(f"CREATE VIRTUAL TABLE {name}_fts USING fts5 ({names}, content={name})")
        database.execute(f"INSERT INTO {name}_fts ({name}_fts) VALUES ('rebuild')")
    database.execute("COMMIT")


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"
