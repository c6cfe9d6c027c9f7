"""``headgate lab zhu2020``: the reproduction as tables in a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from headgate.scheduling.policies import DEFAULT_POLICY
from headgate_lab.papers.text import lab_console, print_claims, print_table, table
from headgate_lab.papers.zhu2020.comparison import Cell, mean_outcome
from headgate_lab.papers.zhu2020.random_six_rows import RANDOM_SIX_COLUMNS, random_six_rows
from headgate_lab.papers.zhu2020.reference import FIGURES_OF_MERIT
from headgate_lab.papers.zhu2020.reproduction import Reproduction

__all__ = ["print_reproduction"]


def print_reproduction(reproduction: Reproduction) -> None:
    """Six sites, fifty sites, the reference, the claims, the checks."""
    console = lab_console()
    _print_six_sites(console, reproduction)
    for caps in dict.fromkeys(cell.caps for cell in reproduction.comparison):
        _print_fifty_sites(console, reproduction, caps)
    _print_references(console, reproduction)
    print_claims(console, "What the paper says", reproduction.claims)
    _print_checks(console, reproduction)


def _add(table: Table, policy: str, lead: Sequence[str], values: Iterable[str]) -> None:
    table.add_row(*lead, policy, *values, style="green" if policy == DEFAULT_POLICY else "")


def _print_six_sites(console: Console, reproduction: Reproduction) -> None:
    enough = table("policy", "latest end (s)", "sum of times (s)")
    for result in reproduction.sufficient:
        _add(enough, result.policy, (), (f"{result.max_time:.1f}", f"{result.total_time:.1f}"))
    print_table(console, "Six sites, 125,000 kbit at 1000 kbit/s, Eq. 1 asks for 950", enough)
    too_little = table("policy", "total lateness (s)")
    for result in reproduction.insufficient:
        _add(too_little, result.policy, (), (f"{result.lateness:.1f}",))
    print_table(console, "The same, Eq. 1 asks for 1300", too_little)
    for asked, names in RANDOM_SIX_COLUMNS.items():
        rows = table(
            "policy", *(head for name in names for head in (f"{name} (s)", "independently"))
        )
        for policy, *cells in random_six_rows(reproduction, asked):
            _add(rows, policy, (), cells)
        title = f"Six sites, random deadlines, Eq. 1 asks for {asked}: mean ± standard deviation"
        print_table(console, title, rows)


def _print_fifty_sites(console: Console, reproduction: Reproduction, caps: str) -> None:
    cells = [cell for cell in reproduction.comparison if cell.caps == caps]
    instances = len(reproduction.comparison[cells[0]][DEFAULT_POLICY])
    rows = table(
        *("family", "kbit/s", "policy", "late (s)", "makespan (s)", "sum of times (s)"),
        *("on time %", "obj. 1", "obj. 2"),
        words=3,
    )
    for cell in cells:
        _add_cell(rows, reproduction, cell)
    print_table(console, f"Fifty sites, five crawlers, {caps}: means over {instances}", rows)


def _add_cell(table: Table, reproduction: Reproduction, cell: Cell) -> None:
    lead = (cell.family, f"{cell.bandwidth:.0f}")
    for policy, outcomes in reproduction.comparison[cell].items():
        mean = mean_outcome(outcomes)
        values = (
            *(f"{mean.lateness:.1f}", f"{mean.makespan:.0f}", f"{mean.total_time:.0f}"),
            *(f"{mean.on_time_percent:.1f}", f"{mean.obj1:.2f}", f"{mean.obj2:.2f}"),
        )
        _add(table, policy, lead, values)
        lead = ("", "")


def _print_references(console: Console, reproduction: Reproduction) -> None:
    heads = ("makespan", "sum of times", "late", "on time %", "obj. 1", "obj. 2")
    rows = table("instance", "policy", *heads, words=2)
    for row in reproduction.references:
        pairs = [row.figures.get(figure) for figure in FIGURES_OF_MERIT]
        values = ["" if pair is None else _pair(*pair) for pair in pairs]
        _add(rows, row.policy, (row.instance,), values)
    title = (
        "Results obtained independently of this project / ours: other draws of the same families,"
        " and capped deadlines of another kind"
    )
    print_table(console, title, rows)


def _pair(reference: float, ours: float) -> str:
    digits = 0 if reference >= 1000 else 1 if reference >= 20 else 2
    return f"{reference:g} / {ours:.{digits}f}"


def _print_checks(console: Console, reproduction: Reproduction) -> None:
    console.print("Checks", style="bold")
    for tenth in reproduction.tenths:
        console.print(
            f"{_mark(kept=tenth.holds)} family P, {tenth.bandwidth:.0f} kbit/s: {DEFAULT_POLICY} is"
            f" {tenth.default:.1f} s late, ReAlloc-MAXT {tenth.re_alloc:.1f} s; a tenth of that is"
            f" {tenth.re_alloc / 10:.1f} s"
        )
    for count in reproduction.never_worse:
        beaten = f" (beaten by {', '.join(count.broken_by)})" if count.broken_by else ""
        console.print(
            f"{_mark(kept=count.kept == count.instances)} {count.caps}: {DEFAULT_POLICY} is never"
            f" later than any of the paper's policies on {count.kept} of {count.instances}"
            f" instances{beaten}"
        )


def _mark(*, kept: bool) -> str:
    return "ok  " if kept else "FAIL"
