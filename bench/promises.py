"""Are promises kept when little is known and something goes wrong?

    python -m bench.promises [--runs 5] [--only NAME ...]

Seventeen scenarios on the bed of network namespaces (lab/bed): six or seven sites, in one of them
hundreds, behind servers of unequal speed, 20 ms away, crawled by the `headgate` command as a user
runs it. For every run:

hindsight   exact water-filling on the true sizes and speeds. Deadlines are drawn at random, moved
            together until hindsight can just meet them all, and then given 2 % more time where
            sizes and speeds are told to the crawl, 20 % where they are not. Hopeless ones get half
            of that; there hindsight is the least total lateness that the planner finds on the true
            sizes and speeds.
planned     deadlines that the crawl's own plan meets, as its report says
met, late   what came of it, by the report; the worst one missed, and total lateness
rivals      deadlines met, or lateness, of equal shares and of ReAlloc-MAXT (Zhu 2020), reckoned on
            the true sizes and speeds: better than they could do on a real line
the line    bytes at the interface against the budget, mean while sites remain and worst second

A deadline counts from the start of the command's run, planning included. A scenario takes two to
five minutes, all of them 50; ``--only`` runs one; beds may stand side by side. Root is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
from bench.closure import closure
from bench.documentation import SITES, fetched
from bench.promised_web import HEAD_BYTES, ServedSite, answer_of, body_bytes
from rich.console import Console
from rich.table import Table

from headgate.bandwidth.receive_window import wire_bytes
from headgate.model.run_report import RunReport
from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.capacity import Capacity
from headgate.scheduling.order_search import best_schedule
from headgate.scheduling.policies import find_policy
from headgate.scheduling.problem import Problem, Schedule
from headgate.scheduling.water_filling import deadlines_can_be_met
from headgate_lab.bed.network import Bed, ServerPath, missing, server_address
from headgate_lab.bed.readings import Readings, windows

CONSOLE = Console(width=150)
ROOT = Path(__file__).parents[1]
BUDGET = 600_000.0
RTT_SECONDS = 0.02
SHORT, LONG = 13e6, 26e6
"""Bytes of all sites: 22 s of the line; twice as many where the slack is 2 %, since a start takes
a third of a second whatever follows."""
TOLD_SLACK, UNTOLD_SLACK = 0.02, 0.20
WORST_SECONDS, WORST_PART = 1.0, 0.02
"""No deadline may be missed by more: so many seconds and this part of it."""
SMALL = (
    "bind9-doc", "debian-faq", "debian-reference-en", "docutils-doc", "doxygen-doc",
    "exim4-doc-html", "gimp-help-en", "grass-doc", "libcairo2-doc", "liblog4j1.2-java-doc",
    "libpango1.0-doc", "libsfml-doc", "libtiff-doc", "maint-guide", "mit-scheme-doc", "mpich-doc",
    "postfix-doc", "python-flask-doc", "python-tornado-doc", "sphinx-doc", "swi-prolog-doc",
)  # fmt: skip
"""Documentation with at most 8 MB of HTML: six of them take a minute of the line at most."""
_DATA_BYTES = 400
"""In a hundredth of a second: less is a connection being closed."""


@dataclass
class Trial:
    """One instance of a scenario: the web, what the crawl is told of it, and what happens."""

    served: list[ServedSite]
    deadlines: FloatArray
    capacity: Capacity
    told: list[tuple[float | None, float | None]]
    """Size and speed as the site file has them."""
    hopeless: bool = False
    stops: list[int] = field(default_factory=list)
    """Sites with ``on_deadline = "stop"``."""
    stranger_seconds: float = 0.0
    """After which the sites without a deadline are broken off."""
    crawlers: int = 0
    budget_lines: str = f'bandwidth = "{BUDGET:.0f} B/s"\n'
    changes: list[tuple[float, float]] = field(default_factory=list)
    """(seconds, budget from then on), told by `headgate budget`."""
    interrupt_at: float | None = None
    slowdown: bool = False
    before: list[ServedSite] = field(default_factory=list)
    """The same sites as a first crawl into the same folder met them; none: there was none."""

    @property
    def names(self) -> list[str]:
        return [f"site-{k}" for k in range(len(self.served))]

    @property
    def promised(self) -> list[str]:
        """Sites with a deadline."""
        return [self.names[k] for k in np.flatnonzero(np.isfinite(self.deadlines))]

    @property
    def work(self) -> FloatArray:
        return np.array([site_bytes(site) for site in self.served])

    @property
    def caps(self) -> FloatArray:
        return np.array([true_speed(site) for site in self.served])

    def problem(self) -> Problem:
        stops = np.isin(np.arange(len(self.served)), self.stops)
        return Problem.from_arrays(
            self.work, self.deadlines, budget=self.capacity, caps=self.caps, stops=stops,
            slots=self.crawlers,
        )  # fmt: skip

    def site_file(self) -> str:
        lines = [f"[budget]\n{self.budget_lines}crawlers = {self.crawlers}\n"]
        for k, (site, name) in enumerate(zip(self.served, self.names, strict=True)):
            size, speed = self.told[k]
            lines.append(
                f'\n[site.{name}]\nseeds = ["http://{site.address}/{site.seed}"]\ndelay = 0\n'
            )
            if np.isfinite(self.deadlines[k]):
                lines.append(f'deadline = "{self.deadlines[k] * 1000:.0f}ms"\n')
            else:
                lines.append(f'max_time = "{self.stranger_seconds * 1000:.0f}ms"\n')
            if k in self.stops:
                lines.append('on_deadline = "stop"\n')
            if size is not None:
                lines.append(f"expect = {size:.0f}\n")
            if speed is not None:
                lines.append(f"max_rate = {min(speed, BUDGET):.0f}\n")
        return "".join(lines)


def site_bytes(site: ServedSite) -> float:
    """On the line, robots.txt included."""
    bodies = (body_bytes(site, k) for k in range(len(site.pages)))
    return sum(wire_bytes(size + HEAD_BYTES) for size in bodies) + wire_bytes(HEAD_BYTES)


def true_speed(site: ServedSite) -> float:
    """Bytes per second the site can give: of its server, at its slowest, or one page after the
    other where there is a delay or a chain."""
    mean_page = site_bytes(site) / len(site.pages)
    speed = min(rate for _, rate in site.speeds)
    if site.crawl_delay:
        return mean_page / site.crawl_delay
    if site.known[:3] == [2, 3, 4]:
        return mean_page / (mean_page / speed + 1.5 * RTT_SECONDS)
    return speed


# --- the scenarios ------------------------------------------------------------------------------


def page_sizes(rng: np.random.Generator, total: float) -> list[int]:
    """Unequal pages, as real ones are: log-normal, 11 KB in the middle."""
    sizes: list[int] = []
    while sum(sizes) < total:
        sizes.append(int(np.clip(rng.lognormal(9.3, 0.9), 500, 200_000)))
    return sizes


def star(count: int) -> list[int]:
    return [count] * count


def chain(count: int) -> list[int]:
    return [min(k + 2, count) for k in range(count)]


def tree(count: int) -> list[int]:
    return [min(1 + 3 * (k + 1), count) for k in range(count)]


def sites_of(
    rng: np.random.Generator,
    kinds: Sequence[Callable[[int], list[int]]],
    sizes: Sequence[float],
    speeds: Sequence[float],
) -> list[ServedSite]:
    served = []
    for k, (kind, size, speed) in enumerate(zip(kinds, sizes, speeds, strict=True)):
        pages = page_sizes(rng, size)
        served.append(ServedSite(server_address(k), pages, kind(len(pages)), [(0.0, speed)]))
    return served


def drawn(rng: np.random.Generator, count: int, total: float) -> tuple[list[float], list[float]]:
    sizes = rng.uniform(0.5, 3.5, count)
    sizes *= total / sizes.sum()
    speeds = BUDGET * rng.choice([0.3, 0.5, 0.9, 2.0], count)
    return sizes.tolist(), speeds.tolist()


def due(
    rng: np.random.Generator, served: list[ServedSite], capacity: Capacity, slack: float
) -> FloatArray:
    """Random deadlines that hindsight meets with just so much slack."""
    work = np.array([site_bytes(site) for site in served])
    caps = np.array([true_speed(site) for site in served])
    raw = rng.uniform(0.25, 1.0, len(served)) * float(capacity.time_of(work.sum()))

    def can_be_met(scale: float) -> bool:
        return deadlines_can_be_met(
            Problem.from_arrays(work, raw * scale, budget=capacity, caps=caps)
        )

    low, high = 0.0, 1.0
    while not can_be_met(high):
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if can_be_met(middle) else (middle, high)
    return raw * high * (1 + slack)


def told_all(served: list[ServedSite]) -> list[tuple[float | None, float | None]]:
    return [(site_bytes(site), true_speed(site)) for site in served]


def told_nothing(served: list[ServedSite]) -> list[tuple[float | None, float | None]]:
    return [(None, None)] * len(served)


def plain(
    rng: np.random.Generator,
    kinds: Sequence[Callable[[int], list[int]]] = (star,) * 6,
    *,
    told: bool,
    capacity: Capacity | None = None,
    total: float = SHORT,
) -> Trial:
    sizes, speeds = drawn(rng, len(kinds), total)
    served = sites_of(rng, kinds, sizes, speeds)
    budget = capacity or Capacity.constant(BUDGET)
    deadlines = due(rng, served, budget, TOLD_SLACK if told else UNTOLD_SLACK)
    known = told_all(served) if told else told_nothing(served)
    return Trial(served, deadlines, budget, known, crawlers=len(served))


def exact_sizes(rng: np.random.Generator) -> Trial:
    return plain(rng, told=True, total=LONG)


def wrong_sizes(rng: np.random.Generator) -> Trial:
    trial = plain(rng, told=False)
    factors = rng.permutation([0.25, 0.25, 1.0, 1.0, 4.0, 4.0])
    known = told_all(trial.served)
    trial.told = [
        (size and size * f, speed) for (size, speed), f in zip(known, factors, strict=True)
    ]
    return trial


def nothing_known(rng: np.random.Generator) -> Trial:
    return plain(rng, (star, star, tree, tree, star, tree), told=False)


def one_huge_page(rng: np.random.Generator) -> Trial:
    trial = plain(rng, told=False)
    small, *rest = trial.served
    pages = [*small.pages[:20], 1_700_000]
    huge = ServedSite(small.address, pages, star(len(pages)), [(0.0, 2 * BUDGET)])
    served = [huge, *rest]
    deadlines = due(rng, served, trial.capacity, UNTOLD_SLACK)
    return Trial(served, deadlines, trial.capacity, told_nothing(served), crawlers=len(served))


def star_chain_tree(rng: np.random.Generator) -> Trial:
    return plain(rng, (star, chain, tree, star, chain, tree), told=False)


def server_slows_down(rng: np.random.Generator) -> Trial:
    trial = plain(rng, told=True)
    slow = trial.served[0]
    speeds = [(0.0, BUDGET), (6.0, 0.3 * BUDGET)]
    served = [msgspec.structs.replace(slow, speeds=speeds), *trial.served[1:]]
    deadlines = due(rng, served, trial.capacity, UNTOLD_SLACK)
    known = [(size, speed) for size, speed in told_all(served)]
    known[0] = (known[0][0], BUDGET)
    return Trial(served, deadlines, trial.capacity, known, crawlers=len(served), slowdown=True)


def budget_changes(rng: np.random.Generator) -> Trial:
    changes = [(5.0, 0.5 * BUDGET), (11.0, 1.3 * BUDGET), (17.0, 0.8 * BUDGET)]
    trial = plain(rng, told=False, capacity=Capacity.from_pieces([(0.0, BUDGET), *changes]))
    trial.told = told_all(trial.served)
    trial.changes = changes
    return trial


def crawl_delay_in_every_slot(rng: np.random.Generator) -> Trial:
    trial = plain(rng, (star,) * 7, told=False)
    patient = [
        ServedSite(site.address, site.pages[:6], star(6), site.speeds, crawl_delay=4.0)
        for site in trial.served[:3]
    ]
    served = [*patient, *trial.served[3:]]
    deadlines = due(rng, served, trial.capacity, UNTOLD_SLACK)
    # Hindsight's water-filling takes a delay for a speed; the last page need not wait for it.
    deadlines[:3] = np.maximum(deadlines[:3], 6 * 4.0 * (1 + UNTOLD_SLACK))
    return Trial(served, deadlines, trial.capacity, told_nothing(served), crawlers=3)


def hopeless(rng: np.random.Generator) -> Trial:
    trial = plain(rng, told=True)
    trial.deadlines = trial.deadlines * 0.5
    trial.hopeless, trial.stops = True, [int(np.argmax(trial.work))]
    return trial


def hopeless_untold(rng: np.random.Generator) -> Trial:
    trial = plain(rng, (star, star, tree, tree, star, tree), told=False)
    trial.deadlines = trial.deadlines / (1 + UNTOLD_SLACK) * 0.5
    trial.hopeless, trial.stops = True, [int(np.argmax(trial.work))]
    return trial


def endless_stranger(rng: np.random.Generator) -> Trial:
    """A bad neighbour: a seventh site three times as large as all others together, of which nothing
    is known, without a deadline, on the fastest server. What is told of the others holds."""
    trial = plain(rng, told=False)
    (stranger,) = sites_of(rng, [tree], [3 * SHORT], [2 * BUDGET])
    stranger = msgspec.structs.replace(stranger, address=server_address(len(trial.served)))
    return Trial(
        [*trial.served, stranger],
        np.append(trial.deadlines, np.inf),
        trial.capacity,
        [*told_all(trial.served), (None, None)],
        stranger_seconds=float(trial.deadlines.max()) + 5.0,
        crawlers=len(trial.served) + 1,
    )


def hundreds_of_sites(rng: np.random.Generator) -> Trial:
    return plain(rng, (star, tree) * 150, told=False)


def grown_since(rng: np.random.Generator) -> Trial:
    """A second crawl into the same folder. Sites are up to three times as large as they were, and
    half of the old pages have another size; the first crawl met the same deadlines."""
    trial = plain(rng, (star, star, tree, tree, star, tree), told=False)
    for site in trial.served:
        before = site.pages[: int(len(site.pages) * rng.uniform(1 / 3, 1.0))]
        pages = [size if k % 2 else max(size // 2, 500) for k, size in enumerate(before)]
        shape = tree if site.known == tree(len(site.pages)) else star
        trial.before.append(msgspec.structs.replace(site, pages=pages, known=shape(len(pages))))
    return trial


def real_documentation(rng: np.random.Generator) -> Trial:
    """Six sites of at most 8 MB, of which nothing is known."""
    small = [site for site in SITES if site.package in SMALL]
    chosen = [small[k] for k in rng.choice(len(small), 6, replace=False)]
    folders = fetched(Path(tempfile.gettempdir(), "headgate-documentation"), chosen)
    speeds = BUDGET * rng.choice([0.3, 0.5, 0.9, 2.0], len(chosen))
    served = [
        real_site(server_address(k), folders[site.package], site.seed, float(speed))
        for k, (site, speed) in enumerate(zip(chosen, speeds, strict=True))
    ]
    budget = Capacity.constant(BUDGET)
    deadlines = due(rng, served, budget, UNTOLD_SLACK)
    return Trial(served, deadlines, budget, told_nothing(served), crawlers=len(served))


def real_site(address: str, folder: Path, seed: str, speed: float) -> ServedSite:
    """What can be reached in it is found by a program that shares nothing with Headgate."""
    bare = ServedSite(address, [], [], [(0.0, speed)], folder=str(folder), seed=seed)

    def get(url: str) -> tuple[int, dict[str, str], bytes]:
        status, body, media_type = answer_of(bare, url.removeprefix(f"http://{address}"))
        return int(status[:3]), {"content-type": media_type}, body

    found = closure(f"http://{address}/{seed}", get)
    sizes = [len(get(url)[2]) for url in [*found.pages, *found.others]]
    return msgspec.structs.replace(bare, pages=sizes, known=[1] * len(sizes))


def interrupted(rng: np.random.Generator) -> Trial:
    trial = plain(rng, told=False)
    trial.told = told_all(trial.served)
    trial.interrupt_at = 8.0
    return trial


def timetable(rng: np.random.Generator) -> Trial:
    """A rate for this minute, another from the next on."""
    while not 38 <= datetime.now().second <= 45:  # noqa: DTZ005  the machine's own zone
        time.sleep(0.5)
    now = datetime.now().astimezone()
    turn = (now + timedelta(minutes=1)).replace(second=0, microsecond=0)
    seconds = (turn - now).total_seconds() - 1.5  # the bed and the command start meanwhile
    trial = plain(
        rng, told=False, capacity=Capacity.from_pieces([(0.0, BUDGET), (seconds, BUDGET / 2)])
    )
    trial.told = told_all(trial.served)
    utc = turn.astimezone(tz=None).utctimetuple()
    trial.budget_lines = (
        f'bandwidth = ["{(utc.tm_hour - 1) % 24:02d}:{utc.tm_min:02d} {BUDGET:.0f} B/s",'
        f' "{utc.tm_hour:02d}:{utc.tm_min:02d} {BUDGET / 2:.0f} B/s"]\nzone = "UTC"\n'
    )
    return trial


def quota(rng: np.random.Generator) -> Trial:
    trial = plain(rng, told=False)
    trial.told = told_all(trial.served)
    trial.budget_lines += f'quota = "{trial.work.sum() * 1.05:.0f} B/day"\n'
    return trial


SCENARIOS: dict[str, Callable[[np.random.Generator], Trial]] = {
    "exact sizes": exact_sizes,
    "sizes wrong by 4": wrong_sizes,
    "nothing known": nothing_known,
    "one huge page": one_huge_page,
    "star, chain, tree": star_chain_tree,
    "server slows down": server_slows_down,
    "budget changed thrice": budget_changes,
    "Crawl-delay in all slots": crawl_delay_in_every_slot,
    "endless stranger beside": endless_stranger,
    "hundreds of sites": hundreds_of_sites,
    "grown since": grown_since,
    "real documentation": real_documentation,
    "hopeless, told": hopeless,
    "hopeless, untold": hopeless_untold,
    "interrupted, resumed": interrupted,
    "timetable": timetable,
    "quota": quota,
}


# --- a run --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of a run."""

    planned: int | None
    """Deadlines that the crawl's plan meets; None: it made none."""
    late: FloatArray
    """Seconds after each deadline; 0 for those that stop there."""
    missed: int
    deadlines: FloatArray
    line_mean: float
    """Bytes at the interface against the budget, up to the end of the last site."""
    line_worst: float
    """The same in the worst second."""
    disagreement: float
    """Seconds between the report's ends and the last packets seen at the interface."""


