"""What is seen of a running crawl: in a terminal, in a pipe, and when nobody wants to see it."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console

from headgate.cli.consoles import ProgressConsole
from headgate.cli.live_view import ProgressView
from headgate.cli.terminal import OpeningWords
from headgate.features.crawl.view.progress import progress_table
from headgate.model.snapshot import SiteSnapshot, Snapshot
from headgate.model.units import SizeRange

WIKI = SiteSnapshot(
    name="wiki",
    state="crawling",
    pages=120,
    to_do=30,
    wire_bytes=200_000,
    rate=37_000.0,
    share=50_000.0,
    expected=SizeRange.exactly(400_000.0),
    deadline=30.0,
    eta=27.0,
    errors=0,
)
WAITING = replace(WIKI, name="next", state="waiting", pages=0, wire_bytes=0, rate=0.0, eta=None)
DONE = replace(WIKI, name="past", state="done", rate=0.0, share=None, eta=8.0, errors=3)
LATE = replace(WIKI, name="tardy", eta=41.0)


def at(time: float, *sites: SiteSnapshot) -> Snapshot:
    return Snapshot(time, 300_000.0, sites)


def table_lines(snapshot: Snapshot, most_rows: int = 20, width: int = 120) -> list[str]:
    console = Console(file=io.StringIO(), width=width, record=True, color_system=None)
    console.print(progress_table(snapshot, most_rows, width))
    return console.export_text().splitlines()


def words(line: str) -> str:
    return " ".join(line.split())


def plain(snapshots: Iterable[Snapshot]) -> list[str]:
    console = Console(file=io.StringIO(), force_terminal=False, width=80, record=True)
    view = ProgressView(console)
    view.start()
    for snapshot in snapshots:
        view.show(snapshot)
    view.stop()
    return console.export_text().splitlines()


def test_a_row_says_how_a_site_fares() -> None:
    heading, wiki, tardy, waiting, done, whole = table_lines(at(15.0, DONE, WAITING, WIKI, LATE))
    assert heading.split()[:4] == ["site", "state", "pages", "size"]
    assert words(wiki) == "wiki crawling 120 50% 200 KB ▰▰▰▰▱▱ 37 of 50 KB/s in 12.0s 3.0s early"
    assert words(tardy).endswith("in 26.0s 11.0s late")
    assert words(waiting) == "next waiting 0 0 B ? 30.0s"
    assert words(done) == "past done 120 200 KB at 8.0s 22.0s early 3"
    assert words(whole) == "4 sites, 15.0s 1 ended 360 600 KB ▰▱▱▱▱▱ 74 of 300 KB/s ? 1 late 3"


def test_many_sites_are_summed_up_and_running_ones_stay() -> None:
    sites = [replace(DONE, name=f"done-{k}") for k in range(50)]
    lines = table_lines(at(1.0, *sites, WIKI, WAITING))
    assert len(lines) == 1 + 19 + 1 + 1
    assert lines[1].startswith("wiki")
    assert lines[2].startswith("next")
    assert lines[-2].strip() == "… 33 more"
    assert lines[-1].startswith("52 sites")


@pytest.mark.parametrize("width", [120, 100, 80, 60, 50])
def test_no_figure_is_cut_in_a_narrow_terminal(width: int) -> None:
    lines = table_lines(at(15.0, replace(WIKI, name="a-rather-long-name.example"), DONE), 20, width)
    assert all(cell_len(line) <= width for line in lines)
    figures = "\n".join(line[7:] for line in lines[1:])
    assert "early" in figures
    assert "/s" in figures
    if width >= 60:
        assert "in 12.0s" in figures
    assert "…" not in "".join(line.split("  ", 1)[1] for line in lines)


@given(st.text(max_size=20), st.floats(0, 1e9), st.floats(0, 1e9), st.integers(8, 200))
def test_any_name_and_rate_make_a_table(name: str, rate: float, share: float, width: int) -> None:
    site = replace(WIKI, name=name, rate=rate, share=share)
    assert len(table_lines(at(1.0, site), 5, width)) == 3


def test_a_terminal_shows_the_last_table_and_gets_its_cursor_back() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, height=30)
    view = ProgressView(console)
    view.start()
    for second in range(3):
        view.show(at(float(second), replace(WIKI, pages=100 + second)))
    view.stop()
    assert file.getvalue().count("102") >= 1
    assert file.getvalue().endswith("\x1b[?25h")


def test_a_pipe_gets_lines_for_changes_and_every_five_seconds() -> None:
    waiting = replace(WIKI, state="waiting", pages=0, wire_bytes=0, rate=0.0, eta=None)
    done = replace(WIKI, state="done", eta=12.0, rate=0.0, errors=2)
    story = [
        at(0.0, waiting),
        *(at(float(second), WIKI) for second in range(1, 12)),
        at(12.0, done),
    ]
    lines = plain(story)
    assert lines == [
        "[   1.0s] wiki: crawling, deadline 30.0s",
        "[   5.0s] 0 of 1 site ended, 1 running; 120 pages, 200 KB; 37 of 300 KB/s; ends in 22.0s",
        "[  10.0s] 0 of 1 site ended, 1 running; 120 pages, 200 KB; 37 of 300 KB/s; ends in 17.0s",
        "[  12.0s] wiki: done, 120 pages, 200 KB, 2 errors, 18.0s before its deadline",
        "[  12.0s] 1 of 1 site ended, 0 running; 120 pages, 200 KB; 2 errors",
    ]


def test_escapes_in_a_name_do_not_reach_the_terminal() -> None:
    hostile = replace(WIKI, name="a\x1b]0;owned\x07\nb")
    assert "\x1b" not in "".join(plain([at(60.0, hostile)]))
    assert "\x1b" not in "".join(table_lines(at(1.0, hostile)))


def test_a_terminal_that_goes_away_does_not_end_the_crawl() -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    for terminal in (True, False):
        view = ProgressView(ProgressConsole(file=Gone(), force_terminal=terminal))
        view.start()
        view.show(at(60.0, WIKI))
        view.show(at(70.0, WIKI))
        view.stop()


def test_a_pause_says_until_when_and_promises_no_end() -> None:
    """It was "194 of 0 B/s; ends in 2d 22h"."""
    paused = replace(WIKI, rate=194.0, share=0.0, eta=None)
    snapshot = replace(at(60.0, paused), budget=0.0, paused_until="12-01 00:00")
    _, row, whole = table_lines(snapshot)
    assert words(row) == "wiki crawling 120 50% 200 KB paused ? 30.0s"
    assert "paused until 12-01 00:00" in whole
    assert "of 0 B/s" not in whole
    (line,) = plain([replace(snapshot, sites=())])
    assert line.endswith("paused until 12-01 00:00: the quota is used up")
    for width in (40, 60, 80):
        assert "paused" in table_lines(snapshot, width=width)[-1]


def test_a_missed_deadline_is_no_lateness() -> None:
    stopped = replace(DONE, state="stopped", eta=30.4, missed="stopped, 312 URLs left")
    _, row, whole = table_lines(at(31.0, stopped))
    assert "stopped, 312 URLs left" in row
    assert "late" not in row
    assert "1 missed" in whole
    said = plain([at(1.0, WIKI), at(31.0, replace(stopped, name="wiki"))])
    assert any("deadline missed: stopped, 312 URLs left" in line for line in said)


def test_opening_words_go_when_others_come() -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    opening = OpeningWords(quiet=False, stream=terminal)
    opening.say("Opening data …")
    opening.say("Planning …")
    opening.clear()
    opening.clear()
    assert terminal.getvalue() == "\r\x1b[2KOpening data …\r\x1b[2KPlanning …\r\x1b[2K"
    nobody = io.StringIO()
    OpeningWords(quiet=False, stream=nobody).say("Opening data …")
    assert nobody.getvalue() == ""


def test_what_is_not_well_known_is_said_to_be_about() -> None:
    vague = replace(WIKI, expected=SizeRange(250e3, 800e3, 3e6))
    line = words(table_lines(at(20.0, vague))[1])
    assert "about 25% 200 KB" in line
    assert "in about 7.0s" in line
    assert "about" not in " ".join(table_lines(at(20.0, WIKI, DONE)))
    assert "ends in about 7.0s" in " ".join(plain([at(20.0, vague)]))
