"""Rows of marks: what is drawn where, for a wide screen and for a narrow one."""

from __future__ import annotations

import re

from headgate.report.charts.bars import MarkKind, MarkRow, mark_rows
from headgate.report.charts.line_chart import Axis

KINDS = (MarkKind("paper", "c4", hollow=True), MarkKind("ours", "c0"))
ROWS = [
    MarkRow("a < b", (2.0, 3.0), (1.0, 4.0)),
    MarkRow("a name that is much longer than there is room for it beside its row", (None, 1.0)),
]


def test_every_known_value_is_a_mark_that_says_what_it_is() -> None:
    drawn = mark_rows("T", Axis(0.0, 4.0, "hours"), KINDS, ROWS)
    assert drawn.count("<svg") == 2
    assert drawn.count("<circle") == 2 * 3
    assert drawn.count('class="span"') == 2
    assert 'data-tip="a &lt; b\npaper: 2"' in drawn
    assert "beside its row</text>" not in drawn
    assert "hours" in drawn


def test_marks_lie_where_their_values_are() -> None:
    wide = mark_rows("T", Axis(0.0, 4.0), KINDS, ROWS[:1]).split("</svg>")[0]
    paper, ours = (float(x) for x in re.findall(r'cx="([\d.]+)"', wide))
    least, most = re.findall(r'class="span" x1="([\d.]+)" x2="([\d.]+)"', wide)[0]
    assert float(least) < paper < ours < float(most)
    assert ours - paper == float(most) - ours
