"""Keepers of made webs, by seeds, in virtual time, against what an independent program finds.

python -m bench.whole_keeps --seed 17           one
python -m bench.whole_keeps --seeds 0-1000      many; those that fail are named

Each seed is a web (`made_web`) of which one site is kept for some days. Meanwhile its pages change
what they link to, and the keeper is stopped and begun anew, in some seeds with other bounds of the
site. All that is linked has to be asked for, nothing else may be, no page again within its least
interval, and a page that may not be asked for must not be chosen for ever.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.made_web import MadeWeb
from bench.reading_loop import ReadingLoop
from bench.spellings import Dice
from bench.whole_closure import Wanted, expected
from bench.whole_crawls import BEGIN, answer, judged, play_all, site_of
from msgspec import structs

from headgate.engine.watcher import Watcher
from headgate.features.keep.job import KeepJob
from headgate.features.keep.keeper import keep
from headgate.features.keep.recrawl.policies import keep_policy
from headgate.features.keep.status import KeepStatus
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.keeping import Keeping
from headgate.model.units import UNLIMITED, Seconds
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock

__all__ = ["play"]

DAY, HOUR = 86_400.0, 3600.0
LIFE = 5
"""Times the promised time: of a keeper, of which a site has two."""
MOST_MOMENTS = 2_000
"""At which anything happens in one: some hundred do, and a loop without an end has one each
second."""
_SHOWN = 6


class _Loop(ReadingLoop):
    """Breaks off where time hardly passes."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.003)
        self.moments = 0

    def jump(self, seconds: float | None) -> None:
        super().jump(seconds)
        self.moments += bool(seconds)
        if self.moments > MOST_MOMENTS:
            raise RuntimeError("the keeper is busy without an end")


@dataclass(slots=True)
class Kept:
    """One seed."""

    seed: int
    folder: Path
    web: MadeWeb = field(init=False)
    promised: float = DAY
    """Seconds in which each page is looked at again."""
    asked: Counter[str] = field(default_factory=Counter)
    may: set[str] = field(default_factory=set)
    soon: set[str] = field(default_factory=set)
    """Asked for again within the least interval."""
    _last: dict[str, float] = field(default_factory=dict)

    def play(self) -> str:
        """What is wrong; empty: nothing."""
        self.web, dice = MadeWeb(self.seed), Dice(self.seed, 2)
        self.promised = dice.one_of((DAY / 2, DAY, 2 * DAY))
        wanted = replace(self.web.sites[0], depth=None)
        trouble = self._live(wanted, BEGIN)
        if not trouble:
            if dice.chance(0.4):
                wanted = replace(wanted, exclude=(*wanted.exclude, "part1|/x$|logo"))
            if dice.chance(0.2):
                wanted = replace(wanted, requisites="none")
            trouble = self._live(wanted, BEGIN + LIFE * self.promised)
        return trouble

    def _live(self, wanted: Wanted, begin: float) -> str:
        """The keeper's, from then on; half of it passes before the web changes."""
        known = set(self.asked)  # what is gone is asked for again after a week only
        self.asked.clear()
        before = expected(wanted, self.web.get, self.may)
        loop = _Loop()
        loop.call_later(LIFE * self.promised / 2, self.web.change)
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(self._keep(wanted, VirtualClock(loop, begin)))
        after = expected(wanted, self.web.get, before.may | self.may)
        self.may |= before.may | after.may
        missing = (before.must | after.must) - self.asked.keys() - known
        strange = {url for url in self.asked if url not in before.may | after.may}
        soon = self.soon - before.repeated - after.repeated - before.files - after.files
        lines: list[str] = []
        for what, which in (("missing", missing), ("in vain", strange), ("too soon", soon)):
            lines += [f"  {what}: {url}" for url in sorted(which)[:_SHOWN]]
        return "\n".join([f"{wanted}", *lines, ""]) if lines else ""

    async def _keep(self, wanted: Wanted, clock: VirtualClock) -> KeepStatus:
        keeping = Keeping(fresh_within=Seconds(self.promised), min_interval=Seconds(HOUR))
        site = structs.replace(site_of(wanted), keeping=keeping)
        job = KeepJob(
            (site,), Budget(UNLIMITED), self.folder, "tests", keep_policy("index"),
            seconds=LIFE * self.promised, tend_seconds=HOUR,
        )  # fmt: skip
        return await keep(job, virtual_parts(clock, self._answer, Line()), Watcher())

    def _answer(self, request: FetchRequest, now: float) -> Answer:
        url = request.url
        self.asked[url] += 1
        if now < self._last.get(url, -HOUR) + HOUR:
            self.soon.add(url)
        self._last[url] = now
        return answer(request, self.web.get(url))


def play(seed: int) -> str:
    """What is wrong with a seed, and how to see it again; empty: nothing."""
    return judged(seed, lambda folder: Kept(seed, folder).play(), "bench.whole_keeps")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seeds", default="0-1000", help="from-to")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    return play_all(play, args.seeds if args.seed is None else args.seed, args.processes)


if __name__ == "__main__":
    sys.exit(main())
