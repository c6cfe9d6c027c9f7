"""Changing sites for the demo of keepers, and the page that compares two of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from headgate.features.demo.sites import Answer, DemoRequest, DemoSite, document, missing
from headgate.model.units import format_size
from headgate.report.charts.line_chart import Axis, ChartLine, line_chart
from headgate.report.html_page import document as html_page_document
from headgate.report.html_page import section, table
from headgate.report.markup import Markup, element, joined

__all__ = [
    "ChangingPage",
    "ChangingSite",
    "ChangingWeb",
    "Kept",
    "Law",
    "demo_changing_sites",
    "drawn_changes",
    "keep_demo_page",
]


# Sites whose pages change by known laws, and the true freshness of copies of them.
#
# Each page changes at times drawn beforehand: by a Poisson process, regularly, or in bursts with
# long pauses. Every request is recorded, so that the freshness of a keeper's copies is known
# exactly.
#
# The web of ``headgate demo --keep`` has what collections usually have: some pages that change all
# the time, more that do now and then, and an archive of large pages that hardly ever change and
# whose server cannot say so.


_BURST = 4
"""Changes one soon after the other."""
_BURST_PACE = 0.1
"""Of the mean time between changes, within a burst."""
_DEMO_SECONDS = 900.0
"""For which changes are drawn."""


class Law(StrEnum):
    """When a page changes; the mean time between changes is the same in all."""

    CHANCE = "by chance"
    CLOCK = "by the clock"
    BURSTS = "in bursts"


@dataclass(frozen=True, slots=True)
class ChangingPage:
    path: str
    size: int
    changes: tuple[float, ...]
    """When it changes, in seconds since the start."""


@dataclass(frozen=True, slots=True)
class ChangingSite:
    name: str
    about: str
    pages: tuple[ChangingPage, ...]
    validators: bool
    """Whether its server can say that a page is as it was."""


@dataclass(frozen=True, slots=True)
class Score:
    """True freshness of the copies."""

    times: tuple[float, ...]
    fresh: tuple[float, ...]
    """At each time: the share of pages whose copy is up to date."""
    ages: tuple[float, ...]
    """And the mean seconds since the first change that is not in the copy."""

    @property
    def freshness(self) -> float:
        return sum(self.fresh) / len(self.fresh)

    @property
    def age(self) -> float:
        return sum(self.ages) / len(self.ages)


@dataclass(slots=True)
class ChangingWeb:
    """All pages, each at a path of its own; ``now`` gives seconds since the start."""

    sites: Sequence[ChangingSite]
    now: Callable[[], float]
    looks: dict[str, list[float]] = field(init=False)
    """When each page was requested."""

    def __post_init__(self) -> None:
        self.looks = {page.path: [] for page in self.pages}

    @property
    def pages(self) -> list[ChangingPage]:
        return [page for site in self.sites for page in site.pages]

    def served(self) -> list[DemoSite]:
        """To be given to a `DemoWeb`."""
        return [self._served(site) for site in self.sites]

    def all_fetched(self) -> bool:
        """Whether there is a copy of every page."""
        return all(self.looks.values())

    def score(self, times: Iterable[float]) -> Score:
        """Of the copies, at past times. A page that was never fetched is not fresh."""
        pages, moments, fresh, ages = self.pages, tuple(times), [], []
        for time in moments:
            ages_now = [self._age(page, time) for page in pages]
            fresh.append(sum(age == 0.0 for age in ages_now) / len(ages_now))
            ages.append(sum(ages_now) / len(ages_now))
        return Score(moments, tuple(fresh), tuple(ages))

    def _served(self, site: ChangingSite) -> DemoSite:
        own = {page.path: page for page in site.pages}
        links = [(path, path[1:-5]) for path in own]

        def answer(asked: DemoRequest) -> Answer:
            if asked.path == "/":
                return document(f"The {site.name}", links, size=300)
            return self._answer(own[asked.path]) if asked.path in own else missing()

        total = sum(page.size for page in site.pages)
        return DemoSite(site.name, site.about, answer, total, validators=site.validators)

    def _answer(self, page: ChangingPage) -> Answer:
        now = self.now()
        self.looks[page.path].append(now)
        version = bisect_right(page.changes, now)
        title = f"{page.path[1:-5]}, {version} times written anew"
        return document(title, [("/", "start")], size=page.size, key=(page.path, version))

    def _age(self, page: ChangingPage, time: float) -> float:
        looks = self.looks[page.path]
        place = bisect_right(looks, time)
        if not place:
            return time
        since = bisect_right(page.changes, looks[place - 1])
        missed = since < len(page.changes) and page.changes[since] <= time
        return time - page.changes[since] if missed else 0.0


def drawn_changes(
    chance: np.random.Generator, law: Law, mean: float, seconds: float
) -> tuple[float, ...]:
    """With ``mean`` seconds between them, until ``seconds``."""
    count = int(3 * seconds / mean) + 5 * _BURST
    if law is Law.CHANCE:
        gaps = chance.exponential(mean, count)
    elif law is Law.CLOCK:
        gaps = np.full(count, mean)
        gaps[0] *= chance.random()
    else:
        gaps = np.full(count, _BURST_PACE * mean)
        silence = (_BURST - (_BURST - 1) * _BURST_PACE) * mean
        gaps[::_BURST] = chance.exponential(silence, len(gaps[::_BURST]))
    return tuple(float(moment) for moment in np.cumsum(gaps) if moment < seconds)


def demo_changing_sites(seed: int) -> list[ChangingSite]:
    """Four, with 120 pages."""
    chance = np.random.default_rng(seed)

    def pages(
        name: str, sizes: tuple[int, int], kinds: Sequence[tuple[int, float]]
    ) -> tuple[ChangingPage, ...]:
        """``kinds``: so many pages that change after so many seconds on average."""
        means = [mean for count, mean in kinds for _ in range(count)]
        return tuple(
            ChangingPage(
                f"/{name}-{number:02d}.html",
                int(chance.integers(*sizes)),
                drawn_changes(chance, Law.CHANCE, mean, _DEMO_SECONDS),
            )
            for number, mean in enumerate(means)
        )

    small, large = (3_000, 9_000), (30_000, 50_000)
    says, silent = "says what is as it was", "sends everything each time"
    return [
        ChangingSite("harbour", says, pages("harbour", small, [(8, 8.0), (22, 90.0)]), True),
        ChangingSite("orchard", says, pages("orchard", small, [(6, 30.0), (24, 900.0)]), True),
        ChangingSite("ferry", silent, pages("ferry", small, [(4, 12.0), (26, 600.0)]), False),
        ChangingSite("archive", silent, pages("archive", large, [(30, 1_800.0)]), False),
    ]


_COLOURS = ("c0", "c9")


@dataclass(frozen=True, slots=True)
class Kept:
    """Two keepers compared, as one HTML page.

    The results of one keeper, by the true state of the web.
    """

    name: str
    times: Sequence[float]
    """Times in seconds, of the values that follow."""
    fresh: Sequence[float]
    ages: Sequence[float]
    moved: Sequence[float]
    """Bytes transferred since the first time."""
    looks: int

    @property
    def stale(self) -> float:
        """Share of the pages that were out of date, on average."""
        return 1.0 - sum(self.fresh) / len(self.fresh)

    @property
    def age(self) -> float:
        """Mean over all pages and times, in seconds."""
        return sum(self.ages) / len(self.ages)

    @property
    def wire_bytes(self) -> float:
        return self.moved[-1]


def compared(ours: Kept, other: Kept) -> str:
    """A comparison in words, including bytes: more bytes make it easier."""
    more = ours.wire_bytes / max(other.wire_bytes, 1.0)
    return (
        f"{ours.stale / max(other.stale, 1e-9):.2f} times as many pages out of date,"
        f" {ours.age / max(other.age, 1e-9):.2f} times as long, with {more:.2f} times the bytes"
    )


def keep_demo_page(kept: Sequence[Kept], about: str) -> str:
    """The first is ours."""
    title = "Kept fresh, beside looking at all pages alike"
    parts = [
        element("p", "headgate demo --keep", class_="kicker"),
        element("h1", title),
        element("p", about, class_="amounts"),
        element("p", f"{kept[0].name} had {compared(*kept)}.", class_="amounts"),
        section("Pages out of date", _staleness(kept)),
        section("For how long, the mean of all pages", _ages(kept)),
        section("Bytes on the line", _bytes(kept)),
        section("In figures", _table(kept)),
    ]
    return html_page_document(title, joined(parts))


def _staleness(kept: Sequence[Kept]) -> Markup:
    lines = _lines(kept, [[1.0 - fresh for fresh in one.fresh] for one in kept])
    upright = Axis(0.0, _highest(lines), "", lambda share: f"{100 * share:g}%")
    return line_chart("Staleness", _across(kept), upright, lines)


def _ages(kept: Sequence[Kept]) -> Markup:
    lines = _lines(kept, [one.ages for one in kept])
    return line_chart("Age", _across(kept), Axis(0.0, _highest(lines), "", "{:g} s".format), lines)


def _bytes(kept: Sequence[Kept]) -> Markup:
    lines = _lines(kept, [one.moved for one in kept])
    return line_chart("Bytes", _across(kept), Axis(0.0, _highest(lines), "", format_size), lines)


def _lines(kept: Sequence[Kept], heights: Sequence[Sequence[float]]) -> list[ChartLine]:
    return [
        ChartLine(one.name, list(zip(one.times, high, strict=True)), colour)
        for one, high, colour in zip(kept, heights, _COLOURS, strict=True)
    ]


def _across(kept: Sequence[Kept]) -> Axis:
    return Axis(0.0, max(one.times[-1] for one in kept), "seconds")


def _highest(lines: Sequence[ChartLine]) -> float:
    return 1.08 * max((y for line in lines for _, y in line.points), default=0.0) or 1.0


def _table(kept: Sequence[Kept]) -> Markup:
    rows = [
        element(
            "tr",
            element("td", one.name),
            element("td", f"{one.stale:.1%}"),
            element("td", f"{one.age:.1f} s"),
            element("td", f"{one.looks:,}"),
            element("td", format_size(one.wire_bytes)),
            class_="ours" if number == 0 else None,
        )
        for number, one in enumerate(kept)
    ]
    return table(("policy", "out of date", "for", "looks", "on the line"), rows)
