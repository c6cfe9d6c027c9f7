"""What a plan means, in sentences.

Amounts that the user should act on (bandwidth to buy, minutes to grant) are rounded up, so that
they are enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from headgate.model.budget import Objective
from headgate.model.plan import Guess, Plan, PlannedSite, Verdict
from headgate.model.timetable import Timetable
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.phrases import duration_at_least, plural

__all__ = [
    "PlanWords",
    "guesses_in_words",
    "likelihood",
    "mean_rate",
    "time_to_spare",
    "too_slow_for",
    "what_is_missed",
]

_MOST_NAMED = 10
_CLOSE = 1e-6
"""Figures that differ by less, relatively, are shown as equal."""


class PlanWords(msgspec.Struct, frozen=True):
    """The sentences about one plan, the most important first."""

    headline: str
    """Feasible or not, and the bandwidth needed against the budget."""
    outcome: str
    """What this plan misses; empty when it misses nothing."""
    guesses: str
    """Which numbers are guessed; empty: none."""
    remedies: tuple[str, ...]
    """What would let all deadlines be met; empty if they are."""
    quality: tuple[str, ...]
    """How far it is from the proven bound."""

    @classmethod
    def from_plan(cls, plan: Plan) -> PlanWords:
        return cls(
            _headline(plan),
            _outcome(plan),
            guesses_in_words(plan),
            tuple(_remedies(plan)),
            tuple(_quality(plan)),
        )


def time_to_spare(site: PlannedSite) -> str:
    """Time before or after a site's deadline; empty without one."""
    if site.left_bytes:
        return f"stopped, {format_size(site.left_bytes)} left"
    if site.late:
        return f"late {duration_at_least(site.late)}"
    return "" if site.slack is None else format_duration(site.slack)


def mean_rate(site: PlannedSite, before: str = "") -> str:
    """Mean rate while the site is crawled, after the words ``before``; empty: it is not crawled."""
    seconds = sum(segment.end - segment.start for segment in site.segments)
    amount = sum((segment.end - segment.start) * segment.rate for segment in site.segments)
    return f"{before}{format_rate(amount / seconds)}" if seconds else ""


def _rate_at_least(rate: float) -> str:
    """A rate for people in three digits, never less than it is."""
    if rate <= 0 or math.isinf(rate):
        return format_rate(rate)
    step = 10.0 ** (math.floor(math.log10(rate)) - 2)
    return format_rate(math.ceil(rate / step - _CLOSE) * step)


def _headline(plan: Plan) -> str:
    deadlines = sum(site.deadline is not None for site in plan.sites)
    if not deadlines:
        return f"Feasible: no site has a deadline; {_sufficient(plan)}."
    all_of_them = "the deadline" if deadlines == 1 else f"all {deadlines:,} deadlines"
    if plan.verdict is Verdict.FEASIBLE:
        meets = "is met" if deadlines == 1 else "are met"
        begins = likelihood(plan) if plan.guessed else "Feasible"
        return f"{begins}: {all_of_them} {meets}; {_sufficient(plan)}."
    if plan.guessed:
        return f"{likelihood(plan)}: {what_is_missed(plan)}; {_needed(plan)}."
    if plan.verdict is Verdict.INFEASIBLE:
        return f"Not feasible: no plan can meet {all_of_them}; {_needed(plan)}."
    if _others_meet_them(plan):
        return f"Not this way: {what_is_missed(plan)}; {_sufficient(plan)}."
    return (
        f"Open: {what_is_missed(plan)}, and it is not proven that every plan must; {_needed(plan)}."
    )


def _others_meet_them(plan: Plan) -> bool:
    """Whether a plan that meets every deadline within the budget is known, though not this one."""
    enough, bandwidth = plan.remedy.enough_bandwidth, plan.budget.bandwidth
    if enough is None:
        return False
    if isinstance(bandwidth, Timetable):
        return (_scale_of(plan, enough) or math.inf) <= 1
    return enough <= bandwidth


def _outcome(plan: Plan) -> str:
    if plan.verdict is not Verdict.INFEASIBLE or plan.guessed:
        return ""
    return f"T{what_is_missed(plan)[1:]}."


def what_is_missed(plan: Plan) -> str:
    """Of a plan that does not meet all deadlines."""
    deadlines = sum(site.deadline is not None for site in plan.sites)
    late = (
        f"misses {len(plan.late_sites):,} of {plural(deadlines, 'deadline')},"
        f" by {format_duration(plan.tardiness)} in all"
    )
    stopped = (
        f"stops {plural(len(plan.stopped_sites), 'site')} at the deadline"
        f" with {format_size(plan.left_bytes)} left"
    )
    said = [late] * bool(plan.late_sites) + [stopped] * bool(plan.stopped_sites)
    return f"this plan {', and '.join(said)}"


def _budget(plan: Plan) -> str:
    bandwidth = plan.budget.bandwidth
    if not isinstance(bandwidth, Timetable):
        return format_rate(bandwidth)
    makespan = plan.makespan
    rates = [piece.rate for piece in plan.budget_pieces if piece.start < makespan]
    least, most = min(rates), max(rates)
    return f"{format_rate(least)} to {format_rate(most)}" if least < most else format_rate(most)


