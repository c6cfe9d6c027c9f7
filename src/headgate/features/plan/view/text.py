"""A plan for people, in a terminal or a pipe: what it means, each site's part, a Gantt chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headgate.features.plan.view.words import PlanWords, time_to_spare
from headgate.model.budget import Objective
from headgate.model.plan import Plan, PlannedSite, Verdict
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.charts.text_gantt import CellKind, Gantt, Row, draw, worth_showing
from headgate.report.phrases import foreseen_end

__all__ = ["print_comparison", "print_plan"]

_MOST_TABLE_ROWS = 200
_WIDE = 95
_VERDICT_STYLES = {Verdict.FEASIBLE: "green", Verdict.INFEASIBLE: "red", Verdict.OPEN: "yellow"}
_CELL_STYLES = {
    CellKind.EMPTY: "",
    CellKind.ON_TIME: "green",
    CellKind.LATE: "bold red",
    CellKind.WAITS: "dim",
    CellKind.DEADLINE: "yellow",
    CellKind.LINE: "cyan",
}
_LEGEND = "█ crawled  ▒ after the deadline  · waits  │ deadline (› beyond the chart)"


def print_plan(console: Console, plan: Plan, *, began: str = "") -> None:
    """Print everything; ``began``: when the run starts, if that matters."""
    _print_words(console, plan, began)
    _print_sites(console, plan)
    _print_gantt(console, draw(plan, console.width))


def print_comparison(console: Console, plans: Sequence[Plan], *, began: str = "") -> None:
    """Print plans by several policies side by side; the first is the default's."""
    _print_words(console, plans[0], began)
    _print_figures(console, plans)


def _print_words(console: Console, plan: Plan, began: str) -> None:
    words = PlanWords.from_plan(plan)
    verdict, rest = words.headline.split(":", 1)
    console.print(Text.assemble((f"{verdict}:", f"bold {_VERDICT_STYLES[plan.verdict]}"), rest))
    if words.outcome:
        console.print(words.outcome)
    if words.guesses:
        console.print(words.guesses)
    if words.remedies:
        console.print("What would make it feasible:")
        for number, remedy in enumerate(words.remedies):
            console.print(Text(f"  {'or ' if number else ''}{remedy}"))
    console.print(Text(f"Planned by {plan.policy}{began}:"))
    for figure in words.quality:
        console.print(Text(f"  {figure}"))
    console.print()


def _print_sites(console: Console, plan: Plan) -> None:
    foreseen = any(site.foreseen for site in plan.sites)
    columns = ("size", "rate", "start", "end", *(["foreseen"] * foreseen), "deadline", "slack")
    table = _table("site", *columns)
    shown = worth_showing(plan.sites, _MOST_TABLE_ROWS)
    for site in shown:
        missed = site.late or site.left_bytes
        table.add_row(
            Text(site.name),
            format_size(site.bytes),
            _rate(site, with_range=console.width >= _WIDE),
            format_duration(site.start) if site.segments else "",
            format_duration(site.end),
            *([foreseen_end(site.foreseen)] if foreseen else []),
            "" if site.deadline is None else format_duration(site.deadline),
            Text(time_to_spare(site), style="bold red" if missed else ""),
        )
    console.print(table)
    _print_left_out(console, len(plan.sites) - len(shown))
    console.print()


def _print_left_out(console: Console, count: int) -> None:
    if count:
        console.print(f"… {count:,} more sites; --json has them all")


def _rate(site: PlannedSite, *, with_range: bool) -> str:
    """The mean while the site is being crawled, and the range where it varies."""
    if not site.segments:
        return ""
    seconds = sum(segment.end - segment.start for segment in site.segments)
    amount = sum((segment.end - segment.start) * segment.rate for segment in site.segments)
    mean = format_rate(amount / seconds)
    least = format_rate(min(segment.rate for segment in site.segments))
    most = format_rate(max(segment.rate for segment in site.segments))
    if least == most or not with_range:
        return mean
    number, unit = least.split()
    return f"{mean} ({number if most.endswith(f' {unit}') else least} – {most})"


def _print_gantt(console: Console, gantt: Gantt) -> None:
    for row in (*gantt.rows, gantt.line):
        console.print(_gantt_row(row, gantt.label_width), no_wrap=True, crop=True)
    console.print(f"{'':<{gantt.label_width}} {gantt.axis}")
    _print_left_out(console, gantt.left_out)
    console.print(Text(_LEGEND, style="dim"))


def _gantt_row(row: Row, label_width: int) -> Text:
    text = Text(f"{row.label:<{label_width}} ")
    for kind, cells in groupby(row.cells, key=lambda cell: cell[1]):
        text.append("".join(character for character, _ in cells), style=_CELL_STYLES[kind])
    text.rstrip()
    return text


def _print_figures(console: Console, plans: Sequence[Plan]) -> None:
    columns = {
        "makespan s": _marked([plan.makespan for plan in plans], ".1f"),
        "total time s": _marked([plan.total_time for plan in plans], ".1f"),
        "lateness s": _marked([plan.tardiness for plan in plans], ".1f"),
        "late sites": _marked([len(plan.late_sites) for plan in plans], ".0f"),
        "ln + ln": _marked([_paper_objective(plan) for plan in plans], ".2f"),
    }
    stopping = any(plan.stopped_sites for plan in plans)
    if stopping:
        columns["left s"] = _marked([plan.left_seconds for plan in plans], ".1f")
    table = _table("policy", *columns)
    for plan, *figures in zip(plans, *columns.values(), strict=True):
        table.add_row(plan.policy, *figures)
    console.print(table)
    aim = "total time" if plans[0].budget.objective is Objective.TOTAL_TIME else "makespan"
    console.print()
    console.print(f"* best of its column; ln + ln: ln {aim} + ln lateness (1 s at the least)")
    if stopping:
        console.print("left s: what sites are stopped with, as seconds of the whole line")
    console.print(
        "Plans are compared here, with every size as given; a crawl may turn out otherwise."
    )


def _marked(figures: Sequence[float], form: str) -> list[Text]:
    """Each figure as text, the smallest ones with a star."""
    best = min(figures)
    return [
        Text(f"{figure:{form}} *", style="bold green")
        if math.isclose(figure, best, rel_tol=1e-6, abs_tol=1e-6)
        else Text(f"{figure:{form}}  ")
        for figure in figures
    ]


def _paper_objective(plan: Plan) -> float:
    """Zhu 2020: ln of the objective plus ln of the lateness, with 1 s for less than that."""
    total_time = plan.budget.objective is Objective.TOTAL_TIME
    value = plan.total_time if total_time else plan.makespan
    return math.log(value) + math.log(max(plan.tardiness, 1.0))


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, overflow="ellipsis", no_wrap=True, max_width=32)
    for other in others:
        table.add_column(other, justify="right", no_wrap=True)
    return table
