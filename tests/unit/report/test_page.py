"""The report page: right words, right shapes, nothing of a stranger's text becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.report.reports import SITE, make_run_report, simple_report

from headgate.cli.main import command_parser
from headgate.model.run_report import (
    FocusReport,
    HostFigures,
    Leg,
    RunReport,
    SiteReport,
    Stall,
    TimelinePoint,
)
from headgate.report.charts.run_charts import TimelineBins
from headgate.report.page import promises, report_page
from headgate.report.text import report_text
from headgate.report.words import ReportWords

DOCS = Path(__file__).parents[3] / "docs"
changed = msgspec.structs.replace
ON_TIME = changed(SITE, name="early", deadline=12.0, met=True)
LATE = changed(SITE, name="tardy", deadline=8.0, met=False)
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Elements(HTMLParser):
    """Every element of a page with its attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def having(self, class_: str, tag: str = "") -> list[dict[str, str | None]]:
        return [
            attributes
            for name, attributes in self.found
            if class_ in (attributes.get("class") or "").split() and tag in ("", name)
        ]


def headline(report: RunReport) -> str:
    return ReportWords.from_report(report).headline


def test_the_headline_says_promised_against_kept() -> None:
    assert headline(simple_report(ON_TIME, LATE)) == (
        "1 of 2 deadlines met; 98.7 % of 100 KB/s used; worst second 102 KB/s"
    )
    assert headline(simple_report(ON_TIME)).startswith("The deadline was met; ")
    assert headline(simple_report(SITE)).startswith("The site is done; ")
    both = (ON_TIME, changed(ON_TIME, name="too"))
    assert headline(simple_report(*both)).startswith("All 2 deadlines met; ")


def test_the_headline_without_a_limit_or_with_several() -> None:
    free = simple_report(budget=None, budget_changes=((0.0, None),), utilisation=None)
    assert "no limit, 98.7 KB/s on average" in headline(free)
    steps = simple_report(budget_changes=((0.0, 100_000.0), (5.0, 50_000.0)))
    assert "of a budget of 50 KB/s to 100 KB/s used" in headline(steps)


def test_an_interrupted_run_says_so_and_leaves_deadlines_open() -> None:
    cut = changed(ON_TIME, state="crawling", finished=None, met=None)
    assert headline(simple_report(cut, LATE, interrupted=True)).startswith(
        "Interrupted after 10.0s: 0 of 2 deadlines met, 1 still open; "
    )


def test_promises_are_judged() -> None:
    standings = [promise.standing for promise in promises(simple_report(ON_TIME))]
    assert standings == ["kept", "", "kept", "kept"]
    bad = simple_report(LATE, peak_rate_1s=120_000.0)
    assert [promise.standing for promise in promises(bad)] == ["broken", "", "broken", "kept"]
    assert promises(bad)[0].promised == "latest: tardy, by 2.0s"


@pytest.mark.parametrize(("count", "seconds"), [(1, 5), (6, 180), (20, 3600), (100, 3 * 86400)])
def test_every_site_is_drawn_in_both_charts_and_the_table(count: int, seconds: float) -> None:
    report = make_run_report(count, seconds, late=True)
    page = report_page(report)
    elements = Elements(page)
    assert elements.open == []
    assert len(elements.having("band")) == 2 * count  # for two widths of screen
    assert len(elements.having("name")) == 2 * count
    assert len(elements.having("planned", "rect")) >= 2 * count
    assert len(elements.having("swatch")) == count
    assert len(elements.having("deadline", "line")) <= 2 * sum(
        site.deadline is not None for site in report.sites
    )
    assert len(elements.having("remark")) >= sum(site.met is False for site in report.sites)
    assert len(page) < 300_000


def test_nothing_is_fetched() -> None:
    page = report_page(make_run_report(6, 180))
    assert "default-src 'none'" in page
    for _, attributes in Elements(page).found:
        assert not {"src", "href", "xlink:href", "action", "style"} & attributes.keys()
    assert re.findall(r"url\(([^)]*)\)", page) == ["#late"]
    assert "@import" not in page
    assert "://" not in page


