"""``headgate lab sarss2010``: the reproduction as tables in a terminal or a pipe."""

from __future__ import annotations

from statistics import fmean

from headgate_lab.papers.sarss2010.overlay import Overlay
from headgate_lab.papers.sarss2010.printed import CASES
from headgate_lab.papers.sarss2010.reproduction import Reproduction
from headgate_lab.papers.sarss2010.simulation import PULL_FRESH
from headgate_lab.papers.sarss2010.tables import QUALITY_COLUMNS, quality_rows, task_rows
from headgate_lab.papers.text import lab_console, print_claims, print_table, table

__all__ = ["COLUMNS", "assignment_rows", "can_words", "print_reproduction"]

COLUMNS = ("assignment", "mean round trip, ms", "most load / mean", "idle machines")


def assignment_rows(draws: list[Overlay]) -> list[list[str]]:
    """Means over the draws of one net."""
    rows = []
    for same in zip(*(draw.assignments for draw in draws), strict=True):
        means = (
            f"{fmean(one.mean_milliseconds for one in same):.1f}",
            f"{fmean(one.most_over_mean for one in same):.1f}",
            f"{fmean(one.idle_share for one in same):.0%}",
        )
        rows.append([same[0].way, *means])
    return rows


def can_words(draws: list[Overlay]) -> str:
    first = draws[0].can
    return (
        f"CAN of {first.machines} machines: {fmean(d.can.mean_hops for d in draws):.2f} hops"
        f" ({first.theory_hops:.2f} by theory), {fmean(d.can.neighbours for d in draws):.2f}"
        f" neighbours; hosts from 12 round trips: error {fmean(d.host_error for d in draws):.3f}"
    )


def print_reproduction(reproduction: Reproduction) -> None:
    console = lab_console()
    simulation, seed = reproduction.simulation, reproduction.seed
    for number, case in zip((1, 3), CASES, strict=True):
        heads, lines = task_rows(simulation, seed, case)
        rows = table(*heads)
        for line in lines:
            rows.add_row(*line)
        print_table(console, f"Table {number}: tasks in thousands, and intervals, {case}", rows)
    rows = table(*QUALITY_COLUMNS)
    for line in quality_rows(simulation, seed):
        rows.add_row(*line, style="green" if line[0].endswith(PULL_FRESH) else "")
    print_table(console, "Tables 2 and 4: update quality", rows)
    print_claims(console, "What is found again", reproduction.verdicts)
    print_claims(console, "Numbers of the paper that cannot be", reproduction.impossible)
    rows = table("median relative error", "with height", "without")
    for fits in reproduction.fits:
        means = (fmean(one.with_height for one in fits), fmean(one.without for one in fits))
        rows.add_row(fits[0].net, *(f"{mean:.3f}" for mean in means))
    print_table(console, "Vivaldi, pairs that were not sampled", rows)
    for draws in reproduction.overlays:
        rows = table(*COLUMNS)
        for line in assignment_rows(draws):
            rows.add_row(*line)
        print_table(console, f"{draws[0].net}, means of {len(draws)} draws", rows)
        console.print(can_words(draws))
        console.print()
    print_claims(console, "Coordinates: bounds set before", reproduction.aims)
