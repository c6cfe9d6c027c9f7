"""Crawls called, awaited and streamed from Python, with callbacks that behave and that do not."""

from __future__ import annotations

import ast
import asyncio
import re
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.acceptance.small_web import SmallWeb, serving
from tests.machine import wait_until

import headgate
from headgate.model.errors import UserMistake
from headgate.storage.stored_page import StoredPage

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = re.findall(
    r"^```python\n((?!>>>)(?:.*\n)*?)```", (DOCS / "python.md").read_text(), re.MULTILINE
)


def test_the_examples_of_the_docs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    assert len(EXAMPLES) == 7

    async def run(code: str) -> None:
        compiled = compile(code, "python.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        awaited = eval(compiled, names)
        if awaited is not None:
            await awaited

    with serving(SmallWeb(pages=12)) as web:
        Path("sites.toml").write_text(f'[site.docs]\nseeds = ["{web.seed}"]\nmax_pages = 5\n')
        for example in EXAMPLES:
            asyncio.run(run(example.replace("https://docs.example.org/", web.seed)))
    assert {path.name for path in tmp_path.iterdir()} == {
        "headgate-data", "other-data", "streamed", "followed", "by-file", "sites.toml"
    }  # fmt: skip


def test_pages_are_streamed_as_they_are_stored(tmp_path: Path) -> None:
    async def streamed() -> list[StoredPage]:
        return [page async for page in headgate.stream(web.seed, "unlimited", tmp_path)]

    with serving(SmallWeb(pages=30)) as web:
        pages = asyncio.run(streamed())
    assert {page.url for page in pages} == web.urls
    assert len(pages) == 30
    assert all(page.title.startswith("Page ") and page.html for page in pages)


def test_leaving_the_stream_ends_the_crawl_in_order(tmp_path: Path) -> None:
    async def first() -> str:
        pages = headgate.stream(web.seed, "unlimited", tmp_path)
        async for page in pages:
            await pages.aclose()
            return page.url
        raise AssertionError

    with serving(SmallWeb(pages=200)) as web:
        assert asyncio.run(first()) in web.urls
        report = headgate.crawl(web.seed, "unlimited", tmp_path, resume=True)
        assert report.pages == 200
        assert max(web.asked[url] for url in web.asked if url != "/robots.txt") <= 2


def test_a_cancelled_crawl_can_be_resumed(tmp_path: Path) -> None:
    async def cancelled() -> None:
        crawling = asyncio.ensure_future(headgate.crawl_async(web.seed, "unlimited", tmp_path))
        while len(web.served) < 5:
            await asyncio.sleep(0.01)
        crawling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await crawling

    with serving(SmallWeb(pages=60, held_after=20)) as web:
        asyncio.run(cancelled())
        web.held_after = None
        assert headgate.crawl(web.seed, "unlimited", tmp_path, resume=True).pages == 60


def test_links_are_chosen_by_the_user(tmp_path: Path) -> None:
    asked: list[str] = []

    def follow(url: str, links: Sequence[str]) -> list[str]:
        asked.append(url)
        return [*(link for link in links if link.endswith(("/1.html", "/3.html"))), "http://x/"]

    with serving(SmallWeb(pages=30)) as web:
        report = headgate.crawl(web.seed, "unlimited", tmp_path, follow=follow)
    assert report.pages == 3
    assert sorted(url.rpartition("/")[2] for url in asked) == ["0.html", "1.html", "3.html"]


def test_a_callback_that_raises_ends_the_crawl_and_is_told(tmp_path: Path) -> None:
    def raises(page: StoredPage) -> None:
        raise LookupError(page.url)

    with serving(SmallWeb(pages=60, held_after=20)) as web:
        with pytest.raises(LookupError, match=r"0\.html"):
            headgate.crawl(web.seed, "unlimited", tmp_path, on_page=raises)
        web.held_after = None
        assert headgate.crawl(web.seed, "unlimited", tmp_path, resume=True).pages == 60


def test_a_chooser_that_raises_loses_no_link(tmp_path: Path) -> None:
    def raises(url: str, links: Sequence[str]) -> Sequence[str]:
        raise LookupError(url, links)

    with serving(SmallWeb(pages=10)) as web:
        with pytest.raises(LookupError):
            headgate.crawl(web.seed, "unlimited", tmp_path, follow=raises)
        assert headgate.crawl(web.seed, "unlimited", tmp_path, resume=True).pages == 10


def test_a_callback_that_blocks_holds_up_nothing(tmp_path: Path) -> None:
    go_on = threading.Event()
    told: list[str] = []

    def blocks(page: StoredPage) -> None:
        told.append(page.url)
        go_on.wait(60)

    with serving(SmallWeb(pages=30)) as web:
        crawling = threading.Thread(
            target=lambda: headgate.crawl(web.seed, "unlimited", tmp_path, on_page=blocks)
        )
        crawling.start()
        try:
            wait_until(lambda: list(tmp_path.glob("runs/*/report.json")), 30)
            assert len(told) == 1
        finally:
            go_on.set()
            crawling.join(60)
    assert len(told) == 30


def test_a_chooser_that_blocks_holds_up_its_own_site_alone(tmp_path: Path) -> None:
    """The threads of all else were taken by it, and every site stood still."""
    go_on, asked = threading.Event(), []
    with ExitStack() as webs:
        blocked = [webs.enter_context(serving(SmallWeb(pages=3))) for _ in range(9)]
        free = webs.enter_context(serving(SmallWeb(pages=20, held_after=1)))

        def choose(url: str, links: Sequence[str]) -> Sequence[str]:
            if f":{free.port}/" not in url:
                asked.append(url)
                go_on.wait(60)
            return links

        def crawl() -> None:
            budget = headgate.Budget("1 GB/s", crawlers=10)  # type: ignore[arg-type]
            headgate.crawl([web.seed for web in (*blocked, free)], budget, tmp_path, follow=choose)

        crawling = threading.Thread(target=crawl)
        crawling.start()
        try:
            wait_until(lambda: len(asked) == 9)
            free.held_after = None
            wait_until(lambda: set(free.asked) >= {f"/{k}.html" for k in range(20)})
        finally:
            go_on.set()
            crawling.join(60)
    assert all(len(web.asked) == 4 for web in blocked), "and then they went on"


def test_in_a_running_loop_a_plain_call_works(tmp_path: Path) -> None:
    async def in_a_notebook() -> int:
        return headgate.crawl(web.seed, "unlimited", tmp_path).pages

    with serving(SmallWeb(pages=5)) as web:
        assert asyncio.run(in_a_notebook()) == 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: headgate.crawl("http://a/", "1 Mb/s"), "may mean bits or bytes"),
        (lambda: headgate.crawl("a b", "1 MB/s"), "is not a URL"),
        (lambda: headgate.crawl("http://a/", "1 MB/s", folow=print), "no option 'folow'"),  # type: ignore[call-arg]
        (
            lambda: headgate.crawl("http://a/", "1 MB/s", processes=2, on_page=print),
            "need the crawl in one process",
        ),
    ],
)
def test_what_cannot_be_is_told_at_once(call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises(UserMistake, match=re.escape(words)):
        call()
