"""The one judge of schedules, written without any of the code it judges."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

from headgate.scheduling.problem import Problem, Schedule

TOLERANCE = 1e-7


def check_schedule(problem: Problem, schedule: Schedule) -> None:
    """Budget never exceeded at any instant, all bytes delivered, at most m at once, caps kept; what
    a site that stops has not got by its deadline is left undone."""
    delivered: dict[int, float] = defaultdict(float)
    span: dict[int, tuple[float, float]] = {}
    busy_until: dict[int, float] = defaultdict(float)
    segments = list(
        zip(schedule.sites, schedule.starts, schedule.ends, schedule.rates, strict=True)
    )
    for site, start, end, rate in segments:
        assert math.isfinite(start)
        assert math.isfinite(end)
        assert 0 <= start < end
        assert 0 < rate <= problem.caps[site] * (1 + TOLERANCE), "cap exceeded"
        assert start >= busy_until[site] - TOLERANCE * max(1, start), "a site's segments overlap"
        busy_until[site] = end
        delivered[site] += (end - start) * rate
        first, last = span.get(site, (math.inf, 0.0))
        span[site] = (min(first, start), max(last, end))
    for site, work in enumerate(problem.work):
        if problem.stops[site] and delivered[site] < work * (1 - 1e-6):
            _check_stopped(problem, schedule, site, delivered[site], span)
            continue
        assert math.isclose(delivered[site], work, rel_tol=1e-6), f"bytes of site {site}"
        assert (schedule.site_starts[site], schedule.site_ends[site]) == span[site]
    _check_budget(problem, segments)
    _check_slots(problem, span)


def _check_stopped(
    problem: Problem,
    schedule: Schedule,
    site: int,
    delivered: float,
    span: dict[int, tuple[float, float]],
) -> None:
    deadline = max(float(problem.deadlines[site]), 0.0)
    first, last = span.get(site, (deadline, deadline))
    assert last <= deadline * (1 + TOLERANCE), "crawled after it was stopped"
    assert schedule.site_ends[site] == deadline
    assert schedule.site_starts[site] == first
    left = float(schedule.left(problem)[site])
    assert math.isclose(left, problem.work[site] - delivered, rel_tol=1e-6)
    span[site] = (first, deadline)


def _check_budget(problem: Problem, segments: list[tuple[int, float, float, float]]) -> None:
    moments = sorted(
        {start for _, start, _, _ in segments}
        | {end for _, _, end, _ in segments}
        | {float(t) for t in problem.capacity.starts}
    )
    for left, right in pairwise(moments):
        if right - left <= TOLERANCE * max(1.0, right):
            continue  # narrower than rounding
        middle = (left + right) / 2
        used = sum(rate for _, start, end, rate in segments if start <= middle < end)
        allowed = next(
            float(rate)
            for start, rate in zip(
                problem.capacity.starts[::-1], problem.capacity.rates[::-1], strict=True
            )
            if start <= middle
        )
        assert used <= allowed * (1 + TOLERANCE) + 1e-12, f"{used} over {allowed} at {middle}"


def _check_slots(problem: Problem, span: dict[int, tuple[float, float]]) -> None:
    moments = sorted({moment for pair in span.values() for moment in pair})
    for left, right in pairwise(moments):
        if right - left <= TOLERANCE * max(1.0, right):
            continue
        middle = (left + right) / 2
        running = sum(1 for start, end in span.values() if start <= middle < end)
        assert running <= problem.slots, f"{running} sites at once at {middle}"
