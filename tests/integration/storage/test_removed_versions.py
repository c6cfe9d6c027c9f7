"""Removing old versions spares what a site's memory refers to, though tables have newer looks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.integration.storage.test_volume import DAY, new, old, visit
from tests.unit.storage.making import NOON, make_url

from headgate.storage.collection import Collection
from headgate.storage.memory.known_pages import KnownPages
from headgate.storage.memory.summary import VisitCounts
from headgate.storage.retention.removing import apply_retention
from headgate.storage.sealing import seal_volume
from headgate.storage.tables.arrow_tables import read_captures

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
