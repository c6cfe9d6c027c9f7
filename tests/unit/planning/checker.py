"""The one judge of schedules, written without any of the code it judges."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

from headgate.planning.problem import Problem
from headgate.planning.schedule import Schedule

TOLERANCE = 1e-7


def check_schedule(problem: Problem, schedule: Schedule) -> None:
    """Budget never exceeded at any instant, all bytes delivered, at most m at once, caps kept."""
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
        assert math.isclose(delivered[site], work, rel_tol=1e-6), f"bytes of site {site}"
        assert (schedule.site_starts[site], schedule.site_ends[site]) == span[site]
    _check_budget(problem, segments)
    _check_slots(problem, span)


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
