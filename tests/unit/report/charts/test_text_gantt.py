"""The chart of characters: reads right without any colour."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.charts.plans import make_plan, make_site, make_stopped_site

from headgate.model.plan import PlannedSite
from headgate.report.charts.text_gantt import MOST_ROWS, CellKind, Row, draw, worth_showing


def text(row: Row) -> str:
    return "".join(character for character, _ in row.cells).rstrip()


def rows(*sites: PlannedSite, width: int = 25) -> list[str]:
    return [text(row) for row in draw(make_plan(*sites), width).rows]


def test_bars_follow_one_another() -> None:
    first, second = rows(make_site("a", [(0, 10, 1)]), make_site("b", [(10, 20, 1)]))
    assert first.startswith("█████████")
    assert second.strip().startswith("▐███████")
    assert len(second) - len(second.lstrip()) == len(first) - 1


def test_the_end_of_a_bar_is_drawn_in_eighths() -> None:
    long = make_site("long", [(0, 20.2, 1)])
    half = rows(make_site("half", [(0, 10.5, 1)]), long, width=25)[0]
    assert half.endswith(("▎", "▍"))


def test_what_is_late_differs_from_what_is_on_time() -> None:
    late, _ = rows(make_site("late", [(0, 15, 1)], deadline=10), make_site("x", [(0, 20, 1)]))
    assert late.startswith("█████████")
    assert "│▒▒▒▒" in late
    assert late.rstrip("▒").endswith("│")


def test_a_deadline_ahead_is_marked() -> None:
    bar, _ = rows(make_site("a", [(0, 5, 1)], deadline=10), make_site("x", [(0, 20, 1)]))
    assert bar.startswith("████")
    assert bar.endswith("  │")


def test_a_deadline_right_at_the_end_is_marked_after_the_bar() -> None:
    bar, _ = rows(make_site("a", [(0, 10, 1)], deadline=10), make_site("x", [(0, 20, 1)]))
    assert bar.endswith("│")
    assert "▒" not in bar


def test_a_far_deadline_points_beyond_the_chart() -> None:
    bar, _ = rows(make_site("a", [(0, 10, 1)], deadline=1000), make_site("x", [(0, 20, 1)]))
    assert bar.endswith("›")
    assert bar.startswith("████████")


def test_waiting_between_two_parts_is_shown() -> None:
    bar = rows(make_site("a", [(0, 5, 1), (15, 20, 1)]))[0]
    assert "███··" in bar
    assert bar.count("·") > 5


def test_a_short_visit_is_never_invisible() -> None:
    _, short = rows(make_site("x", [(0, 20, 1)]), make_site("a", [(5, 5.001, 1)]))
    assert short.strip() == "▏"


def test_a_site_without_a_turn_shows_only_its_deadline() -> None:
    stopped = make_stopped_site("b", [], deadline=20, left=500)
    rows = draw(make_plan(make_site("a", [(0, 40, 100)]), stopped), 60).rows
    assert {kind for _, kind in rows[1].cells} == {CellKind.EMPTY, CellKind.DEADLINE}


def test_the_line_shows_how_much_is_used() -> None:
    line = text(draw(make_plan(make_site("a", [(0, 10, 100), (10, 20, 50)])), 25).line)
    assert line.startswith("█████")
    assert "▄▄▄▄" in line


def test_late_sites_are_shown_before_others_when_there_are_too_many() -> None:
    crowd = [make_site(f"s{i}", [(i, i + 1, 1)]) for i in range(60)]
    late = make_site("late", [(100, 110, 1)], deadline=50)
    gantt = draw(make_plan(*crowd, late), 80)
    assert len(gantt.rows) == MOST_ROWS
    assert gantt.rows[-1].label == "late"
    assert gantt.left_out == 61 - MOST_ROWS


def test_very_many_sites_are_drawn_at_once() -> None:
    crowd = [make_site(f"s{i}", [(i, i + 1, 1)], deadline=i + 2) for i in range(20_000)]
    before = time.monotonic()
    assert draw(make_plan(*crowd), 80).left_out == 20_000 - MOST_ROWS
    assert time.monotonic() - before < 5


def test_long_names_are_cut() -> None:
    gantt = draw(make_plan(make_site("n" * 100, [(0, 1, 1)])), 60)
    assert gantt.rows[0].label.endswith("n…")
    assert gantt.label_width == len(gantt.rows[0].label)


def test_the_axis_says_when() -> None:
    gantt = draw(make_plan(make_site("a", [(0, 7200, 1)])), 80)
    assert gantt.axis.split("╵")[1].strip() == "0"
    assert "╵1h" in gantt.axis


parts = st.lists(st.tuples(st.floats(0.001, 1e5), st.floats(0.001, 1e5)), min_size=1, max_size=4)


@given(
    sites=st.lists(st.tuples(parts, st.none() | st.floats(0.001, 1e7)), min_size=1, max_size=6),
    width=st.integers(1, 200),
)
def test_any_plan_is_drawn_in_the_width_given(
    sites: list[tuple[list[tuple[float, float]], float | None]], width: int
) -> None:
    planned = []
    for number, (gaps, deadline) in enumerate(sites):
        moment, segments = 0.0, []
        for wait, length in gaps:
            segments.append((moment + wait, moment + wait + length, 1.0))
            moment += wait + length
        planned.append(make_site(f"s{number}", segments, deadline))
    gantt = draw(make_plan(*planned), width)
    for row, site in zip(gantt.rows, worth_showing(planned, MOST_ROWS), strict=True):
        assert len(row.cells) == max(width - gantt.label_width - 1, 20)
        kinds = {kind for _, kind in row.cells}
        assert kinds & {CellKind.ON_TIME, CellKind.LATE}
        assert site.late or CellKind.LATE not in kinds
