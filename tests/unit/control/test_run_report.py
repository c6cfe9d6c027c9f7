"""Reports as a table of cases: what a run went through, and the sentences that must come of it.

A run is a script of what came when. The report is made by the code, from looks at that script; the
expected figures are reckoned here from the script alone, byte by byte.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.run_report import RunLog, make_report
from headgate.crawling.focused_crawl import FocusState, InPlace
from headgate.crawling.ports import Scorer
from headgate.crawling.progress import Progress, TaskState
from headgate.focus.topic import Topic, TopicOrder
from headgate.model.budget import Period, Quota, QuotaUse
from headgate.model.run_report import OUTGROWN, FocusReport, LeftOut, RunReport, Stall
from headgate.model.site import IGNORE, Access, Site
from headgate.model.units import Bytes, Seconds
from headgate.report.text import report_text
from headgate.report.words import late_sites

NOON = 1_794_744_000.0
BUDGET = 1000.0


@dataclass(frozen=True)
class Script:
    """One site in one leg, by the leg's own seconds."""

    name: str
    came: dict[float, int]
    """Bytes by moment; each is a page."""
    ends: float | None = None
    state: TaskState = TaskState.DONE
    reason: str = ""
    to_do: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    given_up: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    restarts: int = 0
    judged: tuple[bool, ...] = ()
    """Whether each page of text was about the topic, in the order in which they came."""
    scorer: Scorer | None = None

    def at(self, moment: float, earlier: tuple[int, int]) -> Progress:
        """What a look sees; ``earlier`` has pages and bytes of legs before."""
        ended = self.ends is not None and moment >= self.ends
        came = [size for when, size in self.came.items() if when <= moment]
        pages, bytes_ = earlier
        progress = Progress(self.name, self.state if ended else TaskState.CRAWLING)
        progress.started = 0.0
        progress.ended = self.ends if ended else None
        progress.pages = pages + len(came)
        progress.payload_bytes = progress.wire_bytes = bytes_ + sum(came)
        progress.earlier_wire_bytes = bytes_
        progress.fetches = progress.pages
        progress.to_do = self.to_do
        progress.reason = self.reason if ended else ""
        progress.errors.update(self.errors)
        progress.given_up.update(self.given_up)
        progress.left_out.update(self.left_out)
        progress.restarts = self.restarts
        if self.judged or self.scorer is not None:
            progress.focus = self._focus()
        return progress

    def _focus(self) -> FocusReport:
        """As a site run fills it, page by page."""
        topic = Topic("sheep") if self.judged else None
        focusing = FocusState("topic" if topic else "own.py:score", "sheep", topic, self.scorer)
        for relevant in self.judged:
            focusing.recall(float(relevant))
        return focusing.report()


@dataclass(frozen=True)
class Leg:
    seconds: float
    sites: tuple[Script, ...]
    interrupted: bool = False
    pause: float = 0.0
    """Before the next."""
    stalls: tuple[Stall, ...] = ()
    quota: QuotaUse | None = None
    lost: float = 0.0
    """Killed: so many seconds of it were in no saved report."""
    zone: str | None = None
    """By whose hours the budget changes."""
    budgets: tuple[tuple[float, float | None], ...] = ((0.0, BUDGET),)
    """By the moments at which they begin; None: there is no limit."""


