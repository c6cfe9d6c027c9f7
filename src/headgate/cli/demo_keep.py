"""``headgate demo --keep``: a small web that changes by itself, kept by two policies at once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.cli.interrupts import on_interrupt
from headgate.cli.speaking import show
from headgate.model.budget import Budget
from headgate.model.keeping import Keeping
from headgate.model.site import Site
from headgate.model.units import BytesPerSecond, Seconds, format_rate, format_size

if TYPE_CHECKING:
    from headgate.jobs.keep import Keeper
    from headgate.model.keep_status import KeepStatus
    from headgate.views.keep_demo_page import Kept

__all__ = ["run_keep_demo"]

POLICIES = ("index", "uniform")
_NAMES = {"index": "headgate keep", "uniform": "all pages alike"}
_RATE = BytesPerSecond(40_000.0)
_WARM_SECONDS = 25.0
"""Until all pages were fetched, and some a second time."""
_STEP = 0.25
_INTERVAL = Seconds(1.0)
_SEED = 1


def run_keep_demo(out: Path, seconds: float, *, quiet: bool) -> int:
    """Serve, keep twice, compare by the truth."""
    import uvloop

    from headgate.views.keep_demo_page import keep_demo_page

    if not quiet:
        sys.stderr.write(
            f"Four sites of 24 pages that change by themselves, kept for {seconds:.0f} seconds by"
            f" two policies,\neach with {format_rate(_RATE)} and a copy of the web:\n\n"
        )
    kept = uvloop.run(_keep_both(out, seconds, quiet=quiet))
    about = f"96 pages of four sites, {format_rate(_RATE)} each; measured, not estimated."
    page = out / "demo-keep.html"
    page.write_text(keep_demo_page(kept, about), encoding="utf-8")
    for one in kept:
        fresh, age = (sum(values) / len(values) for values in (one.fresh, one.ages))
        show(
            f"{one.name + ':':<17}{fresh:.1%} of the pages fresh, out of date for {age:.1f} s on"
            f" average; {one.looks:,} looks, {format_size(one.wire_bytes)}"
        )
    show(f"Page: {page}")
    return 0


async def _keep_both(out: Path, seconds: float, *, quiet: bool) -> list[Kept]:
    keepers: list[Keeper] = []

    def stop() -> None:
        for keeper in keepers:
            keeper.stop()

    on_interrupt(asyncio.get_running_loop(), stop)
    works = (_keep(policy, out, seconds, _Watch(policy, keepers, quiet)) for policy in POLICIES)
    return list(await asyncio.gather(*works))


async def _keep(policy: str, out: Path, seconds: float, watch: _Watch) -> Kept:
    """Bytes and looks are of the whole time, freshness and age of what follows the first visits."""
    from headgate.jobs.keep import KeepJob, keep
    from headgate.jobs.real_parts import real_parts
    from headgate.lab.worlds.changing_sites import ChangingPages, changing_sites
    from headgate.lab.worlds.demo_web import DemoWeb
    from headgate.recrawl.keep_policies import keep_policy
    from headgate.views.keep_demo_page import Kept

    loop = asyncio.get_running_loop()
    began = loop.time()
    pages = ChangingPages(_SEED, lambda: loop.time() - began)
    async with DemoWeb(sites=changing_sites(pages)) as web:
        sites = tuple(
            Site(place.name, seeds=(place.seed,), delay=Seconds(0.0),
                 keeping=Keeping(min_interval=_INTERVAL))
            for place in web.places
        )  # fmt: skip
        budget = Budget(_RATE)
        job = KeepJob(
            sites, budget, out / policy, "headgate demo", keep_policy(policy, budget.staleness),
            seconds=_WARM_SECONDS + seconds, tend_seconds=1.0,
        )  # fmt: skip
        status = await keep(job, real_parts(), watch)
        ended = loop.time() - began
    steps = max(int((ended - _WARM_SECONDS) / _STEP), 0)
    score = pages.score([_WARM_SECONDS + _STEP * step for step in range(steps + 1)])
    looks = sum(map(len, pages.looks.values()))
    wire = status.last_day.wire_bytes
    return Kept(_NAMES[policy], score.times, score.fresh, score.ages, wire, looks)


@dataclass(frozen=True, slots=True)
class _Watch:
    """Says nothing but troubles."""

    policy: str
    keepers: list[Keeper]
    quiet: bool

    def told(self, words: Sequence[str]) -> None:
        for word in () if self.quiet else words:
            sys.stderr.write(f"{_NAMES[self.policy]}: {word}\n")

    def state(self, status: KeepStatus) -> None:
        pass

    def attach(self, keeper: Keeper) -> None:
        self.keepers.append(keeper)