def _sufficient(plan: Plan) -> str:
    """The budget, and what would be enough."""
    if _quota_runs_out(plan):
        return f"the quota of {plan.budget.quota} runs out on the way, which is reckoned in"
    enough = plan.remedy.enough_bandwidth or plan.remedy.needed_bandwidth
    if isinstance(plan.budget.bandwidth, Timetable):
        scale = _scale_of(plan, enough or 0.0)
        would_do = f", and {_as_guessed(plan)}{_factor(scale)} times that would do" if scale else ""
        zone = plan.budget.bandwidth.zone
        return f"the timetable ({zone}) gives {_budget(plan)}{would_do}"
    would_do = f"{_as_guessed(plan)}{_rate_at_least(enough)} would do, " if enough else ""
    return f"{would_do}the budget is {_budget(plan)}"


def _needed(plan: Plan) -> str:
    needed, budget = plan.remedy.needed_bandwidth, _budget(plan)
    if _quota_runs_out(plan):
        return f"the budget is {budget}, and the quota of {plan.budget.quota} runs out on the way"
    if needed is None:
        why = too_slow_for(plan) or "nothing may pass before a deadline"
        return f"the budget is {budget}, but {_as_guessed(plan)}no budget is enough: {why}"
    scale = _scale_of(plan, needed)
    if scale is not None:
        needs = f"at least {_factor(scale)} times the timetable's rates ({budget}) are needed"
    else:
        needs = f"at least {_rate_at_least(needed)} are needed, the budget is {budget}"
    return f"{_as_guessed(plan)}{needs}"


def _as_guessed(plan: Plan) -> str:
    return "as guessed " if plan.guessed else ""


def _quota_runs_out(plan: Plan) -> bool:
    """Whether the crawl has to wait for a new period; more bandwidth would not help it then."""
    makespan = plan.makespan
    waits = any(not piece.rate and piece.start < makespan for piece in plan.budget_pieces)
    return plan.budget.quota is not None and waits


def _scale_of(plan: Plan, mean_rate: float) -> float | None:
    """How many times a timetable's rates have this mean; None without a timetable."""
    scale, needed = plan.remedy.scale, plan.remedy.needed_bandwidth
    return scale * mean_rate / needed if scale and needed else None


def _factor(scale: float) -> str:
    return f"{math.ceil(scale * 1000 - _CLOSE) / 1000:g}"


def _remedies(plan: Plan) -> list[str]:
    if plan.feasible:
        return []
    remedies = [_more_bandwidth(plan), _more_time(plan)]
    return [remedy for remedy in remedies if remedy]


def _more_bandwidth(plan: Plan) -> str:
    enough, needed = plan.remedy.enough_bandwidth, plan.remedy.needed_bandwidth
    if _quota_runs_out(plan):
        return "a larger quota"
    if enough is None or needed is None:
        return ""
    if _others_meet_them(plan):
        return "another policy: the default one knows a plan within this budget"
    scale = _scale_of(plan, enough)
    if scale is not None:
        return f"{_factor(scale)} times the timetable's rates, for which a plan is known"
    return f"a bandwidth of {_rate_at_least(enough)}, for which a plan is known"


def _more_time(plan: Plan) -> str:
    relaxed = sorted(plan.remedy.relax.items(), key=lambda item: -item[1])
    if not relaxed:
        return ""
    named = [f"{name} +{duration_at_least(seconds)}" for name, seconds in relaxed[:_MOST_NAMED]]
    if len(relaxed) > _MOST_NAMED:
        named.append(f"and {len(relaxed) - _MOST_NAMED:,} more")
    return f"later deadlines: {', '.join(named)}"


def _quality(plan: Plan) -> list[str]:
    figures = [
        _above("makespan", plan.makespan, plan.makespan_bound),
        _above("total time", plan.total_time, plan.total_time_bound),
    ]
    if plan.budget.objective is Objective.TOTAL_TIME:
        figures.reverse()
    if plan.shortfall > 0:
        closer = f" (a closer bound: {plan.closer_bound_with})" if plan.closer_bound_with else ""
        figures.insert(0, _lateness(plan) + closer)
    return figures


def _lateness(plan: Plan) -> str:
    name = "lateness"
    if plan.stopped_sites:
        name = "lateness, and what is left as time of the whole line:"
    if plan.verdict is Verdict.INFEASIBLE and plan.shortfall_bound <= 0:
        return f"{name} {format_duration(plan.shortfall)}; some there must be, how little is open"
    return _above(name, plan.shortfall, plan.shortfall_bound)


def _above(name: str, value: float, bound: float) -> str:
    amount = format_duration(value) + (f" ({value:.1f} s)" if 60 <= value < 3600 else "")
    if _same(value, bound):
        return f"{name} {amount}, the least possible"
    if bound <= 0:
        return f"{name} {amount}, while none at all is not ruled out"
    ratio = value / bound
    how_far = f"{ratio - 1:.1%} above" if ratio < 2 else f"{ratio:.2g} times"
    return f"{name} {amount}, at most {how_far} the least possible"


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)


# Texts about guessed numbers in a plan: how likely, from which range, by what.


_MOST_GUESSES_NAMED = 3


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
    names = ", ".join(site.name for site in slow[:_MOST_GUESSES_NAMED])
    if len(slow) > _MOST_GUESSES_NAMED:
        names += f" and {len(slow) - _MOST_GUESSES_NAMED:,} more"
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
