"""The paper's three figures as SVG, drawn from the first web of a reproduction."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from headgate.lab.papers.nakahira2008.reproduction import CUT, WebResult

__all__ = ["FIGURES", "figure_svg"]

_PAGES, _HOSTS, _OURS = "#6b7280", "#0b62a4", "#1a7f37"


def figure_svg(number: int, result: WebResult) -> str:
    """One SVG element; the same bytes for the same numbers."""
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": f"nakahira2008-{number}",
        "font.family": "DejaVu Sans",
    }
    with mpl.rc_context(settings):
        canvas = Canvas(figsize=(7.0, 4.2), layout="constrained")
        axes = canvas.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
        FIGURES[number][1](axes, result)
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None})
    page = text.getvalue()
    return page[page.index("<svg") :]


def _pages_and_hosts(axes: Axes, result: WebResult) -> None:
    axes.plot(np.cumsum(result.pages), "D-", color=_PAGES, label="pages")
    axes.plot(np.cumsum(result.hosts), "s-", color=_HOSTS, label="external hosts")
    axes.set_xlabel("depth")
    axes.set_ylabel("found down to this depth")
    axes.legend(frameon=False)


def _trees(axes: Axes, result: WebResult) -> None:
    axes.bar(range(len(result.trees)), result.trees, color=_HOSTS)
    axes.set_yscale("log")
    axes.set_xlabel("greatest depth of a site tree")
    axes.set_ylabel("site trees")


def _share_against_load(axes: Axes, result: WebResult) -> None:
    load, share = result.load_by_depth, result.share_by_depth
    axes.plot(load, share, "s-", color=_HOSTS, label="cut at a depth")
    axes.annotate(f"depth {CUT}", (load[CUT], share[CUT]), (load[CUT], share[CUT] - 0.1))
    ours = np.array(result.policy_curve)
    axes.plot(ours[:, 0], ours[:, 1], "-", color=_OURS, label="most promising first")
    axes.set_xlabel("load: part of all pages")
    axes.set_ylabel("part of all external hosts")
    axes.legend(frameon=False, loc="lower right")


FIGURES: dict[int, tuple[str, Callable[[Axes, WebResult], None]]] = {
    1: ("Pages and external hosts down to each depth", _pages_and_hosts),
    2: ("Site trees by their greatest depth", _trees),
    3: ("External hosts found against load", _share_against_load),
}
