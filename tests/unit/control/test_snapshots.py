"""Looks become snapshots: shares, ends foreseen, and only what may have changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from headgate.control.forecast import Forecast, Source
from headgate.control.snapshots import Moment, Snapshots
from headgate.crawling.progress import Progress, TaskState
from headgate.model.budget import Period, Quota, QuotaUse
from headgate.model.run_report import SiteReport
from headgate.model.units import Bytes


def site(name: str, state: str, **other: object) -> SiteReport:
    facts: dict[str, object] = {
        "pages": 1, "fetches": 1, "bytes": 10, "wire_bytes": 200_000, "errors": {"404": 2},
        "started": 0.0, "finished": None, "deadline": 30.0, "met": None,
        "planned_start": None, "planned_end": None,
    }  # fmt: skip
    return SiteReport(name, state, **(facts | other))  # type: ignore[arg-type]


class Crawl:
    """Two sites, as a crawl lets itself be looked at; remembers what it was asked for."""

    def __init__(self) -> None:
        self.sites = {"wiki": site("wiki", "crawling"), "past": site("past", "waiting")}
        self.asked: list[list[str]] = []

    def look(self, now: float, *running: str, share: float = 50_000.0, **ends: float) -> Moment:
        reports = [
            Progress(name, TaskState.CRAWLING, wire_bytes=200_000, to_do=5, fetches=5)
            for name in running
        ]
        rates = dict.fromkeys(running, 40_000.0)
        shares = dict.fromkeys(running, share)
        return Moment(
            now,
            reports,
            granted=shares,
            measured=rates,
            budget=300e3,
            making_way=False,
            quota=None,
            standing=self._standing,
            ends=ends,
        )

    def _standing(self, names: Sequence[str] | None) -> Sequence[SiteReport]:
        self.asked.append(list(self.sites) if names is None else sorted(names))
        return [self.sites[name] for name in self.asked[-1]]


def snapshots() -> Snapshots:
    made = Snapshots(lambda site, now: f"{site.name} at {now:g}")
    made.planned({name: Forecast(400_000.0, Source.USER) for name in ("wiki", "past")})
    return made


def test_a_running_site_ends_when_what_is_left_has_come_at_its_rate() -> None:
    shown = snapshots().take(Crawl().look(10.0, "wiki"))
    wiki = next(site for site in shown.sites if site.name == "wiki")
    assert wiki.share == 50_000.0
    assert wiki.eta == pytest.approx(10.0 + 200_000 / 40_000)
    assert wiki.errors == 2
    assert wiki.missed == ""


def test_no_share_is_no_bound() -> None:
    shown = snapshots().take(Crawl().look(10.0, "wiki", share=math.inf))
    assert {site.name: site.share for site in shown.sites} == {"wiki": None, "past": None}


def test_after_the_first_look_only_sites_that_run_or_ran_are_asked_for() -> None:
    crawl, made = Crawl(), snapshots()
    made.take(crawl.look(1.0, "wiki"))
    crawl.sites["wiki"] = site("wiki", "done", finished=2.0, met=True)
    shown = made.take(crawl.look(2.0, "wiki"))
    last = made.take(crawl.look(3.0))
    made.take(crawl.look(4.0))
    assert crawl.asked == [["wiki", "past"], ["wiki"], ["wiki"], []]
    assert [site.name for site in shown.changed or ()] == ["wiki"]
    assert [site.name for site in last.changed or ()] == ["wiki"], "it had a rate when it ended"
    assert shown.rate == 40_000.0
    assert last.rate == 0.0
    assert len(last.sites) == 2


def test_what_the_manager_foresees_counts_more_than_the_rate_of_the_moment() -> None:
    crawl, made = Crawl(), snapshots()
    made.take(crawl.look(1.0, "wiki"))
    shown = made.take(crawl.look(2.0, "wiki", wiki=25.0, past=28.0))
    assert {site.name: site.eta for site in shown.sites} == {"wiki": 25.0, "past": 28.0}
    assert shown.eta == 28.0


def test_while_a_quota_is_used_up_no_end_is_foreseen() -> None:
    """It was "194 of 0 B/s; ends in 2d 22h", by the bytes of the moment before."""
    moment = datetime(2026, 11, 15, 12, tzinfo=UTC)
    quota = Quota(Bytes(1000.0), Period.MONTH, ZoneInfo("UTC"))
    crawl, made = Crawl(), snapshots()
    look = crawl.look(2.0, "wiki", wiki=25.0, past=28.0)
    shown = made.take(replace(look, quota=QuotaUse(quota, 1000.0, moment)))
    assert [site.eta for site in shown.sites] == [None, None]
    assert shown.paused_until == "12-01 00:00"
    assert made.take(look).eta == 28.0, "and it goes on"


@pytest.mark.parametrize(("left", "eta"), [(190e3, None), (250e3, 15.0)])
def test_by_its_rate_a_site_ends_if_the_quota_lasts(left: float, eta: float | None) -> None:
    """Of 200 KB to come 190 are left until December: "ends in about 1h 01m"."""
    moment = datetime(2026, 11, 15, 12, tzinfo=UTC)
    quota = Quota(Bytes(1e6), Period.MONTH, ZoneInfo("UTC"))
    look = replace(Crawl().look(10.0, "wiki"), quota=QuotaUse(quota, 1e6 - left, moment))
    shown = snapshots().take(look)
    assert shown.sites[0].eta == (None if eta is None else pytest.approx(eta))
    assert shown.paused_until == ""


def test_why_a_site_that_ended_missed_its_deadline_is_asked_of_the_words() -> None:
    crawl = Crawl()
    crawl.sites["wiki"] = site("wiki", "stopped", finished=2.0, met=False)
    shown = snapshots().take(crawl.look(5.0, "wiki"))
    assert [site.missed for site in shown.sites] == ["wiki at 5", ""]


def test_an_interrupted_site_is_not_in_time() -> None:
    """It was "stopped, 6.5s before its deadline", as if it had come to its end."""
    crawl = Crawl()
    crawl.sites["wiki"] = site("wiki", "stopped", finished=2.0, met=None, reason="interrupted")
    crawl.sites["past"] = site("past", "stopped", finished=2.0, met=True, reason="max_pages")
    shown = Snapshots(lambda *_: "").take(crawl.look(5.0, "wiki", "past"))
    assert {site.name: site.late for site in shown.sites} == {"wiki": None, "past": -28.0}
