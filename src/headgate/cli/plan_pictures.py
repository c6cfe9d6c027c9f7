"""What ``--plot`` writes: a page, an SVG file, or a PNG made of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.model.errors import UserMistake, extra
from headgate.storage.safe_files import writing

if TYPE_CHECKING:
    from headgate.report.charts.svg import Chart

__all__ = ["PLOT_SUFFIXES", "plot_path", "save_plot"]

PLOT_SUFFIXES = (".svg", ".png", ".html")
_PNG_ZOOM = 2
"""Pixels per unit of the drawing."""


def plot_path(text: str) -> Path:
    """A file name with a known ending; else `UserMistake`, before any work is done."""
    path = Path(text)
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise UserMistake(f"{text!r} ends in none of {', '.join(PLOT_SUFFIXES)}")
    if path.suffix.lower() == ".png":
        extra("resvg_py", "PNG pictures", "png")
    return path


def save_plot(path: Path, page: Callable[[], str], picture: Callable[[], Chart]) -> None:
    """Write the page or the picture, by the ending of the file name."""
    from headgate.report.charts.svg import svg_file

    ending = path.suffix.lower()
    text = page() if ending == ".html" else svg_file(picture())
    data = _png(text) if ending == ".png" else text.encode()
    if not path.parent.is_dir():
        raise UserMistake(f"{path}: there is no such folder")
    with writing(path):
        path.write_bytes(data)


def _png(svg: str) -> bytes:
    drawer = extra("resvg_py", "PNG pictures", "png")
    return bytes(drawer.svg_to_bytes(svg_string=svg, zoom=_PNG_ZOOM))
