"""Fig. 1 to 3, and the repaired form in the same frame: bytes per second over forty seconds."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from headgate.lab.papers.diligenti2004.trace import Trace
from headgate.lab.papers.diligenti2004.world import LIMIT

__all__ = ["FIGURES", "Figure", "figure_svg"]


@dataclass(frozen=True, slots=True)
class Figure:
    title: str
    measured: tuple[tuple[str, str], ...]
    """(form, label): a line each."""
    predicted: str = ""
    """The form whose prediction is drawn, if any."""


FIGURES = (
    Figure("Fig. 1: measured and predicted, maxd 6", (("maxd6", "measured"),), "maxd6"),
    Figure("Fig. 2: measured, maxd 6 and 2", (("maxd6", "maxd 6"), ("maxd2", "maxd 2"))),
    Figure("Fig. 3: on/off control", (("on-off", "measured"),)),
    Figure("Unbiased estimates, maxd 6", (("ratio", "measured"),), "ratio"),
    Figure("Shares, a bucket each", (("shares", "measured"),), "shares"),
    Figure("Shares under one bucket", (("headgate", "measured"),), "headgate"),
)

_COLOURS = ("#0b62a4", "#d1730b")


def figure_svg(figure: Figure, traces: Mapping[str, Trace], seconds: float) -> str:
    """One SVG element: the last so many seconds."""
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": f"diligenti2004-{figure.title}",
        "font.family": "DejaVu Sans",
    }
    with mpl.rc_context(settings):
        canvas = Canvas(figsize=(8.0, 3.2), layout="constrained")
        _draw(canvas.subplots(), figure, traces, seconds)
        page = io.StringIO()
        canvas.savefig(page, format="svg", metadata={"Date": None})
    text = page.getvalue()
    return text[text.index("<svg") :]


def _draw(axes: Axes, figure: Figure, traces: Mapping[str, Trace], seconds: float) -> None:
    x = np.arange(int(seconds)) + 0.5
    for (form, label), colour in zip(figure.measured, _COLOURS, strict=False):
        trace = traces[form]
        rates = trace.rates(trace.seconds - seconds, trace.seconds) / 1e3
        axes.plot(x, rates, color=colour, linewidth=1.8, label=label)
    if figure.predicted:
        trace = traces[figure.predicted]
        predicted = trace.predictions(trace.seconds - seconds, trace.seconds) / 1e3
        axes.plot(x, predicted, color="#6b7280", linestyle=":", linewidth=1.8, label="predicted")
    axes.axhline(LIMIT / 1e3, color="#a32020", linewidth=1.0, label="L")
    axes.set_ylim(0, 1.8 * LIMIT / 1e3)
    axes.set_xlim(0, seconds)
    axes.set_xlabel("seconds")
    axes.set_ylabel("KB/s")
    axes.legend(loc="lower right", ncols=3, frameon=False)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
