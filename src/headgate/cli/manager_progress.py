"""Watches a manager: progress as of a crawl, and nodes that connect and leave."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from headgate.cli.crawl_progress import CrawlWatch, progress_view
from headgate.cli.terminal import OpeningWords, on_interrupt, say
from headgate.engine.budget import is_unlimited
from headgate.engine.clock import SystemClock
from headgate.engine.real_parts import real_parts
from headgate.features.grid.coordinator.catalog import only_manager, opened_grid_catalog
from headgate.features.grid.coordinator.coordinator import ManagerJob, ManagerParts, manage
from headgate.features.grid.coordinator.endpoint import DoorPlace, check_place, opened_door
from headgate.features.grid.protocol import TaskDesk
from headgate.frontier.retries import Backoff
from headgate.model.errors import WorldFault
from headgate.model.run_report import RunReport
from headgate.storage.collection import Collection
from headgate.storage.runs import read_report

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from contextlib import AbstractAsyncContextManager

    from headgate.crawling.ports import Clock
    from headgate.features.grid.coordinator.nodes import DoorKeeper

__all__ = ["grid_parts", "manage_watched", "managed"]

_FIRST_WAIT_SECONDS, _MOST_WAIT_SECONDS = 1.0, 60.0
_WELL_SECONDS = 60.0
"""After a manager of this length a fault is the first again."""

Ended = TypeVar("Ended")


class ManagerWatch(CrawlWatch):
    """For a person at a terminal."""

    goes_on = False

    def on_finish(self, report: RunReport) -> None:
        self.close()
        if self.goes_on and not report.interrupted:
            say("the run is over; nodes are answered until you end this (Ctrl-C)")


async def managed(
    catalog: str,
    once: Callable[[bool], Awaitable[Ended]],
    may_go_on: Callable[[], bool] = lambda: True,
    clock: Clock | None = None,
) -> Ended:
    """Run ``once`` as the only manager of its catalog; it is told whether another manager had to
    end before. If a catalog in PostgreSQL fails, wait for it and run again: nodes go on meanwhile.
    One in the collection fails with its disk, which does not come back by waiting."""
    clock = clock or SystemClock()
    backoff = Backoff(_FIRST_WAIT_SECONDS, _MOST_WAIT_SECONDS)
    while True:
        began = clock.now()
        try:
            async with only_manager(catalog, say) as waited:
                began = clock.now()
                return await once(waited)
        except WorldFault as fault:
            if not (catalog and may_go_on()):
                raise
            if clock.now() - began >= _WELL_SECONDS:
                backoff.reset()
            wait = backoff.failed()
            say(f"{fault}; trying again in {wait:g} s")
        await asyncio.sleep(wait)


async def manage_watched(
    job: ManagerJob, place: DoorPlace, catalog: str, *, quiet: bool
) -> RunReport:
    async def once(waited: bool) -> RunReport:
        done = _last_report(job.out) if waited else None
        if done is not None:
            say("the other manager has finished the run")
            return done
        parts = await grid_parts(place, job.out, catalog, took_over=waited)
        return await _manage_once(job, parts, quiet=quiet)

    try:
        return await managed(catalog, once)
    except asyncio.CancelledError:  # interrupted before any node connected
        raise KeyboardInterrupt from None


def _last_report(out: Path) -> RunReport | None:
    """The report of the last run, if it is finished."""
    runs = Collection(out).runs() if out.is_dir() else []
    if not runs or runs[0].unfinished:
        return None
    return read_report(runs[0].path / "report.json", RunReport)


async def grid_parts(place: DoorPlace, out: Path, catalog: str, *, took_over: bool) -> ManagerParts:
    """Of the only manager of this catalog, whose place is free."""
    parts = real_parts()
    await check_place(place, parts.clock, took_over=took_over)

    def open_door(
        desk: TaskDesk, revoked: Iterable[str]
    ) -> AbstractAsyncContextManager[DoorKeeper]:
        return opened_door(place, out, desk=desk, revoked=revoked, clock=parts.clock, tell=say)

    own = {"open_catalog": partial(opened_grid_catalog, catalog), "open_door": open_door}
    return ManagerParts(**structs.asdict(parts) | own)


async def _manage_once(job: ManagerJob, parts: ManagerParts, *, quiet: bool) -> RunReport:
    words = OpeningWords(quiet=quiet)
    watch = ManagerWatch(
        job.sites,
        limited=not is_unlimited(job.budget),
        view=None if quiet else progress_view(),
        opening=words,
    )
    watch.goes_on = not job.once
    loop = asyncio.get_running_loop()
    on_interrupt(loop, partial(watch.interrupt, loop))
    try:
        return await manage(job, parts, watch)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
        watch.close()
