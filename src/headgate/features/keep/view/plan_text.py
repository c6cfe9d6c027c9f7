"""``headgate plan --keep`` for people and for scripts."""

from __future__ import annotations

import json
import math
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headgate.features.keep.status import KeepPlan, PromisedSite
from headgate.model.units import format_duration, format_rate, format_size

__all__ = ["keep_plan_as_json", "keep_plan_words", "print_keep_plan"]

_MOST_NAMED = 5
_SURE = 0.995


def print_keep_plan(console: Console, plan: KeepPlan, *, began: str = "") -> None:
    """The verdict, remedies, and each promise; ``began``: from when on."""
    headline, *rest = keep_plan_words(plan)
    verdict, _, what = headline.partition(":")
    style = "bold green" if plan.holds else "bold red"
    console.print(Text.assemble((f"{verdict}:", style), f"{what.removesuffix('.')}{began}."))
    for line in rest:
        console.print(Text(line))
    if plan.sites:
        console.print(_table(plan))


def keep_plan_words(plan: KeepPlan) -> list[str]:
    """Sentences, the verdict first."""
    if not plan.sites:
        return ["Nothing is promised: no site has fresh_within; looks go by what they are worth."]
    lines = [_verdict(plan)]
    if plan.impossible:
        lines.append(f"Even alone, {_names(plan.impossible)} could not be kept fresh for so long.")
    if not plan.holds:
        lines.append(_late(plan))
        lines += [f"What would help: {help_}." for help_ in _remedies(plan)[:1]]
        lines += [f"  or {help_}." for help_ in _remedies(plan)[1:]]
    elif plan.others:
        left = max(1 - plan.load, 0.0)
        sites = "1 site" if plan.others == 1 else f"{plan.others:,} sites"
        lines.append(f"{left:.0%} of the budget is left for {sites} without a promise.")
    return lines


def keep_plan_as_json(plan: KeepPlan) -> str:
    """What is not a finite number is null. Seconds, bytes, bytes per second."""
    document = {
        "version": 1,
        "holds": plan.holds,
        "probability": round(plan.probability, 3),
        "load": _number(plan.load),
        "scale": _number(plan.scale),
        "least_bandwidth": _number(plan.least_bandwidth),
        "lateness": _number(plan.lateness),
        "impossible": list(plan.impossible),
        "give_up": list(plan.give_up),
        "others": plan.others,
        "sites": [_site(site) for site in plan.sites],
    }
    return json.dumps(document, indent=2, allow_nan=False)


def _verdict(plan: KeepPlan) -> str:
    only = len(plan.sites) == 1
    load = f"promises take {plan.load:.0%} of what the budget lets pass"
    if plan.holds:
        count = "the promise holds" if only else f"all {len(plan.sites):,} promises hold"
        return f"{_likely('Feasible', plan.probability)}: {count}; {load}."
    kept = "the promise does not hold" if only else "not all promises hold together"
    return f"{_likely('Not feasible', 1 - plan.probability)}: {kept}; {load}."


def _likely(verdict: str, probability: float) -> str:
    if probability >= _SURE:
        return verdict
    return f"{verdict} with a probability of {probability:.0%}"


def _late(plan: KeepPlan) -> str:
    if math.isinf(plan.lateness):
        return "There are hours without a byte, or servers too slow, so some are never kept."
    return f"As it is, pages would be looked at {format_duration(plan.lateness)} late."


def _remedies(plan: KeepPlan) -> list[str]:
    found = []
    if plan.least_bandwidth is not None and math.isfinite(plan.scale):
        found.append(f"a bandwidth of {format_rate(plan.least_bandwidth)}")
    elif 1 < plan.scale < math.inf:
        found.append(f"a budget of at least {plan.scale:.2f} times as much")
    if math.isfinite(plan.lateness) and plan.lateness > 0:
        found.append(f"fresh_within longer by {format_duration(plan.lateness)} everywhere")
    if plan.give_up:
        found.append(f"no promise for {_names(plan.give_up)}")
    return found


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _table(plan: KeepPlan) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("site")
    for name in ("fresh within", "bytes a round", "takes"):
        table.add_column(name, justify="right")
    for site in plan.sites:
        table.add_row(
            site.name, format_duration(site.fresh_within), _size(site), format_rate(site.rate)
        )
    return table


def _size(site: PromisedSite) -> str:
    size = site.size
    if not size.vague:
        return format_size(size.likely)
    return f"{format_size(size.low)} to {format_size(size.high)}"


def _site(site: PromisedSite) -> dict[str, Any]:
    return {
        "name": site.name,
        "fresh_within": site.fresh_within,
        "bytes": site.size.likely,
        "bytes_range": [site.size.low, site.size.high],
        "rate": _number(site.rate),
        "max_rate": _number(site.max_rate),
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