def played(sites: tuple[Site, ...], legs: tuple[Leg, ...]) -> RunReport:
    """The report after the last leg, each begun from what the one before had saved."""
    earlier: RunReport | None = None
    elapsed, wall = 0.0, NOON
    stored: dict[str, tuple[int, int]] = {}
    for number, leg in enumerate(legs):
        log = RunLog.start_leg("2026-11-15T12-00-00", wall, earlier, elapsed)
        saved_until = leg.seconds - leg.lost
        moments = [0.01, *(float(k) for k in range(1, math.ceil(saved_until))), saved_until]
        last = -1.0
        for moment in moments:
            looks = [
                Progress(script.name)
                if moment < 0.1 and number
                else script.at(moment, stored.get(script.name, (0, 0)))
                for script in leg.sites
                if script.ends is None or last < script.ends  # an end is told once
            ]
            for begin, rate in leg.budgets:
                if last < begin <= moment:
                    log.budget_is(elapsed + begin, rate)
            last = moment
            log.observe(elapsed + moment, looks, {script.name: elapsed for script in leg.sites})
        log.interrupted, log.stalls, log.quota = leg.interrupted, [*leg.stalls], leg.quota
        log.zone = leg.zone
        earlier = msgspec.json.decode(
            msgspec.json.encode(make_report(sites, 5, None, log)), type=RunReport
        )
        for script in leg.sites:
            pages, bytes_ = stored.get(script.name, (0, 0))
            stored[script.name] = (pages + len(script.came), bytes_ + sum(script.came.values()))
        elapsed += leg.seconds
        wall += leg.seconds + leg.pause
    assert earlier is not None
    return earlier


def steady(seconds: int, size: int = 900, start: float = 0.5) -> dict[float, int]:
    return {start + k: size for k in range(seconds)}


def site(name: str, deadline: float | None = None) -> Site:
    return Site(name, deadline=None if deadline is None else Seconds(deadline))


def verdicts(signs: str) -> tuple[bool, ...]:
    return tuple(sign == "+" for sign in signs)


def scorer(faults: int, trouble: str) -> Scorer:
    """A user's own, as it stands at the end of a leg."""
    return InPlace(TopicOrder(Topic("sheep")), faults, trouble)


