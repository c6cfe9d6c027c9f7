from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.unit.storage.making import make_url

from headgate.storage.collection import Collection
from headgate.storage.known_pages import KnownPages

from .crawled import STARTED, crawl_again, crawl_once


def test_a_new_collection_knows_nothing(tmp_path: Path) -> None:
    with closing(KnownPages(Collection(tmp_path))) as known:
        assert known.find(make_url(1)) is None
        assert list(known.urls("docs")) == []


def test_pages_come_with_their_depth_and_without_the_rest(tmp_path: Path) -> None:
    """Neither the failure nor robots.txt is a page to come back to."""
    crawl_once(tmp_path)
    with closing(KnownPages(Collection(tmp_path))) as known:
        assert list(known.urls("docs")) == [
            (1, [make_url(number) for number in range(5)]),
            (2, [make_url(number) for number in range(5, 9)]),
        ]
        assert list(known.urls("other")) == []
        found = known.find(make_url(5))
        assert found is not None
        assert found.etag == '"v1"'


def test_the_newest_finished_run_with_the_site_counts(tmp_path: Path) -> None:
    crawl_once(tmp_path)
    crawl_again(tmp_path)
    collection = Collection(tmp_path)
    with collection.lock():
        collection.new_run(STARTED)
        with closing(KnownPages(collection)) as known:
            assert list(known.urls("docs")) == [(0, [make_url(5), make_url(1)])]
            assert known.find(make_url(3)) is not None, "only the first run had it"
