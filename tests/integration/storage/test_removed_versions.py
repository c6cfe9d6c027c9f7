"""Removing old versions spares what a site's memory refers to, though tables have newer looks."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.integration.storage.test_volume import DAY, new, old, visit
from tests.unit.storage.warc.making import NOON, make_url

from headgate.model.keeping import KeepVersions
from headgate.reading.digests import content_digest
from headgate.storage import retention
from headgate.storage.collection import Collection
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.memory.site import VisitCounts
from headgate.storage.page import PageRow
from headgate.storage.retention import apply_retention
from headgate.storage.sealing import seal_volume
from headgate.storage.tables.arrow_tables import page_groups, read_captures

PAGES = range(10)
SORRY = b"<p>Sorry, we are down for an hour"


def sealed_visit(
    collection: Collection, number: int, bodies: Mapping[int, bytes | None], day: int
) -> VisitCounts:
    """A volume with one visit."""
    run = collection.new_run(datetime.fromtimestamp(NOON + day * DAY, UTC))
    found = visit(run, number, bodies, day=day)
    seal_volume(run)
    run.finish()
    return found


def rule(collection: Collection, newest: int) -> None:
    (collection.path / "retention.json").write_text(json.dumps({"docs": {"newest": newest}}))


def remembered(collection: Collection) -> dict[int, bytes]:
    """The payloads that the memory refers to."""
    known = KnownPages(collection, "docs")
    found = {}
    for page in PAGES:
        earlier = known.find(make_url(page))
        stored = earlier and known.stored(make_url(page), earlier)
        if stored:
            found[page] = stored.payload
    known.close()
    return found


def days_left(collection: Collection) -> set[int]:
    """Days of the looks that the tables have."""
    tables = (run.path / "pages.parquet" for run in collection.runs())
    return {int((one.at - NOON) // DAY) for table in tables for one in read_captures(table)}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    collection = Collection(tmp_path)
    with collection.lock():
        return collection


def test_what_stood_before_a_doubted_visit_stays(collection: Collection) -> None:
    """The next visit asks whether that changed, and may be told that it did not."""
    before = {page: old(page) for page in PAGES}
    sealed_visit(collection, 1, {page: new(page) for page in PAGES}, 1)
    sealed_visit(collection, 2, before, 2)
    assert sealed_visit(collection, 3, dict.fromkeys(PAGES, SORRY), 3).doubted
    rule(collection, 1)
    assert apply_retention(collection, NOON + 4 * DAY).captures == len(PAGES)
    assert remembered(collection) == before
    assert days_left(collection) == {2, 3}
    assert not apply_retention(collection, NOON + 4 * DAY).captures


@pytest.mark.parametrize(("newest", "left"), [(1, {4, 100}), (2, {3, 4, 100})])
def test_a_look_in_the_future_makes_no_other_one_old(
    collection: Collection, newest: int, left: set[int]
) -> None:
    """The clock was wrong, and was set back."""
    for number, day in enumerate((1, 2, 100, 3, 4), 1):
        found = {page: old(100 * day + page) for page in PAGES}
        sealed_visit(collection, number, found, day)
    rule(collection, newest)
    apply_retention(collection, NOON + 5 * DAY)
    assert days_left(collection) == left
    assert remembered(collection) == found


def test_everything_stays_of_a_site_whose_memory_is_damaged(collection: Collection) -> None:
    sealed_visit(collection, 1, {0: old(0)}, 1)
    sealed_visit(collection, 2, {0: new(0)}, 2)
    collection.memory("docs").write_bytes(b"damaged")
    rule(collection, 1)
    assert not apply_retention(collection, NOON + 3 * DAY).captures
    assert days_left(collection) == {1, 2}


def test_memory_does_not_grow_with_the_number_of_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = {"docs": KeepVersions(newest=1)}  # reading them from a file makes room for 100 MB
    monkeypatch.setattr(retention, "load_retention", lambda _: rules)
    few, many = (_peak(Collection(tmp_path / str(volumes)), volumes) for volumes in (2, 12))
    assert many < 1.5 * few


def _peak(collection: Collection, volumes: int) -> int:
    """Bytes of Python's objects, where a few pages never change."""
    with collection.lock():
        sealed_visit(collection, 1, {page: old(page) for page in PAGES}, 0)
    rows = [_row(page) for page in PAGES]
    for day in range(1, volumes + 1):
        at = NOON + day * DAY
        run = collection.new_run(datetime.fromtimestamp(at, UTC))
        with page_groups(run.path / "pages.parquet") as write:
            write([
                ("docs", replace(rows[look % 10], fetched_at=at + look, warc_offset=look))
                for look in range(4000)
            ])  # fmt: skip
        run.finish()
    tracemalloc.start()
    try:
        assert not apply_retention(collection, NOON + (volumes + 1) * DAY).captures
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _row(page: int) -> PageRow:
    body = old(page)
    return PageRow(
        make_url(page),
        "page",
        status=200,
        content_type="text/html",
        depth=1,
        payload_bytes=len(body),
        wire_bytes=len(body),
        first_byte_seconds=0.1,
        seconds=0.1,
        fetched_at=0.0,
        digest=content_digest(body),
        warc_file="docs~1-00001.warc.gz",
    )
