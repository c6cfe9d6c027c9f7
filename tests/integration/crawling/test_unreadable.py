"""What breaks the process that reads large pages is left unread; everything else is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.unit.crawling.answering import Answer, Answers, crawled

from headgate.crawling import reading_process
from headgate.crawling.child_process import Child
from headgate.crawling.progress import Progress, TaskState
from headgate.testing.memory_store import Shelf

LARGE = "." * reading_process._LARGE_BYTES
BREAKS = "<p>breaks the reader" + LARGE
HERE = "http://site.test"
READERS = "tests.integration.crawling."


def dies() -> Child:
    """A reader that dies of some pages."""
    return Child(READERS + "breaking_reader")


def hangs() -> Child:
    """A reader that takes pages and never answers."""
    return Child(READERS + "hanging_reader")


def half_an_answer() -> Child:
    """A reader that dies in the middle of its answer."""
    return Child(READERS + "half_reader", "dies")


def half_and_then_none() -> Child:
    """A reader that stands still in the middle of its answer."""
    return Child(READERS + "half_reader", "stands still")


def missing() -> Child:
    raise BlockingIOError("no process to be had")


@pytest.fixture(autouse=True)
def aside(monkeypatch: pytest.MonkeyPatch) -> Iterator[reading_process._Aside]:
    """A new one, whose children die of some pages."""
    own = reading_process._Aside()
    monkeypatch.setattr(reading_process, "_ASIDE", own)
    monkeypatch.setattr(reading_process, "_started", dies)
    yield own
    own.end_child()


def crawl_of(pages: dict[str, list[Answer]]) -> tuple[Progress, set[str]]:
    web = Answers(pages)
    progress = crawled(web, Shelf())
    return progress, {url.removeprefix(HERE) for url in web.asked}


def test_a_page_is_stored_without_its_links_and_the_crawl_goes_on() -> None:
    progress, asked = crawl_of(
        {
            "/": [(200, "<a href=/bad>x</a><a href=/good>y</a>", 1)],
            "/bad": [(200, BREAKS + "<a href=/hidden>", 1)],
            "/good": [(200, LARGE + "<a href=/more>", 1)],
            "/more": [(200, "z", 1)],
        }
    )
    assert progress.state is TaskState.DONE
    assert progress.pages == 4
    assert asked >= {"/bad", "/more"}
    assert "/hidden" not in asked
    assert progress.left_out["unreadable"].examples == (f"{HERE}/bad",)


@pytest.mark.parametrize("child", [hangs, half_an_answer, half_and_then_none, missing])
def test_whatever_becomes_of_its_process(
    child: Callable[[], Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_process, "_started", child)
    monkeypatch.setattr(reading_process, "_MOST_SECONDS", 0.2)
    progress, _ = crawl_of({"/": [(200, BREAKS + "<a href=/hidden>", 1)]})
    assert progress.state is TaskState.DONE
    assert progress.pages == 1
    assert progress.left_out["unreadable"].count == 1


def test_a_sitemap_is_passed_over() -> None:
    listed = f"<urlset><url><loc>{HERE}/listed</loc></url></urlset>"
    progress, asked = crawl_of({"/": [(200, "x", 1)], "/sitemap.xml": [(200, listed + BREAKS, 1)]})
    assert progress.state is TaskState.DONE
    assert asked == {"/robots.txt", "/", "/sitemap.xml"}


def test_a_robots_file_forbids_everything() -> None:
    """It may do so, for all that is known."""
    progress, asked = crawl_of({"/": [(200, "x", 1)], "/robots.txt": [(200, BREAKS, 1)]})
    assert progress.state is TaskState.DONE
    assert asked == {"/robots.txt"}
    assert progress.given_up == {"site.test": "robots.txt cannot be read"}
