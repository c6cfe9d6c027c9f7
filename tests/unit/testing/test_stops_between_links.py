"""A run that ends while the links of a page are passed on loses none of them."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.crawling.answering import Answer, Answers, crawled

from headgate.crawling import frontier_driver, site_run
from headgate.crawling.frontier_driver import FrontierDriver
from headgate.frontier.events import Event, Found
from headgate.testing.memory_store import Shelf

LINKS = [f"/{name}" for name in "abcdef"]


def test_a_page_whose_links_were_not_all_passed_on_is_fetched_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The task of the fetch goes on once more before it is cancelled."""
    front: Answer = (200, "".join(f"<a href={link}>x</a>" for link in LINKS), 1000)
    pages: dict[str, list[Answer]] = {"/": [front], **{link: [(200, "x", 9)] for link in LINKS}}
    shelf = Shelf()
    with monkeypatch.context() as patched:
        for module in (frontier_driver, site_run):
            patched.setattr(module, "LINKS_AT_ONCE", 2)
        patched.setattr(frontier_driver, "_OTHERS_PART", 0.0)
        pass_on = FrontierDriver.send

        def stopping(driver: FrontierDriver, event: Event) -> None:
            pass_on(driver, event)
            if isinstance(event, Found):
                asyncio.get_running_loop().call_soon(driver._tasks.end, "interrupted")

        patched.setattr(FrontierDriver, "send", stopping)
        assert crawled(Answers(dict(pages)), shelf).reason == "interrupted"
    again = Answers(dict(pages))
    crawled(again, shelf)
    asked = {url.removeprefix("http://site.test") for url in again.asked}
    assert asked >= {"/", *LINKS}
