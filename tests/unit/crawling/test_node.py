"""A node whose runs end badly."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, cast

import pytest
from tests.unit.crawling.answering import Answers

from headgate.crawling.node import Node
from headgate.crawling.progress import Progress
from headgate.crawling.site_run import SiteRun
from headgate.model.errors import WorldFault
from headgate.model.site import Site
from headgate.model.task import Task


class FullDisk:
    """Stands for a site run."""

    max_rate = 1e9

    def rate_changed(self) -> None: ...

    async def run(self) -> Progress:
        await asyncio.sleep(0)
        raise WorldFault("no space")


class Endless:
    """Stands for a site run that does not end by itself."""

    max_rate = 50e3

    def rate_changed(self) -> None: ...

    async def run(self) -> Progress:
        await asyncio.sleep(3600)
        raise AssertionError

    def stop(self, _: str) -> None: ...


def test_a_site_with_a_rate_may_have_what_nobody_wants_up_to_the_users_bound() -> None:
    """One that is parked may not: others have its crawler."""
    given: dict[str, tuple[float | None, ...]] = {}

    class Rates(Answers):
        def set_site(self, site: str, *rates: float | None) -> None:
            given[site] = rates

    async def crawl() -> None:
        node = Node(lambda *_: cast(SiteRun, Endless()), Rates({}))
        for name in ("runs", "parked"):
            node.start(Task(Site(name)))
        node.set_rates({"runs": 10e3, "parked": 0.0})

    asyncio.run(crawl())
    assert given["runs"] == pytest.approx((10e3, 11e3, 50e3))
    assert given["parked"] == (0.0, 0.0, None)


def test_a_fault_that_several_runs_meet_is_told_once() -> None:
    """The event loop would print the others, with their tracebacks, when they are forgotten."""
    unheard: list[dict[str, Any]] = []

    async def crawl() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: unheard.append(told))
        node = Node(lambda *_: cast(SiteRun, FullDisk()), Answers({}))
        for name in ("a", "b"):
            node.start(Task(Site(name)))
        node.set_rates({"a": 1.0, "b": 1.0})
        with pytest.raises(WorldFault, match="no space"):
            await node.wait(5.0)
        await node.close("interrupted")

    asyncio.run(crawl())
    gc.collect()
    assert not unheard
