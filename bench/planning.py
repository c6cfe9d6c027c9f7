"""What planning costs as sites grow, and against a convex solver. Run: python -m bench.planning

Prints, in one run: the three allocations for 10^3 to 10^6 sites with peak memory, M-SUMT beside
the convex solver Clarabel at 10^4 sites, the full schedule for 10^2 to 10^4 sites at 5
and 100 crawlers, and one re-plan event at 10^4 sites.
"""

from __future__ import annotations

import math
import resource
import time
from collections import deque
from collections.abc import Callable

import cvxpy as cp
import numpy as np
from bench.arguments import parser
from rich.console import Console
from rich.table import Table

from headgate.scheduling.allocation import m_maxt, m_stet, m_sumt
from headgate.scheduling.arrays import FloatArray
from headgate.scheduling.order_search import best_schedule
from headgate.scheduling.problem import Problem
from headgate.scheduling.replan import CrawlState, OpenSite, SiteEnded, Started, replan

CONSOLE = Console(width=100)
REPEATS = 5


def seconds(action: Callable[[], object], repeats: int = REPEATS) -> float:
    """CPU time of the fastest of some runs: the one least disturbed by others on the machine."""
    best = math.inf
    for _ in range(repeats):
        begin = time.process_time()
        action()
        best = min(best, time.process_time() - begin)
    return best


def allocation_instance(
    count: int, load: float
) -> tuple[FloatArray, FloatArray, float, FloatArray]:
    """Sites with deadlines and caps whose required rate is ``load`` times the budget."""
    rng = np.random.default_rng(count)
    work = rng.lognormal(16.0, 1.0, count)
    deadlines = rng.uniform(100.0, 10_000.0, count)
    needed = work / deadlines
    caps = needed * rng.uniform(1.0, 20.0, count)
    return work, deadlines, float(needed.sum()) / load, caps


def bench_allocations() -> None:
    table = Table("sites", "M-MAXT ms", "M-SUMT ms", "M-STET ms", "growth of the slowest")
    before = 0.0
    for count in (10**3, 10**4, 10**5, 10**6):
        enough = allocation_instance(count, 0.8)
        narrow = allocation_instance(count, 1.3)
        times = [
            seconds(lambda: m_maxt(*enough)),  # noqa: B023 - called at once
            seconds(lambda: m_sumt(*enough)),  # noqa: B023
            seconds(lambda: m_stet(*narrow)),  # noqa: B023
        ]
        slowest = max(times)
        growth = f"{slowest / before:.1f}x" if before else ""
        table.add_row(f"{count:,}", *(f"{1000 * t:.2f}" for t in times), growth)
        before = slowest
    CONSOLE.print("\nConstant-rate allocation with deadlines and caps", table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    CONSOLE.print(f"peak memory of this process so far: {peak:.2f} GB")


def bench_against_solver(count: int = 10**4) -> None:
    work, deadlines, budget, caps = allocation_instance(count, 0.8)
    ours = seconds(lambda: m_sumt(work, deadlines, budget, caps))
    value = float((work / m_sumt(work, deadlines, budget, caps)).sum())
    # The solver's best case: every rate and every size in units of the mean.
    rate, size = budget / count, float(work.mean())
    share = cp.Variable(count, pos=True)
    problem = cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(work / size, cp.inv_pos(share))) / count),
        [cp.sum(share) <= count, share >= work / deadlines / rate, share <= caps / rate],
    )
    problem.get_problem_data(cp.CLARABEL)  # compiled and cached: only the solve is timed
    theirs = seconds(lambda: problem.solve(solver=cp.CLARABEL), repeats=2)
    their_value = problem.value * count * size / rate
    CONSOLE.print(
        f"\nM-SUMT at {count:,} sites: {1000 * ours:.2f} ms, value {value:.8e} s;"
        f" Clarabel {1000 * theirs:.0f} ms, value {their_value:.8e} s:"
        f" [bold]{theirs / ours:.0f}x faster[/bold],"
        f" relative difference {(value - their_value) / value:+.1e}"
    )


def schedule_instance(count: int, slots: int) -> Problem:
    """Capped sites whose deadlines are near what the budget allows: the costly case."""
    rng = np.random.default_rng(count)
    work = rng.uniform(1.0, 2.5, count)
    budget = 1.0
    ends = np.cumsum(work) / budget
    mean_share = 2.0 / slots  # so that about half of the crawlers are busy
    return Problem.from_arrays(
        work,
        ends * rng.uniform(0.9, 1.1, count) + 2.5 / mean_share,
        budget=budget,
        caps=budget * mean_share * rng.uniform(0.5, 1.5, count),
        slots=slots,
    )


def bench_schedules() -> float:
    table = Table("sites", "m = 5: s", "exponent", "m = 100: s", "exponent")
    before: dict[int, float] = {}
    last = 0.0
    for count in (10**2, 10**3, 10**4):
        row = [f"{count:,}"]
        for slots in (5, 100):
            problem = schedule_instance(count, slots)
            last = seconds(
                lambda: best_schedule(problem, np.random.default_rng(0)),  # noqa: B023
                repeats=2,
            )
            exponent = f"{math.log10(last / before[slots]):.2f}" if slots in before else ""
            row += [f"{last:.2f}", exponent]
            before[slots] = last
        table.add_row(*row)
    CONSOLE.print("\nFull schedule, Headgate's own policy, caps binding (time ~ n^exponent)", table)
    return before[5]


def bench_replan(full_plan: float, count: int = 10**4) -> None:
    problem = schedule_instance(count, 5)
    columns = (problem.work.tolist(), problem.deadlines.tolist(), problem.caps.tolist())
    sites = {
        str(i): OpenSite(work, deadline, cap)
        for i, (work, deadline, cap) in enumerate(zip(*columns, strict=True))
    }
    state = CrawlState(sites, deque(sites), problem.capacity, problem.slots)
    replan(state, Started(0.0))
    events = 1000
    begin = time.perf_counter()
    for step in range(events):
        replan(state, SiteEnded(float(step), state.running[0]))
    each = (time.perf_counter() - begin) / events
    CONSOLE.print(
        f"\nOne re-plan event at {count:,} sites: {1e6 * each:.0f} us,"
        f" [bold]1/{full_plan / each:,.0f}[/bold] of the full plan"
    )


if __name__ == "__main__":
    parser(__doc__).parse_args()
    bench_allocations()
    bench_against_solver()
    bench_replan(bench_schedules())
