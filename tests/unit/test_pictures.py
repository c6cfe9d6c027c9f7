"""``--plot``: what an ending means, and what is missing is named before anything is done."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headgate.cli.plan_pictures import plot_path, save_plot
from headgate.model.errors import UserMistake
from headgate.report.charts.svg import Chart
from headgate.report.markup import element


def drawn() -> Chart:
    return Chart("a", 40, 20, element("rect", class_="c0", width=40, height=20))


def test_without_its_package_a_png_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UserMistake, match=r'pip install "headgate\[png\]"'):
        plot_path("plan.png")


def test_a_png_is_the_svg_twice_as_large(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    from PIL import Image

    save_plot(plot_path(str(tmp_path / "a.PNG")), lambda: "", drawn)
    with Image.open(tmp_path / "a.PNG") as picture:
        assert picture.size == (2 * (40 + 24), 2 * (20 + 24))
        assert picture.convert("RGB").getpixel((60, 40)) == (0x44, 0x77, 0xAA)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="ends in none of"):
        plot_path("plan.pdf")
    with pytest.raises(UserMistake, match="no such folder"):
        save_plot(tmp_path / "none" / "a.svg", lambda: "", drawn)
