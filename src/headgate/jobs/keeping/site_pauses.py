"""When a site is visited again that was down, or whose pages were implausible."""

from __future__ import annotations

from headgate.control.catalog import SiteState
from headgate.crawling.progress import Progress, TaskState
from headgate.jobs.keeping.kept_visit import PlannedVisit, learned_costs, why_down, with_trouble
from headgate.jobs.keeping.site_troubles import ONE_TEXT
from headgate.storage.memory.summary import VisitCounts

__all__ = ["is_believed", "state_after"]

_HOUR = 3600.0
_DOWN_HOURS = (1.0, 4.0, 16.0, 72.0)
_DOUBT_HOURS = (1.0, 6.0)


def is_believed(state: SiteState | None) -> bool:
    """Whether implausible pages are accepted, because they came several times in a row."""
    return state is not None and state.suspicions >= len(_DOUBT_HOURS)


def state_after(
    planned: PlannedVisit,
    before: SiteState,
    progress: Progress,
    counts: VisitCounts,
    now: float,
    *,
    down: bool,
) -> SiteState:
    """The state of a site after a visit: when it may be visited again, and its trouble."""
    interrupted = progress.state is TaskState.STOPPED and not counts.asked
    downs = before.down + 1 if down else before.down if interrupted else 0
    doubts = before.suspicions + 1 if counts.doubted else 0
    paused, trouble = before.paused_until if before.paused_by_user else 0.0, ""
    if down:
        hours = _DOWN_HOURS[min(downs, len(_DOWN_HOURS)) - 1]
        paused = max(paused, now + hours * _HOUR)
        trouble = why_down(planned.site, progress)
    elif counts.doubted:
        paused = max(paused, now + _DOUBT_HOURS[min(doubts, len(_DOUBT_HOURS)) - 1] * _HOUR)
        trouble = ONE_TEXT
    state = SiteState(
        planned.site.name, planned.visit, now, before.outlook,
        learned_costs(planned, before, progress, counts), paused, downs, doubts,
    )  # fmt: skip
    return with_trouble(state, before, trouble, now)
