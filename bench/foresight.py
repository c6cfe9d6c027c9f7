"""How well are sizes foretold while sites are crawled? Real documentation, by the very crawler.

    python -m bench.foresight [FOLDER] [--curves FILE]

Fifty-nine sites of Debian's packages (`bench.documentation`; FOLDER keeps them) are served by nginx
and crawled by `SiteRun` over `HttpFetcher`, of which nothing is known beforehand. After each page
`SizeWatch` can say how large the site is. A row tells what it said after the first look and at each
tenth of the pages, over the truth: 1.00 is exact, * lies outside of the range that was said.

Below, for the sites that constants were fitted to and for those held out: the median factor of
error, that of four sites in five, the truths within the range, and how wide ranges are; then how
many sites were taken for what was told of them: their true size, or four times or a quarter of it.
The exit code is 1 where a goal is missed on the sites held out.

With ``--curves`` what the crawls showed is kept in FILE (`bench.growth_curves`), and where FILE is
there it is taken from it: another estimator is judged by the very same crawls, in seconds.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import uvloop
from bench.arguments import parser
from bench.documentation import HELD_OUT, SITES, TUNED_ON, fetched, served
from bench.growth_curves import Curve, Step, load, save
from rich.console import Console
from rich.table import Table

from headgate.control.forecast import forecast
from headgate.control.size_estimate import LOOK_BYTES, SizeRange, SizeWatch
from headgate.crawling.page_reader import PageReader
from headgate.crawling.ports import ReplayedPage
from headgate.crawling.progress import TaskState
from headgate.crawling.site_run import SiteRun, Tools
from headgate.engine.clock import AwakeClock, SystemClock
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.frontier.events import JournalEntry
from headgate.frontier.frontier import Frontier, FrontierRules
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_queue import MemorySpill
from headgate.model.page import Page, Role
from headgate.model.site import Site
from headgate.model.task import Task
from headgate.model.units import Bytes, format_size
from headgate.testing.memory_store import MemoryKnown

CONSOLE = Console(width=150)
SETTINGS = FetcherSettings("https://example.org/bench", named=frozenset({"127.0.0.1"}))
TENTHS = [tenth / 10 for tenth in range(1, 10)]
PARTS = sorted([*TENTHS, 0.25])
GOALS = {"look": 2.2, "0.25": 1.25}
COVERED = 0.8
LOOK_PART = 0.03
WIDER = 1.1
"""So much may the median range of few sites widen by chance from one tenth to the next."""
WORDS = {"told its size": (1.0, 1.1), "told four times": (4.0, 1.3), "told a quarter": (0.25, 1.3)}
"""(times the truth, as near as that it is still taken for it)"""


@dataclass(frozen=True, slots=True)
class Said:
    """After so many bytes."""

    wire_bytes: int
    whole: SizeRange


@dataclass(slots=True)
class Listening:
    """A store that keeps no page and notes each step."""

    finished: bool = False
    waiting_bytes: int = 0
    steps: list[Step] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    run: SiteRun | None = None

    def put(self, page: Page, entry: JournalEntry | None = None) -> int:
        self.asked[page.outcome.url] += 1
        if page.role is Role.PAGE and entry is not None:
            self._note(entry, page)
        return 0

    def record(self, entry: JournalEntry) -> None:
        self._note(entry)

    def _note(self, entry: JournalEntry, page: Page | None = None) -> None:
        assert self.run is not None
        self.steps.append(Step.of(entry, page, self.run.report_progress()))

    def add_note(self, url: str, wall_time: float, fields: Sequence[tuple[str, str]]) -> None: ...

    def finish(self) -> None: ...

    def commit(self) -> int:
        return len(self.steps)

    def entries(self) -> Iterator[JournalEntry]:
        return iter(())

    def pages(self) -> Sequence[ReplayedPage]:
        return ()

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Told:
    """A site, what was said of it, and what was true."""

    name: str
    pages: int
    wire_bytes: int
    look: Said
    before_its_last: int
    """Bytes when the look's last page had not come."""
    parts: dict[float, Said]

    def at(self, moment: str) -> Said:
        return self.look if moment == "look" else self.parts[float(moment)]

    def ratio(self, moment: str) -> float:
        return self.at(moment).whole.likely / self.wire_bytes

    def covered(self, moment: str) -> bool:
        whole = self.at(moment).whole
        return whole.low <= self.wire_bytes <= whole.high

    def width(self, moment: str) -> float:
        whole = self.at(moment).whole
        return whole.high / whole.low

    @property
    def looked_too_far(self) -> bool:
        """Whether it went on with more than a look may take; its last page is not counted."""
        return self.before_its_last > max(LOOK_BYTES, LOOK_PART * self.wire_bytes)


async def crawl(name: str, seed: str) -> Curve:
    site = Site(name, seeds=(seed,))
    store = Listening()
    async with HttpFetcher(SETTINGS, clock=AwakeClock()) as fetcher:
        rules = FrontierRules(TrapRules(this_year=2026))
        frontier = Frontier(Scope.for_site(site), MemorySpill(), rules)
        tools = Tools(
            frontier,
            fetcher,
            store=store,
            known=MemoryKnown(),
            reader=PageReader(),
            clock=SystemClock(),
        )
        store.run = SiteRun(Task(site), tools)
        report = await store.run.run()
    if report.state is not TaskState.DONE:
        raise SystemExit(f"{name}: {report.reason}")
    twice = [url for url, times in store.asked.items() if times > 1]
    if twice:
        raise SystemExit(f"{name}: fetched twice: {', '.join(twice[:9])}")
    return Curve(name, report.wire_bytes, store.steps)


