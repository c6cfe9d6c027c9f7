"""From seconds to places: the time axis that the charts of one page share."""

from __future__ import annotations

import msgspec

from headgate.model.run_report import RunReport
from headgate.views.markup import Markup, element, joined
from headgate.views.time_axis import ticks

__all__ = ["TimeScale", "report_span"]

_FAR_DEADLINE, _FAR_PLAN = 1.3, 1.6
"""A deadline or a planned end beyond so many times the run does not stretch the chart."""


def report_span(report: RunReport) -> float:
    """Seconds that a report's charts show: the run, and what lies not far behind its end."""
    end = max(report.seconds, max((point.time for point in report.timeline), default=0.0), 1e-3)
    far = [(site.deadline, _FAR_DEADLINE) for site in report.sites]
    far += [(site.planned_end, _FAR_PLAN) for site in report.sites]
    near = [moment for moment, times in far if moment is not None and moment <= times * end]
    return max(end, *near) if near else end


class TimeScale(msgspec.Struct, frozen=True):
    """``span`` seconds drawn from ``left`` on, ``width`` wide, with a margin for remarks."""

    span: float
    left: float = 150.0
    width: float = 720.0
    margin: float = 90.0
    longest_name: int = 20
    """Characters that fit at the left."""
    most_ticks: int = 10

    @classmethod
    def narrow(cls, span: float) -> TimeScale:
        """For a phone."""
        return cls(span, left=92.0, width=228.0, margin=80.0, longest_name=11, most_ticks=4)

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def outer(self) -> float:
        """The width with both margins."""
        return self.right + self.margin

    def x(self, time: float) -> float:
        """The place of a moment; what lies outside is drawn at the edge."""
        return self.left + self.width * min(max(time / self.span, 0.0), 1.0)

    def grid(self, top: float, bottom: float) -> Markup:
        """Lines through the chart with their moments below."""
        return joined(
            joined(
                (
                    element("line", class_="grid", x1=x, x2=x, y1=top, y2=bottom),
                    element("text", label, class_="tick", x=x, y=bottom + 16, text_anchor="middle"),
                )
            )
            for x, label in ((self.x(moment), label) for moment, label in self._ticks())
        )

    def _ticks(self) -> list[tuple[float, str]]:
        return ticks(self.span, self.most_ticks)