A = Script("a", steady(10), ends=9.8)
STALLED = (
    "Stalled: the machine gave no CPU for 2.9s (2 times, the longest from 2.0s on), "
    "Headgate was busy with its own work for 0.5s (from 7.0s on)."
)
QUOTA_USED = (
    "Interrupted after 10.0s: 0 of 1 deadline met, 1 still open; 81 % of 1 KB/s used; "
    "worst second 900 B/s; 8.1 KB of 8.1 KB per day used, new on 2026-11-16 00:00 UTC."
)
HEADINGS = (
    "Late",
    "Not finished",
    "Left out",
    "Stopped at the deadline",
    "Ended at a limit",
    "Nothing fetched",
    "Stalled",
    "Process died, site went on from what was stored",
    "robots.txt ignored, as configured",
    "Focus",
    "Scorers in trouble",
)
CASES: dict[str, tuple[tuple[Site, ...], tuple[Leg, ...], tuple[str, ...]]] = {
    "in time": (
        (site("a", 12),),
        (Leg(10, (A,)),),
        (
            "The deadline was met; 91.8 % of 1 KB/s used; worst second 918 B/s.",
            "1 site, 10 pages, 9 KB of content (9 KB on the line) in 10.0s.",
        ),
    ),
    "late": (
        (site("a", 8),),
        (Leg(10, (A,)),),
        ("0 of 1 deadline met; ", "Late: a by 1.8s."),
    ),
    "resumed past its deadline": (
        (site("a", 10),),
        (
            Leg(7.4, (replace(A, came=steady(7), ends=7.4, state=TaskState.STOPPED,
                              reason="interrupted"),), interrupted=True, pause=3600),
            Leg(8.6, (replace(A, came=steady(8), ends=8.5),)),
        ),
        (
            "0 of 1 deadline met; 84.9 % of 1 KB/s used; worst second 900 B/s.",
            "1 site, 15 pages, 13.5 KB of content (13.5 KB on the line) in 16.0s of",
            "Late: a by 5.9s.",
        ),
    ),
    "killed and resumed": (
        (site("a", 30),),
        (
            Leg(8, (replace(A, came=steady(8), ends=None),), lost=5, pause=60),
            Leg(4, (replace(A, came=steady(4), ends=3.9),)),
        ),
        (
            "The deadline was met; 90.8 % of 1 KB/s used; worst second 908 B/s.",
            "1 site, 12 pages, 10.8 KB of content (10.8 KB on the line) in 12.0s of",
        ),
    ),
    "interrupted before its deadline": (
        (site("a", 30), site("b")),
        (
            Leg(5, (replace(A, came=steady(5), ends=5, state=TaskState.STOPPED,
                            reason="interrupted", to_do=7),), interrupted=True),
        ),
        (
            "Interrupted after 5.0s: 0 of 1 deadline met, 1 still open; ",
            "Not finished: a (interrupted, 7 URLs left), b (waiting).",
        ),
    ),
    "interrupted past its deadline": (
        (site("a", 4),),
        (
            Leg(5, (replace(A, came=steady(5), ends=5, state=TaskState.STOPPED,
                            reason="interrupted", to_do=7),), interrupted=True),
        ),
        (
            "Interrupted after 5.0s: 0 of 1 deadline met; ",
            "Late: a by 1.0s.",
            "Not finished: a (interrupted, 7 URLs left).",
        ),
    ),
    "refused": (
        (site("a", 30),),
        (
            Leg(4, (Script("a", {}, ends=3.6, errors={"refused": 1},
                           given_up={"a": "robots.txt is unavailable: refused"}),)),
        ),
        (
            "Nothing was fetched: a (robots.txt is unavailable: refused).",
            "1 site, 0 pages, ",
            "Errors: 1 × refused.",
        ),
    ),
    "refused by one of two": (
        (site("a", 12), site("b", 12)),
        (
            Leg(10, (A, Script("b", {}, ends=0.5, errors={"refused": 2},
                               given_up={"b": "refused", "img.b": "no answer"}))),
        ),
        ("1 of 2 deadlines met; ", "Nothing fetched: b (refused).", "Given up: img.b (no answer)."),
    ),
    "unauthorised": (
        (site("a"), site("b")),
        (
            Leg(2, (Script("a", {}, ends=0.5, errors={"401": 1}),
                    Script("b", {}, ends=0.5, left_out={"robots.txt": LeftOut(1)}))),
        ),
        (
            "Nothing was fetched: a (401 Unauthorized), b (robots.txt forbids it).",
            "Left out: 1 forbidden by robots.txt.",
        ),
    ),
    "all else forbidden": (
        (site("a"),),
        (Leg(2, (Script("a", {0.1: 900}, ends=0.5, left_out={"robots.txt": LeftOut(34)}),)),),
        (
            "The site is done",
            "Only one page: a (robots.txt forbids all 34 links).",
            "Left out: 34 forbidden by robots.txt.",
        ),
    ),
    "all else elsewhere": (
        (site("a"),),
        (
            Leg(2, (Script("a", {0.1: 900}, ends=0.5, left_out={
                "other host": LeftOut(34, ("https://b.org/x", "https://c.org/", "https://c.org/y"))
            }),)),
        ),
        (
            "The site is done",
            'Only one page: a (all 34 links are on other hosts: include = ["://c.org/"] would let',
            "Left out: 34 on other hosts.",
        ),
    ),
    "some here, some there": (
        (site("a"),),
        (
            Leg(2, (Script("a", {0.1: 900}, ends=0.5, left_out={
                "other host": LeftOut(9), "too-large": LeftOut(1), "beyond depth": LeftOut(3)
            }),)),
        ),
        (
            "The site is done",
            "Only one page: a (of 13 links 3 beyond depth, 1 larger than max_page_size, 9 on oth",
            "Left out: 3 beyond depth, 1 larger than max_page_size, 9 on other hosts.",
        ),
    ),
    "no links": (
        (site("a"),),
        (Leg(2, (Script("a", {0.1: 900}, ends=0.5),)),),
        ("The site is done", "Only one page: a (there are no links on it)."),
    ),
    "one of two refused": (
        (site("a", 12), site("b", 12)),
        (Leg(10, (A, Script("b", {}, ends=0.5, errors={"403": 1}))),),
        ("1 of 2 deadlines met; ", "Nothing fetched: b (403 Forbidden)."),
    ),
    "a host given up": (
        (site("a", 12),),
        (Leg(10, (replace(A, given_up={"img.a": "7 failures in a row"}),)),),
        ("0 of 1 deadline met; ", "Given up: img.a (7 failures in a row)."),
    ),
    "stopped": (
        (site("a", 9), site("b", 12)),
        (
            Leg(10, (replace(A, came=steady(9), ends=9.4, state=TaskState.STOPPED,
                             reason="deadline", to_do=312), replace(A, name="b", came={1.0: 5}))),
        ),
        (
            "1 of 2 deadlines met, 1 site stopped at its deadline; ",
            "Stopped at the deadline: a (312 URLs left).",
            "Left out: 312 left at the deadline.",
        ),
    ),
    "at its bound": (
        (site("a", 12), site("b")),
        (
            Leg(10, (replace(A, state=TaskState.STOPPED, reason="max_pages", to_do=4),
                     replace(A, name="b", came={1.0: 5}, state=TaskState.STOPPED,
                             reason="max_time", to_do=1))),
        ),
        (
            "The deadline was met; ",
            "Ended at a limit: a (max_pages, 4 URLs left), b (max_time, 1 URL left).",
            "Left out: 4 left at max_pages, 1 left at max_time.",
        ),
    ),
    "its bound too late": (
        (site("a", 8),),
        (Leg(10, (replace(A, state=TaskState.STOPPED, reason="max_bytes", to_do=4),)),),
        (
            "0 of 1 deadline met; ",
            "Late: a by 1.8s.",
            "Ended at a limit: a (max_bytes, 4 URLs left).",
            "Left out: 4 left at max_bytes.",
        ),
    ),
    "outgrown": (
        (site("a"),),
        (Leg(10, (replace(A, state=TaskState.STOPPED, reason=OUTGROWN, to_do=4),)),),
        (
            "The site is done; ",
            f"Ended at a limit: a ({OUTGROWN}, 4 URLs left).",
            "Left out: 4 left of sites far larger than expected.",
        ),
    ),
    "six late": (
        tuple(site(name, 8 - k) for k, name in enumerate("abcdef")),
        (Leg(10, tuple(replace(A, name=name, came={1.0: 900}) for name in "abcdef")),),
        (
            "0 of 6 deadlines met; ",
            "Late: f by 6.8s, e by 5.8s, d by 4.8s, c by 3.8s, b by 2.8s, and 1 more.",
        ),
    ),
    "no limit": (
        (site("a"),),
        (Leg(10, (A,), budgets=((0.0, None),)),),
        ("The site is done; no limit, 918 B/s on average; worst second 918 B/s.",),
    ),
    "budget changed": (
        (site("a"),),
        (Leg(10, (A,), budgets=((0.0, BUDGET), (4.0, 3000.0), (6.0, 500.0))),),
        ("The site is done; 75.6 % of a budget of 500 B/s to 3 KB/s used; worst second 918 B/s.",),
    ),
    "budget lifted": (
        (site("a"),),
        (Leg(10, (A,), budgets=((0.0, BUDGET), (4.0, None))),),
        ("The site is done; a budget of 1 KB/s to unlimited, 918 B/s on average; worst second",),
    ),
    "by the hours": (
        (site("a"),),
        (Leg(10, (A,), budgets=((0.0, BUDGET), (4.0, 3000.0)), zone="Europe/Berlin"),),
        ("The site is done; 42.1 % of a budget of 1 KB/s to 3 KB/s by the hours of Europe/Berlin",),
    ),
    "by the hours, which did not turn": (
        (site("a"),),
        (Leg(10, (A,), zone="Europe/Berlin"),),
        ("The site is done; 91.8 % of 1 KB/s used; worst second 918 B/s.",),
    ),
    "by the hours, and resumed with one rate": (
        (site("a"),),
        (
            Leg(6, (replace(A, came=steady(6), ends=6, state=TaskState.STOPPED,
                            reason="interrupted"),), interrupted=True,
                budgets=((0.0, 2000.0), (2.0, 500.0)), zone="Asia/Kathmandu"),
            Leg(4, (replace(A, came=steady(4), ends=3.8),)),
        ),
        ("The site is done; 91.8 % of a budget of 500 B/s to 2 KB/s by the hours of Asia/Kathm",),
    ),
    "harvest": (
        (site("a"), site("b"), site("c"), site("d")),
        (
            Leg(10, (replace(A, judged=verdicts("++-+--+-+-")),
                     replace(A, name="b", came={1.0: 5}, judged=verdicts("--+-")),
                     replace(A, name="c", came={1.0: 5}, judged=verdicts("---")),
                     replace(A, name="d", came={1.0: 5}, judged=verdicts("++-+-")))),
        ),
        (
            "All 4 sites done; ",
            ("Focus: a 5 of 10 pages relevant; 80 % of them within the first 70 %, "
            "b 1 of 4 pages relevant; it came within the first 75 %, "
            "c 0 of 3 pages relevant, "
            "d 3 of 5 pages relevant; all of them within the first 80 %."),
        ),
    ),
    "scorers in trouble, in one leg or both": (
        (site("a"), site("b"), site("c")),
        (
            Leg(6, (replace(A, came=steady(6), ends=6, state=TaskState.STOPPED,
                            reason="interrupted", scorer=scorer(3, "could not score every link")),
                    replace(A, name="b", came={1.0: 5}, ends=6, state=TaskState.STOPPED,
                            reason="interrupted", scorer=scorer(1, "could not score every link")),
                    replace(A, name="c", came={1.0: 5}, ends=6, state=TaskState.STOPPED,
                            reason="interrupted", scorer=scorer(0, ""))),
                interrupted=True),
            Leg(4, (replace(A, came=steady(4), ends=3.8, scorer=scorer(0, "")),
                    replace(A, name="b", came={1.0: 5}, ends=3.8,
                            scorer=scorer(2, "switched off: its process broke off")),
                    replace(A, name="c", came={1.0: 5}, ends=3.8, scorer=scorer(0, "")))),
        ),
        (
            "All 3 sites done; ",
            ("Scorers in trouble: a, scorer own.py:score could not score every link (3 links), "
            "b, scorer own.py:score switched off: its process broke off (3 links)."),
        ),
    ),
    "processes died": (
        (site("a"), site("b"), site("c")),
        (
            Leg(10, (replace(A, restarts=1), replace(A, name="b", came={1.0: 5}, restarts=2),
                     replace(A, name="c", came={1.0: 5}))),
        ),
        (
            "All 3 sites done; ",
            "Process died, site went on from what was stored: a, b (2 times).",
        ),
    ),
    "robots.txt ignored": (
        (Site("a", ("http://a.test/", "http://b.test/x"), access=Access(robots=IGNORE)), site("b")),
        (Leg(10, (A, replace(A, name="b", came={1.0: 5}))),),
        ("All 2 sites done; ", "robots.txt ignored, as configured: a.test, b.test."),
    ),
    "short": (
        (site("a"),),
        (Leg(0.3, (Script("a", {0.1: 5000}, ends=0.25),)),),
        ("The site is done.",),
    ),
    "quota used up": (
        (site("a", 30),),
        (
            Leg(10, (replace(A, came=steady(9), ends=10, state=TaskState.STOPPED,
                             reason="interrupted"),), interrupted=True,
                quota=QuotaUse(Quota(Bytes(8100.0), Period.DAY, ZoneInfo("UTC")), 8100.0,
                               datetime.fromtimestamp(NOON, UTC))),
        ),
        (
            QUOTA_USED,
            "Not finished: a (interrupted).",
        ),
    ),
    "quota spent on the way, and new": (
        (site("a"),),
        (
            Leg(10, (A,), budgets=((0.0, BUDGET), (5.0, 0.0), (6.0, BUDGET)),
                quota=QuotaUse(Quota(Bytes(8100.0), Period.DAY, ZoneInfo("UTC")), 3600.0,
                               datetime.fromtimestamp(NOON, UTC))),
        ),
        (
            ("The site is done; 102 % of what budget and quota allowed (0 B/s to 1 KB/s) used; "
            "worst second 918 B/s; 3.6 KB of 8.1 KB per day used, new on 2026-11-16 00:00 UTC."),
        ),
    ),
    "machine stalled": (
        (site("a", 8), site("b")),
        (
            Leg(10, (A,), stalls=(Stall(2.0, 5.0, 2.5, "starved"), Stall(6.0, 6.6, 0.4, "starved"),
                                  Stall(7.0, 7.7, 0.5, "busy"))),
        ),
        (
            "0 of 1 deadline met; ",
            "Late: a by 1.8s.",
            "Not finished: b (waiting).",
            STALLED,
        ),
    ),
    "a short stall that cost nothing": (
        (site("a", 12),),
        (Leg(10, (A,), stalls=(Stall(2.0, 2.8, 0.5, "starved"),)),),
        ("The deadline was met; ",),
    ),
    "settled in an earlier leg": (
        (site("a", 12), site("b", 30)),
        (
            Leg(10, (replace(A, name="b", ends=10, state=TaskState.STOPPED, reason="interrupted"),
                     replace(A, came={1.0: 9}, ends=3.0)), interrupted=True),
            Leg(5, (replace(A, name="b", came=steady(5), ends=4.9),)),
        ),
        (
            "All 2 deadlines met; ",
            "2 sites, 16 pages, 13.5 KB of content (13.5 KB on the line) in 15.0s of",
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_sentences_of_a_run(case: str) -> None:
    sites, legs, wanted = CASES[case]
    lines = report_text(played(sites, legs)).splitlines()
    assert lines[0].startswith(wanted[0])
    for sentence in wanted[1:]:
        assert any(line.startswith(sentence) for line in lines), lines
    assert ("resumed once." in lines[1]) == (len(legs) == 2)
    said = {line.partition(":")[0] for line in lines}
    for heading in HEADINGS:
        assert (heading in said) == any(line.startswith(f"{heading}:") for line in wanted)


@pytest.mark.parametrize("case", CASES)
def test_the_figures_of_a_run_against_its_script(case: str) -> None:
    sites, legs, _ = CASES[case]
    report = played(sites, legs)
    came = [
        (begin + moment, script.name, size)
        for leg, begin in zip(legs, begins(legs), strict=True)
        for script in leg.sites
        for moment, size in script.came.items()
    ]
    assert report.pages == len(came)
    assert report.bytes == report.wire_bytes == sum(size for _, _, size in came)
    assert report.seconds == pytest.approx(sum(leg.seconds for leg in legs))
    assert [leg.start for leg in report.legs] == pytest.approx(begins(legs))
    points = report.timeline
    assert sum(sum(point.bytes.values()) for point in points) == report.wire_bytes
    assert [point.time for point in points] == sorted(point.time for point in points)
    for point in points:  # no byte is booked before it came, nor long after
        until = sum(size for moment, _, size in came if moment <= point.time + 1e-6)
        booked = sum(sum(p.bytes.values()) for p in points if p.time <= point.time)
        assert booked == until or point.time in unsaved(legs)
    ends = [
        begin + script.ends
        for leg, begin in zip(legs, begins(legs), strict=True)
        for script in leg.sites
        if script.ends is not None and script.reason != "interrupted"
    ]
    last = max(ends) if len(ends) == len(sites) else report.seconds
    total = sum(size for _, _, size in came)
    assert report.mean_rate == pytest.approx(total / last)
    may_come = allowed(legs, last)
    assert report.utilisation == (None if may_come is None else pytest.approx(total / may_come))
    most = worst(came)
    if report.peak_rate_1s is None:
        assert all(script.ends is not None and script.ends < 1 for script in legs[0].sites)
    else:
        assert report.mean_rate <= report.peak_rate_1s <= most
    for found in report.sites:
        assert found.pages == sum(name == found.name for _, name, _ in came)


@pytest.mark.parametrize("case", CASES)
def test_the_promises_of_a_run_against_its_script(case: str) -> None:
    """What "met", "late" and the rest are said of, site by site."""
    sites, legs, _ = CASES[case]
    report = played(sites, legs)
    late = {}
    for asked, found in zip(sites, report.sites, strict=True):
        last = last_of(asked.name, legs)
        assert found.met == met(asked, legs), found
        if last is not None and last.finished is not None:
            assert found.finished == pytest.approx(last.finished)
            assert found.state == last.script.state.value
        if found.met is False and asked.deadline is not None and found.reason != "deadline":
            end = report.seconds if last is None else last.finished or report.seconds
            late[asked.name] = max(end - asked.deadline, 0.0)
        script = Script(asked.name, {}) if last is None else last.script
        assert (found.errors, found.given_up) == (script.errors, script.given_up)
        assert (found.to_do, found.restarts) == (script.to_do, script.restarts)
        ignored = [name for seed in asked.seeds for name in seed.split("/")[2:3]]
        assert list(found.robots_ignored) == (ignored if asked.access.robots == IGNORE else [])
    said = {found.name: by for found, by in late_sites(report)}
    assert said == pytest.approx({name: by for name, by in late.items() if by})
    assert report.stalls == tuple(stall for leg in legs for stall in leg.stalls)
    assert report.interrupted == legs[-1].interrupted
    use = legs[-1].quota
    assert (None if report.quota is None else (report.quota.bytes, report.quota.used)) == (
        None if use is None else (use.quota.bytes, use.used)
    )


@dataclass(frozen=True)
class Last:
    """What the script has of a site's last leg."""

    script: Script
    finished: float | None
    """By the run's time; None: it did not come to an end of its own."""


def last_of(name: str, legs: tuple[Leg, ...]) -> Last | None:
    last = None
    for leg, begin in zip(legs, begins(legs), strict=True):
        for script in leg.sites:
            if script.name == name:
                own_end = script.ends is not None and script.reason != "interrupted"
                last = Last(script, begin + (script.ends or 0.0) if own_end else None)
    return last


def met(asked: Site, legs: tuple[Leg, ...]) -> bool | None:
    """By the script alone; None: no deadline, or it is still open."""
    last = last_of(asked.name, legs)
    if asked.deadline is None:
        return None
    if last is None or last.finished is None:
        return False if sum(leg.seconds for leg in legs) > asked.deadline else None
    pages = [size for leg in legs for s in leg.sites if s.name == asked.name for size in s.came]
    bound = last.script.reason.startswith("max_")
    done = (last.script.state is TaskState.DONE or bound) and not last.script.given_up
    return done and bool(pages) and last.finished <= asked.deadline


def begins(legs: tuple[Leg, ...]) -> list[float]:
    return [sum(leg.seconds for leg in legs[:k]) for k in range(len(legs))]


def allowed(legs: tuple[Leg, ...], last: float) -> float | None:
    """Bytes, by the budgets of the script, until then; None: nothing set a limit for a while."""
    begun = [
        (begin + moment, rate)
        for leg, begin in zip(legs, begins(legs), strict=True)
        for moment, rate in leg.budgets
    ]
    ends = [*(moment for moment, _ in begun[1:]), last]
    if any(rate is None for _, rate in begun):
        return None
    return sum(
        (rate or 0.0) * max(min(end, last) - start, 0.0)
        for (start, rate), end in zip(begun, ends, strict=True)
    )


def unsaved(legs: tuple[Leg, ...]) -> set[float]:
    """Moments in the stretch that a killed leg had not saved."""
    return {begin + leg.seconds - leg.lost for leg, begin in zip(legs, begins(legs), strict=True)}


def worst(came: list[tuple[float, str, int]]) -> int:
    """The most that came in a second and a hundredth, anywhere."""
    return max(
        (
            sum(size for moment, _, size in came if start <= moment <= start + 1.01)
            for start, _, _ in came
        ),
        default=0,
    )


def test_a_site_dropped_in_a_later_leg_keeps_what_it_has() -> None:
    """Its deadline came before its turn did; what an earlier leg stored of it is still there."""
    sites = (site("a", 15),)
    script = Script(
        "a", steady(10), ends=10.0, state=TaskState.STOPPED, reason="interrupted", to_do=3
    )
    before = played(sites, (Leg(10, (script,), interrupted=True),))
    log = RunLog.start_leg("2026-11-15T12-00-00", NOON + 100, before, 10.0)
    waiting = make_report(sites, 5, None, log).sites[0]
    assert (waiting.state, waiting.left_out, waiting.finished) == ("waiting", {}, None)
    dropped = Progress("a", TaskState.STOPPED, ended=0.0, reason="deadline")
    log.observe(15.0, [dropped], {"a": 15.0})
    report = make_report(sites, 5, None, log).sites[0]
    assert (report.state, report.reason, report.finished) == ("stopped", "deadline", 15.0)
    assert (report.pages, report.bytes, report.wire_bytes) == (10, 9000, 9000)
    assert report.left_out == {"deadline": LeftOut(3)}
    assert report.met is False


def test_making_way_is_summed_over_legs() -> None:
    log = RunLog.start_leg("2026", NOON, None, 0.0)
    log.made_way_seconds, log.left_to_others = 3.0, 900.0
    log.observe(5.0, [Progress("a", TaskState.CRAWLING, wire_bytes=100, pages=1)], {})
    log = RunLog.start_leg("2026", NOON, make_report((site("a"),), 5, None, log), 5.0)
    log.made_way_seconds, log.left_to_others = 2.0, 400.0
    done = Progress("a", TaskState.DONE, 0.0, 4.0, wire_bytes=150, earlier_wire_bytes=100, pages=2)
    log.observe(10.0, [done], {"a": 5.0})
    report = make_report((site("a"),), 5, None, log)
    assert [point.left_to_others for point in report.timeline] == [900.0, 400.0]
    assert "made way for others for 5.0s (1.3 KB)" in report_text(report)


@given(st.lists(st.booleans(), min_size=1, max_size=1500))
def test_what_is_said_of_a_harvest_is_true_of_the_pages(judged: list[bool]) -> None:
    """And no vaguer than a curve of 200 points is."""
    script = replace(A, judged=tuple(judged))
    text = report_text(played((site("a"),), (Leg(10, (script,)),)))
    said = re.search(
        r"Focus: a (\d+) of (\d+) pages? relevant"
        r"(?:; (it came|all of them|80 % of them) within the first ([\d.]+) %)?\.",
        text,
    )
    assert said is not None, text
    assert [int(said[1]), int(said[2])] == [sum(judged), len(judged)]
    assert (said[3] is None) == (not any(judged))
    if said[3] is not None:
        places = [place for place, relevant in enumerate(judged, start=1) if relevant]
        least = 1.0 if said[3] != "80 % of them" else 0.8
        needed = next(p for k, p in enumerate(places, 1) if k >= least * len(places))
        assert -0.06 <= float(said[4]) - 100 * needed / len(judged) <= 1.1


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=40),
    st.lists(st.floats(0.05, 3.0), min_size=40, max_size=40),
    st.integers(0, 39),
)
def test_an_average_is_never_above_the_worst_second(
    sizes: list[int], gaps: list[float], cut: int
) -> None:
    """Looks at odd moments, cut into two legs anywhere."""
    earlier, total, elapsed = None, 0, 0.0
    for part in (sizes[:cut], sizes[cut:]):
        log = RunLog.start_leg("2026", NOON, earlier, elapsed)
        before, now = total, elapsed
        for size, gap in zip(part, gaps, strict=False):
            now += gap
            total += size
            looked = Progress(
                "a", TaskState.CRAWLING, 0.0, wire_bytes=total, earlier_wire_bytes=before
            )
            log.observe(now, [looked], {"a": 0.0})
        earlier, elapsed = make_report((site("a"),), 5, None, log), now
    assert earlier is not None
    assert earlier.wire_bytes == total
    if elapsed >= 1:
        assert earlier.peak_rate_1s is not None
        assert earlier.mean_rate <= earlier.peak_rate_1s
    else:
        assert earlier.peak_rate_1s is None
