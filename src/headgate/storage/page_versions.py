"""Versions of pages over several runs: the newest of each, or every look that found it.

A page is present if the answer was 200, or 304 for the version before; 404 and 410 say that it is
gone, and hide earlier versions. Other answers, or none, are ignored. Memory: some 200 bytes per
page of the collection for newest versions, none for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from headgate.storage.collection import RunFolder
from headgate.storage.page_states import GONE, THERE
from headgate.storage.tables.exported_table import Rows, stored_rows
from headgate.storage.tables.row_condition import RowCondition
from headgate.storage.tables.run_tables import run_table

__all__ = ["page_versions"]


def page_versions(runs: Sequence[RunFolder], where: str = "", *, every: bool = False) -> Rows:
    """Rows of ``pages.parquet``, with a first column ``run``.

    ``runs`` are newest first, and so are the rows; ``every`` version, or the newest of each page.
    ``where`` selects among these."""
    from headgate.storage.tables.arrow_tables import PAGES_SCHEMA

    schema = pa.schema([pa.field("run", pa.string()), *PAGES_SCHEMA]).remove_metadata()
    condition = RowCondition(where, schema.names)
    return Rows(schema, _matching(runs, condition, schema, None if every else set()))


def _matching(
    runs: Sequence[RunFolder], condition: RowCondition, schema: pa.Schema, seen: set[int] | None
) -> Iterator[pa.Table]:
    for run in runs:
        with run_table(run, "pages") as path:
            newest = None if seen is None else _newest(path, seen)
            first = 0
            for rows in stored_rows(path).batches:
                wanted = pc.and_(
                    _pages(rows), pc.is_in(rows["status"], pa.array(THERE, pa.int16()))
                )
                if newest is not None:
                    chosen = [first + place in newest for place in range(len(rows))]
                    wanted = pc.and_(wanted, pa.array(chosen, pa.bool_()))
                first += len(rows)
                found = rows.filter(wanted)
                stamps = pa.array([run.stamp] * len(found), pa.string())
                named = found.add_column(0, "run", stamps).select(schema.names).cast(schema)
                yield condition.matching(named)


def _newest(path: Path, seen: set[int]) -> set[int]:
    """Numbers of rows with the newest look at each page not yet in ``seen``; adds those pages to
    it."""
    looks: dict[int, tuple[object, int]] = {}
    number = 0
    for rows in stored_rows(path).batches:
        told = pc.is_in(rows["status"], pa.array(THERE + GONE, pa.int16()))
        wanted = pc.and_(_pages(rows), told).to_pylist()
        values = (rows[name].to_pylist() for name in ("site", "url", "fetched_at"))
        for tells, site, url, at in zip(wanted, *values, strict=True):
            if tells and at is not None:
                page = xxhash.xxh3_128_intdigest(f"{site}\n{url}".encode())
                if page not in seen:
                    looks[page] = max(looks.get(page, (at, -1)), (at, number))
            number += 1
    seen.update(looks)
    return {number for _, number in looks.values()}


def _pages(rows: pa.Table) -> pa.ChunkedArray:
    return pc.equal(rows["role"], "page")