def told_of(curve: Curve) -> Told:
    """What was said of a site of which nothing was known."""
    watch = SizeWatch(forecast(Site("unknown")))
    asked = set(pages_at(curve).values())
    said: dict[int, Said] = {}
    look: Said | None = None
    last = before = 0
    for pages, report in enumerate(curve.reports(), 1):
        if look is None or pages in asked:
            watch.observe(report)
            said[pages] = Said(report.wire_bytes, watch.whole)
        if look is None and (report.wire_bytes >= watch.look_bytes or pages == curve.pages):
            look, before = said[pages], last
        last = report.wire_bytes
    assert look is not None
    parts = {part: said[pages] for part, pages in pages_at(curve).items()}
    return Told(
        curve.name,
        curve.pages,
        wire_bytes=curve.wire_bytes,
        look=look,
        before_its_last=before,
        parts=parts,
    )


def pages_at(curve: Curve) -> dict[float, int]:
    """How many pages are there at each part of the way."""
    pages = curve.pages
    return {part: max(int(pages * part), 1) for part in PARTS}


def held_to(curve: Curve, factor: float, within: float) -> dict[float, bool]:
    """Told so many times its size: whether it was taken for that, as near as ``within``."""
    word = curve.wire_bytes * factor
    watch = SizeWatch(forecast(Site("told", expect=Bytes(word))))
    at = pages_at(curve)
    wholes: dict[int, float] = {}
    for pages, report in enumerate(curve.reports(), 1):
        if pages in at.values():
            watch.observe(report)
            wholes[pages] = watch.whole.likely
    return {part: 1 / within <= wholes[pages] / word <= within for part, pages in at.items()}


def by_site(told: Sequence[Told]) -> Table:
    names = [f"{part:.1f}" for part in TENTHS]
    table = Table("site", "pages", "truth", "look", "of it", "after it", *names, box=None)
    for one in told:
        look = one.look.wire_bytes
        table.add_row(
            one.name,
            f"{one.pages:,}",
            format_size(one.wire_bytes),
            format_size(look),
            f"{look / one.wire_bytes:.1%}",
            *(_ratio(one, moment) for moment in ("look", *names)),
        )
    return table


def _ratio(told: Told, moment: str) -> str:
    return f"{told.ratio(moment):.2f}{'' if told.covered(moment) else '*'}"


@dataclass(frozen=True, slots=True)
class Summary:
    """Of several sites at one moment."""

    factor: float
    four_in_five: float
    covered: float
    width: float

    @classmethod
    def of(cls, told: Sequence[Told], moment: str) -> Summary:
        errors = [abs(math.log(one.ratio(moment))) for one in told]
        return cls(
            math.exp(float(np.median(errors))),
            math.exp(float(np.quantile(errors, 0.8))),
            float(np.mean([one.covered(moment) for one in told])),
            float(np.median([one.width(moment) for one in told])),
        )


def summaries(told: Sequence[Told]) -> dict[str, Summary]:
    return {moment: Summary.of(told, moment) for moment in ("look", *map(str, PARTS))}


def in_a_table(found: dict[str, Summary], title: str) -> Table:
    table = Table(
        "pages there", "median factor", "4 of 5 within", "in the range", "high / low", title=title
    )
    for moment, one in found.items():
        table.add_row(
            moment,
            f"{one.factor:.2f}",
            f"{one.four_in_five:.2f}",
            f"{one.covered:.0%}",
            f"{one.width:.1f}",
        )
    return table


def words_held(curves: Sequence[Curve]) -> Table:
    table = Table("pages there", *WORDS, title="Sites taken for what was told of them")
    held = [[held_to(curve, *word) for curve in curves] for word in WORDS.values()]
    for part in PARTS:
        table.add_row(
            str(part), *(f"{sum(one[part] for one in those)} of {len(those)}" for those in held)
        )
    return table


def missed(found: dict[str, Summary], told: Sequence[Told]) -> list[str]:
    words = [
        f"median factor {found[moment].factor:.2f} at {moment}, the goal is {goal}"
        for moment, goal in GOALS.items()
        if found[moment].factor > goal
    ]
    words += [
        f"{found[str(part)].covered:.0%} of truths in the range at {part}, not {COVERED:.0%}"
        for part in TENTHS
        if found[str(part)].covered < COVERED
    ]
    widths = [found[str(part)].width for part in TENTHS]
    if any(later > WIDER * earlier for earlier, later in pairwise(widths)):
        words.append(f"ranges do not narrow: {', '.join(f'{width:.2f}' for width in widths)}")
    words += [f"{one.name} was looked at too long" for one in told if one.looked_too_far]
    return words


def crawled(folder: Path) -> list[Curve]:
    with served(fetched(folder)) as seeds:
        return [uvloop.run(crawl(site.package, seeds[site.package])) for site in SITES]


def main() -> int:
    default = Path(tempfile.gettempdir()) / "headgate-documentation"
    options = parser(__doc__)
    options.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, default=default)
    options.add_argument("--curves", metavar="FILE", type=Path)
    args = options.parse_args()
    if args.curves is not None and args.curves.exists():
        curves = load(args.curves)
    else:
        curves = crawled(args.folder)
        if args.curves is not None:
            save(curves, args.curves)
    by_name = {curve.name: curve for curve in curves}
    wrong: list[str] = []
    for title, sites in (("fitted to", TUNED_ON), ("held out", HELD_OUT)):
        those = [by_name[site.package] for site in sites]
        told = [told_of(curve) for curve in those]
        found = summaries(told)
        CONSOLE.print(by_site(told))
        CONSOLE.print(in_a_table(found, f"{len(told)} sites {title}"))
        CONSOLE.print(words_held(those))
        wrong = [f"{title}: {words}" for words in missed(found, told)]
        for line in wrong:
            print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