def test_hostile_names_stay_text() -> None:
    site = changed(
        LATE,
        name=HOSTILE,
        reason=HOSTILE,
        state="stopped",
        errors={HOSTILE: 3},
        given_up={HOSTILE: HOSTILE},
    )
    report = simple_report(site, stamp=HOSTILE, policy=HOSTILE)
    elements = Elements(report_page(report))
    tags = [tag for tag, _ in elements.found]
    assert tags.count("script") == 1
    assert "img" not in tags
    assert not any(name.startswith("on") for _, attributes in elements.found for name in attributes)
    assert any(HOSTILE in text for text in elements.text)
    assert "\x1b" not in report_text(simple_report(changed(SITE, errors={"\x1b[31m": 1})))


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_gives_a_sound_page(name: str, other: str) -> None:
    site = changed(LATE, name=name, state=other, reason=other, given_up={other: name})
    page = report_page(simple_report(site, changed(SITE, name=f"{name}2")))
    assert Elements(page).open == []
    page.encode("utf-8")


def test_the_harvest_is_drawn_and_told() -> None:
    focus = FocusReport("topic", HOSTILE, 100, 20, ((20, 16), (50, 18), (100, 20)))
    own = FocusReport("mine:score", faults=3, trouble="could not score every link: ValueError")
    report = simple_report(changed(SITE, focus=focus), changed(SITE, name="b", focus=own))
    page = Elements(report_page(report))
    assert (
        len(page.having("line", "path")) == 2 * 2
    )  # and an even harvest; for two widths of screen
    words = "20 of 100 pages relevant; 80 % of them within the first 20 %"
    assert any(words in text for text in page.text)
    text = report_text(report)
    assert f"Focus: docs {words}." in text
    trouble = "b, scorer mine:score could not score every link: ValueError (3 links)"
    assert f"Scorers in trouble: {trouble}." in text
    assert any(trouble in line for line in page.text)


def test_odd_runs_are_drawn() -> None:
    never = changed(SITE, name="never", state="waiting", started=None, finished=None, pages=0)
    unplanned = changed(SITE, name="free", planned_start=None, planned_end=None)
    instant = changed(SITE, name="instant", finished=0.0)
    report = simple_report(
        never, unplanned, instant, budget_changes=((0.0, 1e5), (2.0, None), (4.0, 1e9), (6.0, 0.0))
    )
    page = Elements(report_page(report))
    assert len(page.having("budget", "path")) == 2 * 4
    assert len(page.having("beyond", "path")) == 2 * 2
    assert "not started" in page.text
    nothing = simple_report(seconds=0.0, sites=(), timeline=(), budget_changes=())
    assert Elements(report_page(nothing)).having("band") == []


def test_no_byte_of_the_timeline_is_lost() -> None:
    generator = np.random.default_rng(3)
    moments = np.cumsum(generator.uniform(0.05, 7.0, 900)).tolist()
    timeline = [TimelinePoint(moment, {"a": 1000, "b": k}) for k, moment in enumerate(moments)]
    bins = TimelineBins.from_timeline(timeline)
    assert bins.count <= 250
    assert sum(bins.rates["a"]) * bins.seconds == pytest.approx(900 * 1000)
    assert sum(bins.rates["b"]) * bins.seconds == pytest.approx(sum(range(900)))


def test_a_column_is_never_shorter_than_a_second() -> None:
    bins = TimelineBins.from_timeline([TimelinePoint(0.25 * k, {"a": 25}) for k in range(1, 21)])
    assert (bins.seconds, bins.count) == (1.0, 5)
    assert bins.rates["a"] == pytest.approx([100.0] * 5)


def test_the_text_names_what_went_wrong() -> None:
    stopped = changed(SITE, name="cut", state="stopped", reason="a fault", errors={"404": 2})
    many: list[SiteReport] = [changed(LATE, name=f"late-{k}") for k in range(7)]
    lines = report_text(simple_report(stopped, *many)).splitlines()
    assert lines[0].startswith("0 of 7 deadlines met; ")
    late = [f"late-{k} by 2.0s" for k in range(5)]
    assert lines[2] == f"Late: {', '.join(late)}, and 2 more."
    assert lines[3] == "Not finished: cut (a fault)."
    assert lines[4] == "Errors: 2 × 404."


@pytest.mark.parametrize(
    "struct", [RunReport, SiteReport, FocusReport, TimelinePoint, HostFigures, Leg, Stall]
)
def test_every_key_of_the_report_is_documented(struct: type[msgspec.Struct]) -> None:
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    for key in struct.__struct_fields__:
        assert f"`{key}`" in page


@pytest.mark.parametrize("command", ["report", "export"])
def test_every_option_is_documented(command: str) -> None:
    page = (DOCS / f"{command}.md").read_text(encoding="utf-8")
    for action in command_parser(command)._actions:
        for option in action.option_strings:
            assert option in ("-h", "--help") or f"`{option}" in page
