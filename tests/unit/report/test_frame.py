"""One frame, one style sheet, one policy: every page is made by the same few lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.report.charts.plans import make_plan, make_site

from headgate.features.plan.view.page import plan_page, plan_picture
from headgate.report.charts.svg import svg_file
from headgate.report.html_page import document
from headgate.report.markup import element

SOURCE = Path(__file__).parents[3] / "src" / "headgate"


SERVED = "features/demo/"
"""Webs to be crawled: their pages are not ours."""


def _sources() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if not name.startswith(SERVED):
            yield name, path.read_text(encoding="utf-8")


def _sources_with(words: str) -> list[str]:
    return [name for name, text in _sources() if words in text.lower()]


def test_there_is_one_frame() -> None:
    assert _sources_with("<!doctype") == ["report/html_page.py"]
    assert _sources_with("content-security-policy") == ["report/html_page.py"]


def test_one_engine_draws_all_charts() -> None:
    drawing = {
        name
        for name, text in _sources()
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant)
        if call.args[0].value == "svg"
    }
    # Beside charts: the hatching that all share, and small bars in the cells of tables.
    assert drawing == {"report/charts/svg.py", "report/html_page.py", "report/page.py"}
    assert _sources_with("import matplotlib") == []


@pytest.mark.parametrize("count", [1, 6, 50, 2000])
def test_a_plan_of_any_size_is_a_page(count: int) -> None:
    sites = [
        make_site(f"site-{k}", [(k, k + 5, 100)], deadline=k + 4 + k % 3) for k in range(count)
    ]
    page = plan_page(make_plan(*sites))
    assert page.count('class="name"') == 2 * min(count, 120)  # each row is named, on any screen
    assert len(page) < 1_000_000
    if count > 120:
        assert f"{count - 120:,} more sites in the table only" in page


def test_late_and_stopped_sites_say_so() -> None:
    plan = make_plan(make_site("first", [(0, 10, 60)], deadline=8), make_site("<b>", [(0, 5, 40)]))
    page = plan_page(plan)
    assert "2.0s late" in page
    assert "<b>" not in page.partition("</style>")[2]


def test_a_file_of_its_own_needs_no_page() -> None:
    picture = svg_file(plan_picture(make_plan(make_site("first", [(0, 10, 60)], deadline=8))))
    assert picture.startswith("<?xml")
    assert "var(" not in picture
    classes = {name for found in re.findall(r'class="([^"]*)"', picture) for name in found.split()}
    assert "late" in classes
    assert picture == svg_file(
        plan_picture(make_plan(make_site("first", [(0, 10, 60)], deadline=8)))
    )


def test_nothing_but_the_frames_own_style_and_script_passes() -> None:
    page = document("a", element("p", "b"))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
