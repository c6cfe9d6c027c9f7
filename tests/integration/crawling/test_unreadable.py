"""What breaks the process that reads large pages is left unread; everything else is read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from tests.unit.crawling.answering import Answer, Answers, crawled

from headgate.crawling import reading_process
from headgate.crawling.progress import Progress, TaskState
from headgate.testing.memory_store import Shelf

LARGE = "." * reading_process._LARGE_BYTES
BREAKS = "<p>breaks the reader" + LARGE
HERE = "http://site.test"
BREAKING = """
import os, pickle
from headgate.crawling import reading_child
receive = reading_child.receive

def breaking(calls):
    call = receive(calls)
    if b"breaks the reader" in pickle.dumps(call):
        os._exit(1)
    return call

reading_child.receive = breaking
reading_child.main()
"""


def dies() -> subprocess.Popen[bytes]:
    """A reader that dies of some pages."""
    words = [sys.executable, "-c", BREAKING, str(os.getpid())]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def hangs() -> subprocess.Popen[bytes]:
    """A reader that takes pages and never answers."""
    words = [sys.executable, "-c", "import sys; sys.stdin.buffer.read()"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def half_an_answer() -> subprocess.Popen[bytes]:
    """A reader that dies in the middle of its answer."""
    words = ["sh", "-c", r"printf '\0\0\0\0\0\0\0\011\200\005'; exec cat >/dev/null"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def missing() -> subprocess.Popen[bytes]:
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


@pytest.mark.parametrize("child", [hangs, half_an_answer, missing])
def test_whatever_becomes_of_its_process(
    child: Callable[[], subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
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
