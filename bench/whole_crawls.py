"""Whole crawls of made webs, by seeds, in virtual time, against what an independent program finds.

python -m bench.whole_crawls --seed 17          one, with what it asked for too much and too little
python -m bench.whole_crawls --seeds 0-20000    many; those that fail are named
python -m bench.whole_crawls --planted          how soon faults planted into the product are found

Each seed is a web (`made_web`), and a way of crawling it: in one process or several, in one leg or
interrupted or killed and resumed, once or again with what was remembered. The job is the very one
of `headgate crawl`; what it asked for is compared with `whole_closure`.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from unittest.mock import patch

from bench.made_web import MadeWeb
from bench.planted_faults import LANDED, MISSED, OTHERS, Fault, planted
from bench.reading_loop import PassingReader, ReadingLoop
from bench.spellings import Dice
from bench.whole_closure import Reply, Wanted, expected, normal, raw
from msgspec.structs import replace
from tests.simulation.mortal_workers import MortalWorkers

from headgate.control.control_loop import ControlLoop
from headgate.crawling import frontier_driver, site_run
from headgate.crawling.ports import MeasuredFleet
from headgate.engine.fetcher_settings import fetcher_settings
from headgate.engine.node import NodeJob, NodeParts, open_node
from headgate.engine.parts import OpenFleet
from headgate.features.crawl.job import CrawlJob, CrawlWatcher, crawl
from headgate.frontier import url_filter
from headgate.model.budget import Budget
from headgate.model.fetch import FetchRequest
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, Seconds
from headgate.reading import urls
from headgate.storage.collection import Collection
from headgate.testing.simulated_web import Answer, Line
from headgate.testing.virtual_parts import virtual_parts
from headgate.testing.virtual_time import VirtualClock, VirtualLoop

__all__ = [
    "BEGIN", "MOST_SEEDS", "SEEDS_FOR_LANDED", "answer", "judged", "play", "play_all",
    "seeds_to_find", "site_of",
]  # fmt: skip

BEGIN = 1_794_751_200.0
"""2026-11-15 14:00 UTC."""
MOST_SECONDS = 7200.0
"""Of a leg, in virtual time."""
SEEDS_FOR_LANDED = 50
MOST_SEEDS = 300
"""In which a planted fault is looked for."""
_SHOWN = 6


@dataclass(slots=True)
class Crawl:
    """One seed: the web, and all that was asked of it."""

    seed: int
    folder: Path
    web: MadeWeb = field(init=False)
    dice: Dice = field(init=False)
    processes: int = field(init=False)
    legs: list[str] = field(default_factory=list)
    asked: dict[str, Counter[str]] = field(default_factory=dict)
    """By site, in this crawl: how often each URL."""
    known: dict[str, set[str]] = field(default_factory=dict)
    """By site, what an earlier crawl asked for ..."""
    there: dict[str, set[str]] = field(default_factory=dict)
    """... and got."""
    wall: float = BEGIN

    def __post_init__(self) -> None:
        self.web = MadeWeb(self.seed)
        self.dice = Dice(self.seed, 1)
        self.processes = self.dice.one_of((1, 1, 1, 2, 3))

    def play(self) -> str:
        """What is wrong; empty: nothing."""
        with _small_limits() if self.dice.chance(0.3) else nullcontext():
            trouble = self._crawl(self.dice.one_of((0, 0, 1, 2, 3)))
            if not trouble and self.dice.chance(0.35):
                self._remember()
                trouble = self._crawl(self.dice.one_of((0, 0, 1)))
        return trouble

    def _remember(self) -> None:
        get = self.web.get
        for site, asked in self.asked.items():
            self.known[site] = set(asked)
            self.there[site] = {url for url in asked if get(url).status < 400}
        if self.dice.chance(0.7):
            self.web.change()

    def _crawl(self, disturbances: int) -> str:
        self.legs.append("crawl")
        self.asked = {wanted.name: Counter() for wanted in self.web.sites}
        ended = False
        for left in range(disturbances, -1, -1):
            report = self._leg(disturbed=left > 0)
            if report is not None and not report.interrupted:
                ended = True
                break
        assert ended, "it did not come to its end"
        return "".join(filter(None, map(self._compared, self.web.sites)))

    def _compared(self, wanted: Wanted) -> str:
        should, asked = expected(wanted, self.web.get), self.asked[wanted.name]
        should.may |= self.known.get(wanted.name, set())
        there = self.there.get(wanted.name, set())
        if wanted.depth is None:  # pages that nobody links to any more come last
            should.must |= {url for url in there - _files(there) if should.belongs(url)}
        missing, strange = should.must - asked.keys(), asked.keys() - should.may
        again = set[str]()
        if self.legs[-1] == "crawl" and self.processes == 1:
            again = {url for url, times in asked.items() if times > 1 and not self._repeats(url)}
        if not (missing or strange or again):
            return ""
        lines = [f"{wanted}", f"legs: {' '.join(self.legs)}, {self.processes} processes"]
        for what, which in (("missing", missing), ("in vain", strange), ("again", again)):
            some = sorted(which)[:_SHOWN]
            lines += [f"  {what}: {url} (from {should.source.get(url, '?')})" for url in some]
        return "\n".join([*lines, f"  of {len(should.must)}", ""])

    def _repeats(self, url: str) -> bool:
        """What redirects to itself is tried again, since it may want its cookie."""
        location = self.web.get(url).header("location")
        return location is not None and normal(url, raw(location)) == url

    def _leg(self, *, disturbed: bool) -> RunReport | None:
        """None: it was killed."""
        leg = _Leg(self, disturbed=disturbed)
        with asyncio.Runner(loop_factory=leg.loop) as runner:
            try:
                return runner.run(leg.run())
            except asyncio.CancelledError:
                return None
            finally:
                self.wall = leg.clock.wall() + 60.0


class _Leg(CrawlWatcher):
    """One call of `crawl`, which may be interrupted or killed."""

    def __init__(self, crawl: Crawl, *, disturbed: bool) -> None:
        self._crawl = crawl
        self._disturbed = disturbed
        self._control_loop: ControlLoop | None = None
        self._task: asyncio.Task[RunReport] | None = None
        self._loop = ReadingLoop(lambda: 0.003)
        self.clock = VirtualClock(self._loop, crawl.wall)

    def loop(self) -> VirtualLoop:
        return self._loop

    async def run(self) -> RunReport:
        world, dice = self._crawl, self._crawl.dice
        sites = tuple(site_of(wanted) for wanted in world.web.sites)
        collection = Collection(world.folder)
        resume = world.folder.is_dir() and collection.unfinished_run() is not None
        job = CrawlJob(
            sites, Budget(UNLIMITED), world.folder, fetcher_settings(sites, "tests"),
            processes=world.processes, resume=resume,
        )  # fmt: skip
        parts = virtual_parts(self.clock, self._answer, Line())
        parts = replace(parts, second_reader=partial(PassingReader, 1))
        parts = replace(parts, open_fleet=self._fleet(parts))
        self._task = asyncio.ensure_future(crawl(job, parts, self))
        if self._disturbed:
            kill = dice.chance(0.4)
            world.legs.append("killed" if kill else "interrupted")
            self._loop.call_later(dice.seconds(1.5), self._kill if kill else self._interrupt)
        async with asyncio.timeout(MOST_SECONDS):
            return await self._task

    def on_start(self, control_loop: ControlLoop) -> None:
        self._control_loop = control_loop

    def _interrupt(self) -> None:
        if self._control_loop is not None:
            self._control_loop.interrupt("interrupted")

    def _kill(self) -> None:
        assert self._task is not None
        self._task.cancel()

    def _fleet(self, parts: NodeParts) -> OpenFleet:
        dice = self._crawl.dice

        @asynccontextmanager
        async def here(
            job: NodeJob, _: Callable[[str], float], __: int
        ) -> AsyncIterator[MeasuredFleet]:
            async with open_node(job, parts) as node:
                yield node

        if self._crawl.processes == 1:
            return here
        workers = MortalWorkers(
            self._crawl.processes, parts, lambda: dice.seconds(0.3), lambda _: None
        )
        for _ in range(dice.below(4)):
            self._loop.call_later(dice.seconds(1.5), workers.move, dice.below(100))
        return workers.open_fleet

    def _answer(self, request: FetchRequest, _: float) -> Answer:
        world = self._crawl
        world.asked[request.site][request.url] += 1
        return answer(request, world.web.get(request.url))


def answer(request: FetchRequest, reply: Reply) -> Answer:
    """A reply as a server gives it that knows whether a page has changed."""
    headers = reply.headers
    if reply.status == 200:
        tag = f'"{hash(reply.body)}"'
        headers = (*headers, ("etag", tag))
        if dict(request.headers).get("If-None-Match") == tag:
            return Answer(304, headers)
    return Answer(reply.status, headers, reply.body)


def site_of(wanted: Wanted) -> Site:
    return Site(
        wanted.name,
        wanted.seeds,
        wanted.include,
        wanted.exclude,
        depth=wanted.depth,
        requisites=wanted.requisites,  # type: ignore[arg-type]  # as users write it
        focus=wanted.focus,
        connections=3,
        delay=Seconds(0),
    )


def _files(known: set[str]) -> set[str]:
    """robots.txt and sitemaps, which are asked for as such."""
    return {url for url in known if url.endswith((".txt", ".xml"))}


@contextmanager
def _small_limits() -> Iterator[None]:
    """Caches are cleared and parts are passed on as on sites of many thousand pages."""
    with ExitStack() as limits:
        for module, name, limit in (
            (frontier_driver, "LINKS_AT_ONCE", 4),
            (site_run, "LINKS_AT_ONCE", 4),
            (url_filter, "_MOST_LATELY", 5),
            (urls, "_MOST_KNOWN", 8),
        ):
            limits.enter_context(patch.object(module, name, limit))
        yield


def play(seed: int) -> str:
    """What is wrong with a seed, and how to see it again; empty: nothing."""
    return judged(seed, lambda folder: Crawl(seed, folder).play(), "bench.whole_crawls")


def judged(seed: int, played: Callable[[Path], str], bench: str) -> str:
    with _folder() as folder:
        try:
            trouble = played(folder)
        except Exception:
            trouble = traceback.format_exc()
    return f"seed {seed}:\n{trouble}again: python -m {bench} --seed {seed}\n" if trouble else ""


@contextmanager
def _folder() -> Iterator[Path]:
    """In memory, where there is such: nothing here outlives the process."""
    quick = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(dir=quick))
    try:
        yield folder / "data"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def seeds_to_find(fault: Fault, seeds: Iterable[int]) -> int | None:
    """How many seeds it takes until a planted fault is found; None: it is not found."""
    with planted(fault):
        return next((number for number, seed in enumerate(seeds, 1) if play(seed)), None)


def _find_planted(processes: int) -> int:
    """1: too many are missed."""
    faults = (LANDED, *OTHERS, *MISSED)
    with multiprocessing.Pool(processes) as pool:
        tried = partial(seeds_to_find, seeds=range(MOST_SEEDS))
        found = pool.map(tried, faults, chunksize=1)
    for fault, seeds in zip(faults, found, strict=True):
        _say(f"{seeds or '-':>4}  {fault.__name__.replace('_', ' ')}")
    missed = found[1:].count(None)
    others = len(faults) - 1
    _say(f"{others - missed} of {others} found, and the one that landed with {found[0]} seeds")
    return int(found[0] is None or found[0] > SEEDS_FOR_LANDED or missed > others // 10)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seeds", default="0-20000", help="from-to")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--planted", action="store_true")
    args = parser.parse_args()
    if args.planted:
        return _find_planted(args.processes)
    return play_all(play, args.seeds if args.seed is None else args.seed, args.processes)


def play_all(play: Callable[[int], str], seeds: str | int, processes: int) -> int:
    """One seed, or all of a range like ``0-300``; 1: some failed."""
    if isinstance(seeds, int):
        wrong = play(seeds)
        _say(wrong or f"seed {seeds}: all is well")
        return bool(wrong)
    first, _, end = seeds.partition("-")
    began, failed = time.monotonic(), 0
    with multiprocessing.Pool(processes) as pool:
        for wrong in pool.imap_unordered(play, range(int(first), int(end)), chunksize=4):
            if wrong:
                failed += 1
                _say(wrong)
        pool.close()
        pool.join()
    seconds, of_cpu = time.monotonic() - began, os.times()
    cpu = of_cpu.children_user + of_cpu.children_system
    _say(f"{int(end) - int(first)} seeds in {seconds:.0f} s, {cpu:.0f} s of CPU, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
