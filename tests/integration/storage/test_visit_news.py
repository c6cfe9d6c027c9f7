"""What is told of a visit: each page once when it is new, and nothing of the first visit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from tests.integration.storage.crawled import STARTED
from tests.integration.storage.test_volume import new, old, run, visit
from tests.unit.storage.warc.making import make_url

from headgate.features.keep.link_exchange import give, put_given
from headgate.features.keep.notice_log import take_news
from headgate.model.page import Change
from headgate.storage.collection import Collection, RunFolder

__all__ = ["run"]  # a fixture


def told(
    run: RunFolder, number: int, bodies: Mapping[int, bytes | None], asks: Iterable[int] = ()
) -> list[tuple[Change, str]]:
    """What is told of a visit that does not come to all that it finds."""
    visit(run, number, bodies, asks=asks, finished=False, on_change="true")
    return [(notice.change.change, notice.change.url) for notice in take_news(run.collection)]


def next_volume(run: RunFolder) -> RunFolder:
    collection = Collection(run.collection)
    with collection.lock():
        return collection.new_run(STARTED + timedelta(days=1))


def test_a_page_is_new_with_its_first_content_however_long_it_is_known(run: RunFolder) -> None:
    told(run, 1, {0: old(0)})
    run = next_volume(run)
    assert told(run, 2, {1: old(1), 2: None}, asks=[3]) == [(Change.NEW, make_url(1))]
    found = told(run, 3, {1: old(1), 2: old(2), 3: old(3)})
    assert found == [(Change.NEW, make_url(2)), (Change.NEW, make_url(3))]
    assert told(run, 4, {1: old(1), 2: new(2), 3: None}) == [(Change.CHANGED, make_url(2))]
    assert told(run, 5, {2: new(2), 3: old(3)}) == []


def test_the_rest_of_a_first_visit_is_not_new(run: RunFolder) -> None:
    assert told(run, 1, {0: old(0), 1: None}, asks=[1, 2, 3]) == []
    assert told(run, 2, {1: old(1), 2: old(2)}) == []
    assert told(next_volume(run), 3, {0: old(0), 2: old(2), 3: old(3)}) == []


def test_a_page_that_another_site_links_to_is_new(run: RunFolder) -> None:
    told(run, 1, {0: old(0)})
    collection = Collection(run.collection)
    give(collection, "docs", [make_url(7)])
    assert put_given(collection, "docs", STARTED.timestamp() + 3600.0) == 1
    assert told(run, 2, {7: old(7)}) == [(Change.NEW, make_url(7))]
    assert told(run, 3, {7: old(7)}) == []
