"""A visit that a node brings when it is no longer expected: what it found is passed on all the
same."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace
from tests.integration.storage.test_volume import DAY, new, old, run, visit
from tests.unit.storage.warc.making import NOON, make_fetched, make_url

from headgate.control.catalog import Visit
from headgate.engine.clock import SystemClock
from headgate.features.grid.coordinator.keep import _KeepByNodes
from headgate.features.keep.link_exchange import take_links
from headgate.features.keep.notices import ChangeNotices
from headgate.features.keep.volumes import prepare_staging
from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.keeping import Keeping
from headgate.model.page import Links, Page
from headgate.model.site import Site
from headgate.reading.digests import content_digest
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Owner
from headgate.storage.journals.spool import SiteSpool

__all__ = ["run"]  # a fixture

ELSEWHERE = "http://other.example/"


def bring(run: RunFolder, number: int) -> Owner:
    """A visit that waits to be moved: page 0 has changed, and has a link to another site."""
    spool = SiteSpool(prepare_staging(run.collection).place("docs", visit=number))
    fetched = replace(make_fetched(0, new(0)), wall_time=NOON + number * DAY)
    entry = JournalEntry(UrlOutcome.PAGE, make_url(0), depth=1, digest=content_digest(new(0)))
    spool.put(Page(fetched, 1, links=Links([ELSEWHERE], [""])), entry)
    spool.finish()
    spool.commit()
    spool.close()
    return Owner("docs", number)


def test_its_changes_and_links_are_passed_on(run: RunFolder) -> None:
    site = Site("docs", (make_url(0),), keeping=Keeping(on_change="http://127.0.0.1:1/"))
    visit(run, 1, {0: old(0)})
    owner = bring(run, 2)
    recorded: list[Visit] = []
    desk = SimpleNamespace(sites={"docs": site}, refresh=lambda *_: None)
    volumes = SimpleNamespace(enter=lambda: run, leave=lambda _: None)

    async def play() -> None:
        async with ChangeNotices(run.collection, SystemClock(), "Headgate/test", [site]) as notices:
            keeping: Any = SimpleNamespace(
                collection=Collection(run.collection),
                catalog=SimpleNamespace(record_visits=recorded.extend),
                keeper=SimpleNamespace(planner=desk, volumes=volumes),
                parts=SimpleNamespace(clock=SystemClock()),
                notices=notices,
            )
            for _ in range(2):
                await _KeepByNodes._take_in_stray(keeping, owner)
                assert notices.counts.waiting == 1

    asyncio.run(play())
    assert [(visit.visit, visit.changed) for visit in recorded] == [(2, 1)]
    assert [found.urls for found in take_links(run.collection)] == [(ELSEWHERE,)]
