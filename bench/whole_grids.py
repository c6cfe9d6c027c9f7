"""Made webs whose sites nodes of a grid share, by seeds, against what an independent program finds.

In virtual time.

python -m bench.whole_grids --seed 17           one
python -m bench.whole_grids --seeds 0-1000      many; those that fail are named

Each seed is a web (`made_web`), of which two nodes crawl all sites, most of them split into parts
after a few pages already. In some seeds a node vanishes for good and another comes.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

from bench.made_web import MadeWeb
from bench.reading_loop import ReadingLoop
from bench.shared_world import LinkedWeb, SharedWorld
from bench.spellings import Dice
from bench.whole_closure import Wanted, expected
from bench.whole_crawls import BEGIN, answer, judged, play_all, site_of
from msgspec import structs

from headgate.features.grid.scheduler import site_splitting
from headgate.model.fetch import FetchRequest
from headgate.testing.simulated_web import Answer
from headgate.testing.virtual_time import VirtualClock, VirtualLoop

__all__ = ["play"]

FEW_URLS = 3
"""Waiting URLs that make one more node worth while."""
MOST_SECONDS = 3600.0
_SHOWN = 6


@dataclass(slots=True)
class _SharedWeb(LinkedWeb):
    """A made web, with what it was asked for."""

    web: MadeWeb = field(default_factory=lambda: MadeWeb(0))
    by_site: dict[str, Counter[str]] = field(default_factory=dict)

    def answer(self, node: str, request: FetchRequest, now: float) -> Answer:  # noqa: ARG002
        site = request.site.partition(" (part ")[0]
        self.by_site.setdefault(site, Counter())[request.url] += 1
        return answer(request, self.web.get(request.url))


@dataclass(slots=True)
class Shared:
    """One seed."""

    seed: int
    folder: Path

    def play(self) -> str:
        """What is wrong; empty: nothing."""
        made, dice = MadeWeb(self.seed), Dice(self.seed, 3)
        wanted = made.sites
        are_shared = dice.chance(0.7)
        if are_shared:  # only sites of which no node needs to see the whole
            wanted = [replace(site, depth=None, requisites="none", focus="") for site in wanted]
        web = _SharedWeb({}, web=made)
        loop = ReadingLoop(lambda: 0.003)
        vanishes = dice.seconds(5.0) if dice.chance(0.3) else None
        with (
            patch.object(site_splitting, "_URLS_A_NODE", FEW_URLS),
            asyncio.Runner(loop_factory=lambda: loop) as runner,
        ):
            runner.run(self._crawl(loop, web, wanted, vanishes))
        once = are_shared and vanishes is None  # a whole site may be given to an idle node, too
        return "".join(_compared(site, web, once=once) for site in wanted)

    async def _crawl(
        self, loop: VirtualLoop, web: LinkedWeb, wanted: list[Wanted], vanishes: float | None
    ) -> None:
        sites = tuple(structs.replace(site_of(site), nodes_at_once=2) for site in wanted)
        world = SharedWorld(self.folder, VirtualClock(loop, BEGIN), web, sites)
        try:
            async with asyncio.timeout(MOST_SECONDS):
                manager = world.start_manager()
                world.start_node("anna")
                world.start_node("ben")
                if vanishes is not None:
                    await asyncio.wait({manager}, timeout=vanishes)
                    await world.kill("ben")
                    world.start_node("carl")
                await manager
        finally:
            await world.close()


def _compared(wanted: Wanted, web: _SharedWeb, *, once: bool) -> str:
    should, asked = expected(wanted, web.web.get), web.by_site.get(wanted.name, Counter())
    again = set[str]()
    if once:
        again = {url for url, times in asked.items() if times > 1} - should.repeated - should.files
    lines: list[str] = []
    missing, strange = should.must - asked.keys(), asked.keys() - should.may
    for what, which in (("missing", missing), ("in vain", strange), ("again", again)):
        lines += [f"  {what}: {url}" for url in sorted(which)[:_SHOWN]]
    return "\n".join([f"{wanted}", *lines, ""]) if lines else ""


def play(seed: int) -> str:
    """What is wrong with a seed, and how to see it again; empty: nothing."""
    return judged(seed, lambda folder: Shared(seed, folder).play(), "bench.whole_grids")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seeds", default="0-1000", help="from-to")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    return play_all(play, args.seeds if args.seed is None else args.seed, args.processes)


if __name__ == "__main__":
    sys.exit(main())
