"""``headgate.open``: pages of a collection, newest or all, decoded when they are asked for."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.storage.warc.making import NOON, make_body, make_fetched, make_url

import headgate
from headgate.model.errors import UserMistake
from headgate.model.page import Page
from headgate.storage.collection import Collection
from headgate.storage.journals.spool import SiteSpool
from headgate.storage.stored_page import UnreadablePage

from .crawled import SHARED_BODY, crawl_again, crawl_once, end_run

DAY = 86_400.0
HTML = "<title>Grün</title><p>Äpfel <b>und</b> Birnen<p><a href=b.html>more</a>".encode("latin-1")


def crawl_pages(folder: Path, day: int, *pages: Page) -> None:
    collection = Collection(folder)
    with collection.lock():
        run = collection.new_run(datetime.fromtimestamp(NOON + day * DAY, UTC))
        spool = SiteSpool(run.place("docs"))
        for page in pages:
            outcome = replace(page.outcome, wall_time=NOON + day * DAY)
            spool.put(replace(page, outcome=outcome))
        end_run(run, spool)


def test_a_page_is_decoded(tmp_path: Path) -> None:
    coded = [("Content-Encoding", "gzip")]
    fetched = make_fetched(1, gzip.compress(HTML), coded, "text/html; charset=latin1")
    crawl_pages(tmp_path, 0, Page(replace(fetched, url="http://a.example/d/"), 0, title="Grün"))
    (page,) = headgate.open(tmp_path).pages()
    assert (page.url, page.site, page.title) == ("http://a.example/d/", "docs", "Grün")
    assert page.fetched == datetime.fromtimestamp(NOON, UTC)
    assert page.html.startswith("<title>Grün</title>")
    assert page.text.splitlines() == ["Grün", "Äpfel und Birnen", "more"]
    assert page.links == ("http://a.example/d/b.html",)
    assert page.headers["content-encoding"] == "gzip"
    assert page.body == HTML


def test_the_newest_version_of_each_page_wherever_its_bytes_are(tmp_path: Path) -> None:
    first, second = crawl_once(tmp_path), crawl_again(tmp_path)
    opened = headgate.open(tmp_path)
    assert opened.runs == [second.stamp, first.stamp]
    pages = {page.url: page for page in opened.pages()}
    assert sorted(pages) == sorted(make_url(number) for number in range(9))
    assert pages[make_url(5)].row["status"] == 304
    assert pages[make_url(5)].body == SHARED_BODY
    assert pages[make_url(1)].body == make_body(1)
    assert [page.row["run"] for page in opened.pages(f"url = '{make_url(1)}'")] == [second.stamp]
    everything = list(opened.pages(versions="all"))
    assert len(everything) == 11
    assert len(list(opened.pages(run=first.stamp))) == 9


def test_what_is_gone_hides_what_was_there_and_an_error_does_not(tmp_path: Path) -> None:
    crawl_pages(tmp_path, 0, Page(make_fetched(1), 0), Page(make_fetched(2), 0))
    gone, broken = (
        replace(make_fetched(number), status=status) for number, status in ((1, 404), (2, 500))
    )
    crawl_pages(tmp_path, 1, Page(gone, 0), Page(broken, 0))
    opened = headgate.open(tmp_path)
    assert [page.url for page in opened.pages()] == [make_url(2)]
    assert len(list(opened.pages(versions="all"))) == 2


def test_pages_become_a_table_and_a_data_frame(tmp_path: Path) -> None:
    crawl_once(tmp_path)
    opened = headgate.open(tmp_path)
    assert opened.table("bytes > 3000").num_rows == 2
    frame = opened.dataframe()
    assert len(frame) == 9
    assert {"run", "url", "status", "title", "fetched_at"} <= set(frame.columns)


def test_a_damaged_record_is_told_when_it_is_read(tmp_path: Path) -> None:
    run = crawl_once(tmp_path)
    (file,) = run.warc.iterdir()
    file.write_bytes(file.read_bytes()[:2000])
    pages = list(headgate.open(tmp_path).pages())
    with pytest.raises(UnreadablePage, match=r"docs-00001.warc.gz at \d+ is damaged"):
        [page.body for page in pages]


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="no run in there"):
        headgate.open(tmp_path)
    crawl_once(tmp_path)
    with pytest.raises(UserMistake, match="a condition in SQL"):
        headgate.open(tmp_path).pages("nope = 1")
    with pytest.raises(UserMistake, match="'newest' or 'all'"):
        headgate.open(tmp_path).pages(versions="last")  # type: ignore[arg-type]
