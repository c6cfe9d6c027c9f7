"""Fig. 1 to 3, and the repaired form in the same frame: bytes per second over forty seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.report.charts.line_chart import Axis, ChartLine, line_chart
from headgate.report.markup import Markup
from headgate.scheduling.arrays import FloatArray
from headgate_lab.papers.diligenti2004.trace import Trace
from headgate_lab.papers.diligenti2004.world import LIMIT

__all__ = ["FIGURES", "Figure", "figure_chart"]


@dataclass(frozen=True, slots=True)
class Figure:
    title: str
    measured: tuple[tuple[str, str], ...]
    """(form, label): a line each."""
    predicted: str = ""
    """The form whose prediction is drawn, if any."""
    paper_means: tuple[tuple[str, float], ...] = ()
    """(label, part of L): what the paper prints of the same."""


_MEANS = (("paper's mean, maxd 6", 0.51), ("paper's mean, maxd 2", 0.46))
FIGURES = (
    Figure("Fig. 1: measured and predicted, maxd 6", (("maxd6", "measured"),), "maxd6", _MEANS[:1]),
    Figure(
        "Fig. 2: measured, maxd 6 and 2", (("maxd6", "maxd 6"), ("maxd2", "maxd 2")), "", _MEANS
    ),
    Figure("Fig. 3: on/off control", (("on-off", "measured"),)),
    Figure("Unbiased estimates, maxd 6", (("ratio", "measured"),), "ratio"),
    Figure("Shares, a bucket each", (("shares", "measured"),), "shares"),
    Figure("Shares under one bucket", (("headgate", "measured"),), "headgate"),
)

_COLOURS = ("c0", "c1")


def figure_chart(figure: Figure, traces: Mapping[str, Trace], seconds: float) -> Markup:
    """The last so many seconds."""
    lines = [
        ChartLine(label, _points(trace.rates(trace.seconds - seconds, trace.seconds)), colour)
        for (label, trace), colour in zip(
            ((label, traces[form]) for form, label in figure.measured), _COLOURS, strict=False
        )
    ]
    if figure.predicted:
        trace = traces[figure.predicted]
        predicted = trace.predictions(trace.seconds - seconds, trace.seconds)
        lines.append(ChartLine("predicted", _points(predicted), "c9", "dashed"))
    for (label, share), colour in zip(figure.paper_means, ("c6", "c8"), strict=False):
        level = share * LIMIT / 1e3
        lines.append(ChartLine(label, [(0.0, level), (seconds, level)], colour, "dashed"))
    lines.append(ChartLine("L", [(0.0, LIMIT / 1e3), (seconds, LIMIT / 1e3)], "c4"))
    across = Axis(0.0, seconds, "seconds")
    return line_chart(figure.title, across, Axis(0.0, 1.8 * LIMIT / 1e3, "KB/s"), lines)


def _points(rates: FloatArray) -> list[tuple[float, float]]:
    """Of each second its middle."""
    return [(second + 0.5, float(rate) / 1e3) for second, rate in enumerate(rates)]
