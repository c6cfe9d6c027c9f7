"""What a site run that ends at an awkward moment leaves for the next one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.crawling.answering import RULES, Answers

from headgate.crawling import frontier_driver
from headgate.crawling.page_reader import PageReader
from headgate.crawling.site_run import SiteRun, Tools
from headgate.frontier.events import Command, Event, Found, PageFetched
from headgate.frontier.frontier import Frontier
from headgate.frontier.scope import Scope
from headgate.frontier.url_queue import MemorySpill
from headgate.model.site import Requisites, Site
from headgate.model.task import Task
from headgate.testing.memory_store import MemoryKnown, MemoryStore, Shelf
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually

SITE = "http://site.test"


class Watched(Frontier):
    """Says what it is told, just afterwards."""

    told: Callable[[Event], None] = staticmethod(lambda _: None)

    def handle(self, event: Event, now: float) -> list[Command]:
        commands = super().handle(event, now)
        self.told(event)
        return commands


def crawled(
    web: Answers, shelf: Shelf, site: Site, until: Callable[[Event], bool] = lambda _: False
) -> None:
    """Ends when the frontier was told what ``until`` is true of; where that are links, once whoever
    told it has begun to wait."""

    async def crawl(loop: VirtualLoop) -> None:
        frontier = Watched(Scope.for_site(site), MemorySpill(), RULES)
        with_requisites = site.requisites is not Requisites.NONE
        tools = Tools(
            frontier,
            web,
            store=MemoryStore(shelf),
            known=MemoryKnown(),
            reader=PageReader(with_requisites=with_requisites),
            clock=VirtualClock(loop, 0.0),
        )
        run = SiteRun(Task(site), tools)

        def told(event: Event) -> None:
            if until(event) and isinstance(event, Found):
                loop.call_soon(run.stop, "interrupted")
            elif until(event):
                run.stop("interrupted")

        frontier.told = told
        await run.run()

    run_virtually(crawl)


def test_requisites_of_a_page_are_not_lost_when_the_run_ends_between_two_parts_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frontier_driver, "LINKS_AT_ONCE", 2)
    pictures = "".join(f"<img src=/{number}.png>" for number in range(7))
    web, shelf = Answers({"/": [(200, pictures, 100)]}), Shelf()
    site = Site("site", (f"{SITE}/",), requisites=Requisites.PAGE)
    crawled(web, shelf, site, lambda event: isinstance(event, Found))
    crawled(web, shelf, site)
    assert {f"{SITE}/{number}.png" for number in range(7)} <= set(web.asked)


def test_a_sitemap_of_an_origin_whose_pages_have_all_ended_is_read_after_all() -> None:
    """The user interrupts once it is known where the sitemap is, and its only page was fetched."""
    secure = "https://site.test"
    listed = f"<urlset><url><loc>{secure}/hidden</loc></url></urlset>"
    web = Answers({
        "/": [(200, f"<a href={secure}/only>x</a><a href=/last>y</a>", 100)],
        "/last": [(200, "last", 10)],
        f"{secure}/only": [(200, "only", 10)],
        f"{secure}/sitemap.xml": [(200, listed, 100)],
    })  # fmt: skip
    shelf, site = Shelf(), Site("site", (f"{SITE}/",))

    def only(event: Event) -> bool:
        return isinstance(event, PageFetched) and event.url == f"{secure}/only"

    crawled(web, shelf, site, only)
    assert f"{secure}/sitemap.xml" not in web.asked
    crawled(web, shelf, site)
    assert f"{secure}/hidden" in web.asked
