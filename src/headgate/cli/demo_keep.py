"""``headgate demo --keep``: a small web that changes by itself, kept by two policies at once."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.cli.terminal import on_interrupt, show
from headgate.engine.watcher import Watcher
from headgate.model.budget import Budget
from headgate.model.errors import UserMistake
from headgate.model.keeping import Keeping
from headgate.model.site import Site
from headgate.model.units import BytesPerSecond, Seconds, format_rate, format_size

if TYPE_CHECKING:
    from headgate.features.demo.keep import ChangingWeb, Kept
    from headgate.features.demo.web import DemoWeb
    from headgate.features.keep.job import Stoppable

__all__ = ["run_keep_demo"]

POLICIES = ("index", "uniform")
_NAMES = {"index": "headgate keep", "uniform": "all pages alike"}
_FIRST_RATE = BytesPerSecond(600_000.0)
"""Until there is a copy of every page; the same for both policies."""
_RATE = BytesPerSecond(30_000.0)
_LEARNING_SECONDS = 20.0
"""After the first copies, before measuring starts."""
_STEP = 0.25
_INTERVAL = Seconds(0.2)
"""Stands for an hour, the default: a second here stands for five."""
_SEED = 1
_READ_AGAIN = "the site file was read again"
_ABOUT = (
    "Four sites with 120 pages on this machine: 18 pages change every 8 to 30 seconds, most hardly"
    " ever, and 30 of these are large and their server cannot say that they are as they were."
)


def run_keep_demo(out: Path, seconds: float, *, quiet: bool) -> int:
    """Serve, keep with both policies, and compare with the true state of the web."""
    import uvloop

    from headgate.features.demo.keep import compared, keep_demo_page

    if not quiet:
        course = (
            f"Two keepers fetch all of it once. Then each has {format_rate(_RATE)}:"
            f" {_LEARNING_SECONDS:.0f} seconds to learn, and {seconds:.0f} that count."
        )
        sys.stderr.write(f"{textwrap.fill(_ABOUT, 100)}\n{course}\n\n")
    kept = [one for one in uvloop.run(_keep_both(out, seconds, quiet=quiet)) if one is not None]
    if len(kept) < len(POLICIES):
        raise UserMistake("stopped before anything could be measured; let it run for a minute")
    page = out / "demo-keep.html"
    about = f"{_ABOUT} Each keeper has {format_rate(_RATE)}. Measured, not estimated."
    page.write_text(keep_demo_page(kept, about), encoding="utf-8")
    for one in kept:
        show(
            f"{one.name + ':':<17}{one.stale:.1%} of the pages out of date at a time, all pages for"
            f" {one.age:.1f} s on average; {one.looks:,} looks, {format_size(one.wire_bytes)}"
        )
    ours, other = kept
    show(f"Beside looking at all pages alike: {compared(ours, other)}.")
    show(f"Page: {page}")
    return 0


async def _keep_both(out: Path, seconds: float, *, quiet: bool) -> list[Kept | None]:
    keepers: list[Stoppable] = []

    def stop() -> None:
        for keeper in keepers:
            keeper.stop()

    on_interrupt(asyncio.get_running_loop(), stop)
    works = (_keep(policy, out, seconds, _Watch(policy, keepers, quiet)) for policy in POLICIES)
    return list(await asyncio.gather(*works))


async def _keep(policy: str, out: Path, seconds: float, watch: _Watch) -> Kept | None:
    """Results of the measured time; None: it was stopped before."""
    from headgate.engine.real_parts import real_parts
    from headgate.features.demo.keep import ChangingWeb, demo_changing_sites
    from headgate.features.demo.web import DemoWeb
    from headgate.features.keep.job import KeepJob
    from headgate.features.keep.keeper import keep
    from headgate.features.keep.recrawl.policies import keep_policy
    from headgate.site_file.parsing import SiteFile

    loop = asyncio.get_running_loop()
    began = loop.time()
    pages = ChangingWeb(demo_changing_sites(_SEED), lambda: loop.time() - began)
    async with DemoWeb(sites=pages.served()) as web:
        sites = tuple(
            Site(place.name, seeds=(place.seed,), delay=Seconds(0.0),
                 keeping=Keeping(min_interval=_INTERVAL))
            for place in web.places
        )  # fmt: skip

        def reread(_: bool) -> SiteFile | None:
            """The budget shrinks once there is a copy of every page."""
            return SiteFile(Budget(_RATE), sites) if pages.all_fetched() else None

        job = KeepJob(
            sites, Budget(_FIRST_RATE), out / policy, "headgate demo", keep_policy(policy),
            reread=reread,
        )  # fmt: skip
        measuring = asyncio.create_task(_measured(pages, web, seconds))
        measuring.add_done_callback(lambda _: watch.stop())
        await keep(job, real_parts(), watch)
        measuring.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            return _kept(_NAMES[policy], pages, await measuring)
    return None


async def _measured(pages: ChangingWeb, web: DemoWeb, seconds: float) -> list[tuple[float, int]]:
    """Times since the start, with the bytes transferred by then."""
    while not pages.all_fetched():
        await asyncio.sleep(_STEP)
    await asyncio.sleep(_LEARNING_SECONDS)
    first = pages.now()
    samples = [(first, web.moved)]
    while samples[-1][0] < first + seconds:
        await asyncio.sleep(_STEP)
        samples.append((pages.now(), web.moved))
    return samples


def _kept(name: str, pages: ChangingWeb, samples: Sequence[tuple[float, int]]) -> Kept:
    from headgate.features.demo.keep import Kept

    first, moved_before = samples[0]
    score = pages.score(time for time, _ in samples)
    looks = sum(first <= look <= samples[-1][0] for each in pages.looks.values() for look in each)
    return Kept(
        name,
        [time - first for time in score.times],
        fresh=score.fresh,
        ages=score.ages,
        moved=[moved - moved_before for _, moved in samples],
        looks=looks,
    )


@dataclass(frozen=True, slots=True)
class _Watch(Watcher["Stoppable", object]):
    """Prints problems only."""

    policy: str
    keepers: list[Stoppable]
    quiet: bool
    own: list[Stoppable] = field(default_factory=list)
    """At most one."""

    def on_messages(self, words: Sequence[str]) -> None:
        for word in words:
            if not self.quiet and not word.startswith(_READ_AGAIN):
                sys.stderr.write(f"{_NAMES[self.policy]}: {word}\n")

    def stop(self) -> None:
        for keeper in self.own:
            keeper.stop()

    def on_start(self, running: Stoppable) -> None:
        self.keepers.append(running)
        self.own.append(running)
