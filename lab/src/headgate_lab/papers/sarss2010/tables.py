"""Tables 1 to 4 as rows of text: the paper's numbers, and ours."""

from __future__ import annotations

from headgate_lab.papers.sarss2010.printed import CASES, INTERVALS, QUALITY, TASKS
from headgate_lab.papers.sarss2010.simulation import STRATEGIES, Simulation

__all__ = ["QUALITY_COLUMNS", "quality_rows", "task_rows"]

_PUSHED = ("FIXED", "IIR", "ICR")
QUALITY_COLUMNS = (
    "case, strategy",
    "weighted: paper",
    "ours",
    "unweighted: paper",
    "ours",
    "fresh, weighted: by tasks",
    "by pages",
    "fresh: by tasks",
    "by pages",
    "updates a minute",
    "success",
    "queue",
    "channels updated",
)


def task_rows(simulation: Simulation, seed: int, case: str) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: thousands of tasks and mean intervals, by rank; of a part of the world, tasks
    as many as the whole would have."""
    whole = simulation.extent.scale * 100_000 / simulation.extent.minutes / 1e3
    heads = ["rank"]
    for name in _PUSHED:
        heads += [f"{name}, 1000 tasks: paper", "ours", "interval: paper", "ours"]
    rows = []
    ranks = len(INTERVALS[case, "FIXED"])
    for group in range(ranks):
        cells = [str(ranks - 1 - group)]
        for name in _PUSHED:
            found = simulation.of(case, name, seed)
            cells += [
                f"{TASKS[case, name][group] / 1e3:,.0f}",
                f"{found.submitted[group] * whole:,.0f}",
                f"{INTERVALS[case, name][group]:,.0f}",
                f"{found.intervals[group]:,.0f}",
            ]
        rows.append(cells)
    return heads, rows


def quality_rows(simulation: Simulation, seed: int) -> list[list[str]]:
    rows = []
    for case in CASES:
        for name in STRATEGIES:
            found = simulation.of(case, name, seed)
            paper = QUALITY.get((case, name))
            rows.append(
                [
                    f"{case}, {name}",
                    f"{paper[0]:.4f}" if paper else "",
                    f"{found.weighted_quality:.4f}",
                    f"{paper[1]:.4f}" if paper else "",
                    f"{found.quality:.4f}",
                    f"{found.weighted_task_freshness:.3f}",
                    f"{found.weighted_freshness:.3f}",
                    f"{found.task_freshness:.3f}",
                    f"{found.freshness:.3f}",
                    f"{found.updates_per_minute * simulation.extent.scale:.1f}",
                    f"{found.success:.0%}",
                    f"{found.queue:.1f}",
                    f"{found.covered:.2%}",
                ]
            )
    return rows