def crawl(trial: Trial, look: Callable[[RunReport], None] = lambda _: None) -> Kept:
    """``look`` is shown the command's own report."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Bed([ServerPath(site.address, RTT_SECONDS) for site in trial.served]) as bed,
    ):
        out, file = Path(folder, "data"), Path(folder, "sites.toml")
        file.write_text(trial.site_file())
        if trial.before:
            first = _serve(bed, trial.before)
            _run_command(bed, trial, file, out)
            first.communicate()
        _serve(bed, trial.served)
        records, pauses = bed.folder / "records", bed.folder / "pauses"
        with records.open("wb") as counted, pauses.open("wb") as stood_still:
            watch = bed.start_watch(stood_still)
            meter = bed.start_meter(counted)
            report = _run_command(bed, trial, file, out)
            bed.stop_meter(meter)
            watch.communicate()
        look(report)
        return _kept(trial, report, Readings(records, pauses))


def _serve(bed: Bed, sites: Sequence[ServedSite]) -> subprocess.Popen[bytes]:
    web = bed.folder / "sites.json"
    web.write_bytes(msgspec.json.encode(sites))
    return bed.start_server(sys.executable, "-m", "bench.promised_web", web)


def _run_command(bed: Bed, trial: Trial, file: Path, out: Path) -> RunReport:
    headgate = [sys.executable, "-m", "headgate"]
    options = ["--out", str(out), "--json", "--quiet", "--contact", "bench"]
    process = subprocess.Popen(
        bed.client(*headgate, "crawl", file, *options), stdout=subprocess.PIPE
    )
    began = time.monotonic()
    for moment, rate in trial.changes:
        time.sleep(max(began + moment - time.monotonic(), 0.0))
        if process.poll() is None:
            subprocess.run([*headgate, "budget", str(out), f"{rate:.0f} B/s"], check=False)
    if trial.interrupt_at is not None:
        time.sleep(max(began + trial.interrupt_at - time.monotonic(), 0.0))
        process.send_signal(signal.SIGINT)
        process.communicate()
        process = subprocess.Popen(
            bed.client(*headgate, "crawl", "--resume", *options), stdout=subprocess.PIPE
        )
    said, _ = process.communicate()
    return msgspec.convert(json.loads(said), RunReport)


def _kept(trial: Trial, report: RunReport, readings: Readings) -> Kept:
    sites = {site.name: site for site in report.sites}
    ends = np.array([sites[name].finished or np.inf for name in trial.names])
    late = np.maximum(ends - trial.deadlines, 0.0)
    late[trial.stops] = 0.0
    stopped = [k for k in trial.stops if sites[trial.names[k]].state != "done"]
    missed = [name for name in trial.promised if sites[name].met is False]
    planned = [
        site.planned_end <= site.deadline
        for site in report.sites
        if site.planned_end is not None and site.deadline is not None
    ]
    begin = report.started_at
    last = begin + float(ends.max())
    bins = readings.received(begin, last)
    allowed = float(trial.capacity.bytes_by(float(ends.max())))
    worst = float(windows(bins, 1.0).max(initial=0.0)) / trial.capacity.peak
    seen = []
    for k, site in enumerate(trial.served):
        packets = np.flatnonzero(readings.received(begin, last + 1.0, site.address) > _DATA_BYTES)
        if len(packets) and k not in stopped and trial.interrupt_at is None:
            seen.append(abs(packets[-1] * 0.01 - ends[k]))
    return Kept(
        sum(planned) if planned else None,
        late,
        missed=len(missed),
        deadlines=trial.deadlines,
        line_mean=float(bins.sum()) / allowed,
        line_worst=worst,
        disagreement=max(seen, default=0.0),
    )


# --- hindsight and rivals -----------------------------------------------------------------------


def shortfall(schedule: Schedule, problem: Problem) -> tuple[int, float]:
    """Deadlines met, and total lateness of sites that do not stop."""
    late = schedule.lateness(problem)
    left = schedule.left(problem)
    return int(((late == 0) & (left == 0)).sum()), float(late.sum())


def hindsight(problem: Problem) -> tuple[int, float]:
    if deadlines_can_be_met(problem):
        return len(problem), 0.0
    return shortfall(best_schedule(problem, np.random.default_rng(1)), problem)


def equal_shares(problem: Problem) -> tuple[int, float]:
    """Sites by deadline, each with an equal part, which no other takes up."""
    at_once = min(problem.slots, len(problem))
    part = problem.capacity.scaled(1 / at_once)
    free = [0.0] * at_once
    ends = np.zeros(len(problem))
    for site in np.argsort(problem.deadlines, kind="stable"):
        crawler = int(np.argmin(free))
        start = free[crawler]
        capped = part.at_most(float(problem.caps[site])) if start < np.inf else part
        end = float(capped.time_of(capped.bytes_by(start) + problem.work[site]))
        if problem.stops[site]:
            end = min(end, float(problem.deadlines[site]))
        free[crawler] = ends[site] = end
    late = np.where(problem.stops, 0.0, np.maximum(ends - problem.deadlines, 0.0))
    return int((late == 0).sum()), float(late.sum())


def re_alloc(problem: Problem) -> tuple[int, float]:
    schedule = find_policy("ReAlloc-MAXT").schedule(problem, np.random.default_rng(1))
    return shortfall(schedule.stopped(problem), problem)


# --- the table ----------------------------------------------------------------------------------


@dataclass
class Row:
    """One scenario, over its runs."""

    name: str
    hopeless: bool = False
    told: bool = True
    deadlines: int = 0
    met: int = 0
    planned: int = 0
    late: float = 0.0
    best_late: float = 0.0
    worst_missed: float = 0.0
    beyond: int = 0
    """Deadlines missed by more than a second and 2 %."""
    rivals: dict[str, list[float]] = field(default_factory=dict)
    line_means: list[float] = field(default_factory=list)
    line_worst: list[float] = field(default_factory=list)
    disagreement: float = 0.0

    def add(self, trial: Trial, kept: Kept) -> None:
        problem = trial.problem()
        self.hopeless, self.told = trial.hopeless, trial.told[0][0] is not None
        self.deadlines += len(trial.promised)
        self.met += len(trial.promised) - kept.missed
        self.planned += kept.planned or 0
        self.late += float(kept.late.sum())
        self.best_late += hindsight(problem)[1]
        self.worst_missed = max(self.worst_missed, float(kept.late.max()))
        allowed = WORST_SECONDS + WORST_PART * kept.deadlines
        self.beyond += 0 if trial.hopeless else int((kept.late > allowed).sum())
        for name, rival in (("equal shares", equal_shares), ("ReAlloc", re_alloc)):
            met, late = rival(problem)
            figures = self.rivals.setdefault(name, [0.0, 0.0])
            figures[0] += met - len(trial.names) + len(trial.promised)
            figures[1] += late
        self.line_means.append(kept.line_mean)
        self.line_worst.append(kept.line_worst)
        self.disagreement = max(self.disagreement, kept.disagreement)

    @property
    def kept(self) -> bool:
        if self.hopeless:
            return self.late <= (1.15 if self.told else 1.5) * self.best_late
        return self.met >= 0.95 * self.deadlines and not self.beyond

    def cells(self) -> Iterator[str]:
        yield self.name
        yield f"{self.planned}"
        yield f"{self.met}/{self.deadlines}"
        yield f"{self.late:.1f}" + (f" ({self.best_late:.1f})" if self.hopeless else "")
        yield f"{self.worst_missed:.2f}"
        for met, late in self.rivals.values():
            yield f"{met:.0f}" + (f" ({late:.1f})" if self.hopeless else "")
        yield f"{np.mean(self.line_means):.2f} {max(self.line_worst):.2f}"
        yield f"{self.disagreement:.2f}"
        yield "kept" if self.kept else "broken"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    args = parser.parse_args()
    if why := missing():
        CONSOLE.print(f"bench.promises: {why}")
        return 2
    os.chdir(ROOT)  # where the web is found as a module
    rows = []
    for name in args.only:
        row = Row(name)
        for run in range(args.runs):
            trial = SCENARIOS[name](np.random.default_rng([args.seed, run]))
            kept = crawl(trial)
            row.add(trial, kept)
            late = ", ".join(f"{x:.2f}" for x in kept.late)
            CONSOLE.print(
                f"{name}, run {run + 1}: {kept.missed} missed; late {late}", soft_wrap=True
            )
        rows.append(row)
    table = Table(
        "scenario", "planned", "met", "late s (least)", "worst s", "equal shares", "ReAlloc",
        "line, worst s", "off s", "",
    )  # fmt: skip
    for row in rows:
        table.add_row(*row.cells())
    CONSOLE.print(table)
    fair = [row for row in rows if not row.hopeless]
    met, all_ = sum(row.met for row in fair), sum(row.deadlines for row in fair)
    if fair:
        CONSOLE.print(
            f"{met} of {all_} deadlines met that hindsight could meet ({met / all_:.1%});"
            f" {sum(row.beyond for row in fair)} missed by more than 1 s + 2 %"
        )
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
