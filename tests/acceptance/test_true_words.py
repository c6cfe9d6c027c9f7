"""What a crawl says of itself at its end, against a reckoning of the same run from outside.

Each case is one that was told falsely before: resumed, killed, refused, forbidden, stopped, short.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.machine import Machine

from .reckoning import interrupted, reckon, run_leg, stopped_for, worst_second
from .small_web import SmallWeb, serving

NOTHING_FETCHED = 4
BUDGET = 100e3


def sums(report: Any) -> int:
    """Bytes of the timeline."""
    return sum(sum(point["bytes"].values()) for point in report["timeline"])


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_all_legs_of_a_resumed_run_count(tmp_path: Path, ending: signal.Signals) -> None:
    """A megabyte at 100 KB/s takes ten seconds, whichever way it is cut; the deadline is eight."""
    sites = tmp_path / "sites.toml"
    with serving(SmallWeb(100, page_bytes=10_000, random_bytes=4_900)) as web:
        sites.write_text(
            '[budget]\nbandwidth = "100 KB/s"\n[site.web]\n'
            f'seeds = ["{web.seed}"]\ndeadline = "8s"\nexpect = "1 MB"\n'
        )
        words = ("crawl", sites, "--out", tmp_path, "--quiet")
        first = interrupted(ending, *words, web=web, after_seconds=3)
        before = len(web.served)
        second = run_leg("crawl", "--resume", "--out", tmp_path, "--quiet", "--json", web=web)
    report = second.report
    (site,) = report["sites"]
    found = reckon(tmp_path)
    assert report["pages"] == found.pages == 100
    assert report["bytes"] == found.content_bytes
    seen = first.seen_seconds + second.seen_seconds
    assert seen <= report["seconds"] <= first.seconds + second.seconds + 1
    assert site["met"] is False, "ten seconds are more than eight"
    assert site["finished"] > 9
    assert len(report["legs"]) == 2
    assert first.seen_seconds <= report["legs"][1]["start"] <= first.seconds + 1
    assert sums(report) >= 100 * 10_000, "the first leg's bytes are part of it"
    assert report["wire_bytes"] == sums(report)
    early = sum(
        sum(point["bytes"].values())
        for point in report["timeline"]
        if point["time"] <= report["legs"][1]["start"] + 0.01
    )
    sent = sum(size for _, size in web.served[:before])
    assert 0.6 * sent <= early <= 1.2 * sent, "in the seconds in which they came"
    assert report["peak_rate_1s"] <= 1.25 * BUDGET, "no byte counts in a second it did not come in"
    assert report["mean_rate"] <= report["peak_rate_1s"]
    allowed = BUDGET * (report["sites"][0]["finished"] - report["budget_changes"][0][0])
    assert report["utilisation"] == pytest.approx(sums(report) / allowed, rel=0.02)
    said = run_leg("report", tmp_path).out
    assert said.startswith("0 of 1 deadline met")
    assert "resumed once" in said


def test_a_refused_site_is_not_met_and_has_its_own_code(tmp_path: Path) -> None:
    words = ("crawl", "http://127.0.0.1:1/", "--bandwidth", "1MB/s", "--deadline", "30s")
    leg = run_leg(*words, "--out", tmp_path, "--quiet")
    assert leg.code == NOTHING_FETCHED
    first = leg.out.splitlines()[0]
    assert first.startswith("Nothing was fetched: 127.0.0.1:1 (")
    assert "refused" in first
    assert "was met" not in leg.out
    assert reckon(tmp_path).pages == 0


@pytest.mark.parametrize(
    ("status", "robots", "why"),
    [
        (401, b"", "401 Unauthorized"),
        (403, b"", "403 Forbidden"),
        (200, b"User-agent: *\nDisallow: /\n", "robots.txt forbids"),
    ],
)
def test_nothing_fetched_is_said_first(
    tmp_path: Path, status: int, robots: bytes, why: str
) -> None:
    with serving(SmallWeb(3, status=status, robots=robots)) as web:
        leg = run_leg("crawl", web.seed, "--out", tmp_path, "--quiet")
    assert leg.code == NOTHING_FETCHED
    assert leg.out.startswith("Nothing was fetched: ")
    assert why in leg.out.splitlines()[0]
    found = reckon(tmp_path)
    assert found.pages == 0
    errors = [f"{count} × {kind}" for kind, count in found.statuses.items()]
    assert ("Errors:" in leg.out) == bool(errors)
    assert all(f"Errors: {error}." in leg.out for error in errors)


def test_a_name_that_does_not_resolve_is_said(tmp_path: Path) -> None:
    leg = run_leg("crawl", "http://nowhere.invalid/", "--out", tmp_path, "--quiet")
    assert leg.code == NOTHING_FETCHED
    assert leg.out.startswith("Nothing was fetched: nowhere.invalid (")


def test_a_dead_site_beside_a_live_one_is_named(tmp_path: Path) -> None:
    with serving(SmallWeb(5)) as web:
        words = ("crawl", web.seed, "http://127.0.0.1:1/", "--deadline", "60s")
        leg = run_leg(*words, "--out", tmp_path, "--quiet")
        strict = run_leg(*words, "--out", tmp_path / "again", "--quiet", "--strict")
    assert leg.code == 0
    assert leg.out.startswith("1 of 2 deadlines met")
    assert "Nothing fetched: 127.0.0.1:1 (" in leg.out
    assert strict.code == 3
    assert reckon(tmp_path).pages == 5


def test_a_site_stopped_at_its_deadline_is_neither_met_nor_late(tmp_path: Path) -> None:
    sites = tmp_path / "sites.toml"
    out = tmp_path / "data"
    with serving(SmallWeb(400, page_bytes=10_000, random_bytes=4_900)) as web:
        sites.write_text(
            '[budget]\nbandwidth = "200 KB/s"\n[site.web]\n'
            f'seeds = ["{web.seed}"]\ndeadline = "3s"\non_deadline = "stop"\nexpect = "4 MB"\n'
        )
        leg = run_leg("crawl", sites, "--out", out, "--quiet")
    assert leg.code == 0
    report = json.loads(next(out.glob("runs/*/report.json")).read_bytes())
    (site,) = report["sites"]
    stored = reckon(out).pages
    assert (site["state"], site["met"], site["pages"]) == ("stopped", False, stored)
    found = min(2 * stored, 399)
    assert found - stored <= site["to_do"] <= 400 - stored
    lines = leg.out.splitlines()
    assert lines[0].startswith("0 of 1 deadline met, 1 site stopped at its deadline; ")
    assert f"Stopped at the deadline: web ({site['to_do']:,} URLs left)." in lines
    assert not any(line.startswith(("Late", "Not finished")) for line in lines)


def test_an_average_is_never_above_the_worst_second(tmp_path: Path) -> None:
    with serving(SmallWeb(30, page_bytes=20_000)) as web:
        report = run_leg("crawl", web.seed, "--out", tmp_path, "--quiet", "--json").report
    if report["peak_rate_1s"] is None:
        assert report["seconds"] < 1.2
    else:
        assert report["mean_rate"] <= report["peak_rate_1s"]
    with serving(SmallWeb(30, page_bytes=20_000, random_bytes=9_900)) as web:
        words = ("crawl", web.seed, "--bandwidth", "250KB/s", "--out", tmp_path / "slow")
        report = run_leg(*words, "--quiet", "--json").report
        seen = worst_second(web.served)
    assert report["mean_rate"] <= report["peak_rate_1s"] <= 1.3 * max(seen, 250e3)


def test_a_machine_that_stands_still_is_named(tmp_path: Path, machine: Machine) -> None:
    """Stopped for two seconds and a half, as by a machine that gives no CPU."""
    sites = tmp_path / "sites.toml"
    with serving(SmallWeb(60, page_bytes=10_000, random_bytes=4_900)) as web:
        sites.write_text(
            '[budget]\nbandwidth = "150 KB/s"\n[site.web]\n'
            f'seeds = ["{web.seed}"]\ndeadline = "60s"\nexpect = "600 KB"\n'
        )
        began = time.monotonic()
        leg = stopped_for(2.5, "crawl", sites, "--out", tmp_path, "--quiet", web=web)
    assert leg.code == 0, leg.err
    (report,) = (json.loads(path.read_bytes()) for path in tmp_path.glob("runs/*/report.json"))
    lost = sum(stall["seconds"] for stall in report["stalls"] if stall["cause"] == "starved")
    assert 2.2 < lost < 4.5 + machine.lost_seconds(began, time.monotonic())
    assert "Stalled: the machine gave no CPU for " in leg.out


def test_progress_and_summary_agree_on_lateness(tmp_path: Path) -> None:
    sites = tmp_path / "sites.toml"
    with serving(SmallWeb(40, page_bytes=10_000, random_bytes=4_900)) as web:
        sites.write_text(
            '[budget]\nbandwidth = "150 KB/s"\n[site.web]\n'
            f'seeds = ["{web.seed}"]\ndeadline = "1s"\nexpect = "400 KB"\n'
        )
        leg = run_leg("crawl", sites, "--out", tmp_path)
    (ended,) = (line for line in leg.err.splitlines() if "web: done" in line)
    late = ended.rpartition(", ")[2].removesuffix(" late")
    assert f"Late: web by {late}." in leg.out
    page = next(tmp_path.glob("runs/*/report.html")).read_text(encoding="utf-8")
    assert f"✗ {late} late" in page


def test_a_crawl_interrupted_while_it_plans_keeps_its_time(tmp_path: Path) -> None:
    """The first look at a slow site takes its time, and that time counts."""
    with serving(SmallWeb(20, page_bytes=1000, seconds_per_page=0.7)) as web:
        words = ("crawl", web.seed, "--deadline", "1s", "--bandwidth", "1MB/s", "--out", tmp_path)
        first = interrupted(signal.SIGINT, *words, "--quiet", web=web, after_seconds=1.5)
        assert first.code == 130
        web.seconds_per_page = 0.0
        second = run_leg("crawl", "--resume", "--out", tmp_path, "--quiet", "--json", web=web)
    report = second.report
    assert report["seconds"] >= first.seen_seconds + second.seen_seconds
    assert report["sites"][0]["met"] is False
    assert report["pages"] == reckon(tmp_path).pages == 20


def test_two_processes_resumed_are_one_run(tmp_path: Path) -> None:
    with serving(SmallWeb(60, page_bytes=8000)) as one, serving(SmallWeb(10)) as two:
        words = ("crawl", one.seed, two.seed, "--bandwidth", "100KB/s", "--processes", 2)
        first = interrupted(
            signal.SIGINT, *words, "--out", tmp_path, "--quiet", web=one, after_seconds=3
        )
        assert first.code == 130
        second = run_leg("crawl", "--resume", "--out", tmp_path, "--quiet", "--json", web=one)
    assert second.code == 0, second.err
    report = second.report
    assert report["pages"] == reckon(tmp_path).pages == 70
    assert report["wire_bytes"] == sums(report) >= report["bytes"]
    assert report["peak_rate_1s"] <= 1.4 * BUDGET
    assert first.seen_seconds + second.seen_seconds <= report["seconds"]
