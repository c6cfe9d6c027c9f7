"""Every byte of a site on the line is counted once: retries, robots.txt and earlier legs."""

from __future__ import annotations

import pytest
from tests.unit.crawling.answering import Answer, Answers, crawled

from headgate.crawling.progress import TaskState
from headgate.testing.memory_store import Shelf


def test_tries_that_failed_count_beside_the_one_that_did_not() -> None:
    web = Answers(
        {
            "/robots.txt": [70, (500, "", 80), (404, "", 90)],
            "/": [400, (500, "", 300), (200, "<a href=/a>", 1000)],
            "/a": [(200, "a", 200)],
        }
    )
    progress = crawled(web, Shelf())
    assert progress.state is TaskState.DONE
    assert progress.pages == 2
    assert len(web.asked) == 7 + 1, "and a sitemap, which is not there"
    assert progress.wire_bytes == web.came == 2150


@pytest.mark.parametrize("again", [(200, "<a href=/a>", 1000), 500])
def test_a_page_that_broke_off_counts_beside_its_second_try(again: Answer) -> None:
    broken: Answer = (200, "<a href=/a>", 400, "disconnect")
    web = Answers({"/": [broken, again], "/a": [(200, "a", 200)]})
    progress = crawled(web, Shelf())
    assert progress.pages == 2
    assert web.asked.count("http://site.test/") == 2
    assert progress.wire_bytes == web.came


def test_a_resumed_site_knows_what_it_had_moved_and_asks_for_nothing_twice() -> None:
    shelf = Shelf()
    front: list[Answer] = [(200, "<a href=/a><a href=/b>", 1000)]
    pages: dict[str, list[Answer]] = {"/": front, "/a": [(200, "a", 200)], "/b": [(200, "b", 300)]}
    first = crawled(Answers(dict(pages)), shelf, max_bytes=1000)
    assert first.state is TaskState.STOPPED
    web = Answers(dict(pages))
    again = crawled(web, shelf)
    assert again.earlier_wire_bytes == first.wire_bytes
    assert again.wire_bytes == first.wire_bytes + web.came
    assert again.pages == 3
    assert "http://site.test/" not in web.asked


def test_tries_at_robots_txt_count_also_when_an_interrupt_cuts_off_the_last() -> None:
    web = Answers({"/robots.txt": [70, (500, "", 80), None]}, cut_off=30)
    progress = crawled(web, Shelf())
    assert progress.reason == "interrupted"
    assert progress.wire_bytes == web.came + web.cut_off == 180


def test_a_sitemap_that_an_interrupt_cut_off_is_asked_for_again() -> None:
    """Nothing else is left to do by then that would lead to it."""
    shelf = Shelf()
    front: Answer = (200, "the only page that a link leads to", 1000)
    crawled(Answers({"/": [front], "/sitemap.xml": [None]}), shelf)
    sitemap = "<urlset><url><loc>http://site.test/listed</loc></url></urlset>"
    web = Answers({"/sitemap.xml": [(200, sitemap, 300)], "/listed": [(200, "listed", 200)]})
    progress = crawled(web, shelf)
    assert progress.state is TaskState.DONE
    assert progress.pages == 2
    assert "http://site.test/" not in web.asked
