"""Texts about guessed numbers in a plan: how likely, from which range, by what."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.model.plan import Guess, Plan, PlannedSite, Verdict
from headgate.model.units import format_size

__all__ = ["guesses_in_words", "likelihood", "too_slow_for"]

_MOST_NAMED = 3


def likelihood(plan: Plan) -> str:
    """The beginning of a verdict that depends on guesses."""
    if plan.feasible:
        if plan.at_worst is Verdict.FEASIBLE:
            return f"Feasible even with {_extreme(plan, 'top', 'slowest')}"
        return "Probably feasible"
    if plan.at_best is Verdict.INFEASIBLE:
        return f"Not feasible even with {_extreme(plan, 'bottom', 'fastest')}"
    return "Probably not feasible"


def guesses_in_words(plan: Plan) -> str:
    """Which numbers are guessed, with their ranges; empty: none."""
    guesses = [site.guess for site in plan.sites if site.guess]
    parts = [part for part in (_sizes(plan), _speeds(guesses)) if part]
    return f"Guessed: {'; '.join(parts)}." if parts else ""


def too_slow_for(plan: Plan) -> str:
    """The reason if no budget is enough; empty: it is not the speed of a site."""
    slow = [site for site in plan.sites if _too_slow(site)]
    if not slow:
        return ""
    names = ", ".join(site.name for site in slow[:_MOST_NAMED])
    if len(slow) > _MOST_NAMED:
        names += f" and {len(slow) - _MOST_NAMED:,} more"
    if any(site.guess and site.guess.server_speed for site in slow):
        if len(slow) == 1:
            return f"{names} takes longer than its deadline at the speed its server has shown"
        return f"{names} take longer than their deadlines at the speeds their servers have shown"
    return f"a max_rate is too low for it ({names})"


def _too_slow(site: PlannedSite) -> bool:
    if site.deadline is None or site.max_rate is None:
        return False
    return site.bytes > site.max_rate * max(site.deadline, 0.0) * (1 + 1e-9)


def _extreme(plan: Plan, end_of_range: str, speed: str) -> str:
    guesses = [site.guess for site in plan.sites if site.guess]
    said = [f"sizes at the {end_of_range} of their ranges"] * any(g.size_by for g in guesses)
    said += [f"servers at their {speed}"] * any(g.server_speed for g in guesses)
    return " and ".join(said)


def _sizes(plan: Plan) -> str:
    guessed = [site for site in plan.sites if site.guess and site.guess.size_by]
    if not guessed:
        return ""
    ranges = [
        site.guess.bytes_range
        if site.guess and site.guess.bytes_range
        else (site.bytes, site.bytes)
        for site in guessed
    ]
    by = ", ".join(sorted({site.guess.size_by for site in guessed if site.guess}))
    low, high = (format_size(sum(bound)) for bound in zip(*ranges, strict=True))
    whole = format_size(sum(site.bytes for site in guessed))
    which = "the size" if len(plan.sites) == 1 else f"{len(guessed):,} of {len(plan.sites):,} sizes"
    return f"{which}, by {by}: {whole} in all, between {low} and {high}"


def _speeds(guesses: Sequence[Guess]) -> str:
    count = sum(guess.server_speed for guess in guesses)
    if not count:
        return ""
    return "the speed of one server" if count == 1 else f"the speeds of {count:,} servers"
