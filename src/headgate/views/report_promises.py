"""The promises of a run and whether they were kept: the tiles at the top of a report page."""

from __future__ import annotations

import msgspec

from headgate.model.run_report import QuotaReport, RunReport
from headgate.model.units import format_duration, format_rate, format_size
from headgate.views.plan_words import duration_at_least
from headgate.views.report_words import late_sites, percent, reset_day, why_missed

__all__ = ["Promise", "promises"]

_WIDE_LINE = 1e6
_ALLOWED_EXCESS, _ALLOWED_EXCESS_NARROW = 1.05, 1.10
"""Tolerance for the worst second: packets are whole, and on a slow line a second has few of
them."""
_ON_PLAN = 1.05
_LOW_USE = 0.5
"""Servers and politeness may be the reason; still worth a look."""


class Promise(msgspec.Struct, frozen=True):
    what: str
    kept: str
    promised: str
    standing: str = ""
    """"kept", "broken", "low" where nothing was promised and little was had, or empty."""


def promises(report: RunReport) -> list[Promise]:
    made = [_deadlines(report), _use(report), _worst_second(report), _end(report)]
    return made if report.quota is None else [*made, _quota(report.quota)]


def _standing(*, kept: bool) -> str:
    return "kept" if kept else "broken"


def _deadlines(report: RunReport) -> Promise:
    given = [site for site in report.sites if site.deadline is not None]
    if not given:
        return Promise("Deadlines", "none", "no site was given one")
    met = sum(site.met is True for site in given)
    missed = sum(site.met is False for site in given)
    late = late_sites(report)
    if late:
        words = f"latest: {late[0][0].name}, by {duration_at_least(late[0][1])}"
    elif missed:
        first = next(site for site in given if site.met is False)
        words = f"{first.name}: {why_missed(first, report.seconds)}"
    else:
        words = "none missed"
    kept = f"{met:,} of {len(given):,} met"
    return Promise("Deadlines", kept, words, _standing(kept=not missed))


def _use(report: RunReport) -> Promise:
    mean = f"{format_rate(report.mean_rate)} on average"
    if report.utilisation is None:
        return Promise("Use of the line", format_rate(report.mean_rate), "on average, no limit")
    standing = "low" if report.utilisation < _LOW_USE else ""
    words = f"{mean}, while work remained"
    return Promise("Use of the budget", percent(report.utilisation), words, standing)


def _worst_second(report: RunReport) -> Promise:
    if report.peak_rate_1s is None:
        return Promise("Worst second", "none", "the run was shorter than a second")
    figure = format_rate(report.peak_rate_1s)
    rates = [rate for _, rate in report.budget_changes] or [report.budget]
    finite = [rate for rate in rates if rate is not None]
    if len(finite) < len(rates) or not finite or max(finite) <= 0:
        return Promise("Worst second", figure, "no limit was set")
    highest = max(finite)
    share = report.peak_rate_1s / highest
    allowed = _ALLOWED_EXCESS if highest >= _WIDE_LINE else _ALLOWED_EXCESS_NARROW
    words = f"{percent(share)} of {format_rate(highest)}"
    return Promise("Worst second", figure, words, _standing(kept=share <= allowed))


def _quota(quota: QuotaReport) -> Promise:
    """Pages in flight when it ran out are completed, so a little more may have passed."""
    words = f"{format_size(quota.left)} left; new on {reset_day(quota)}"
    kept = quota.used <= quota.bytes * _ALLOWED_EXCESS
    return Promise(f"Of {quota.quota}", format_size(quota.used), words, _standing(kept=kept))


def _end(report: RunReport) -> Promise:
    ended = [site.finished for site in report.sites if site.finished is not None]
    planned = [site.planned_end for site in report.sites if site.planned_end is not None]
    if len(ended) < len(report.sites) or not ended:
        words = f"planned {format_duration(max(planned))}" if planned else "no plan was made"
        return Promise("End of the last site", "not reached", words)
    if not planned:
        return Promise("End of the last site", format_duration(max(ended)), "no plan was made")
    return Promise(
        "End of the last site",
        format_duration(max(ended)),
        f"planned {format_duration(max(planned))}",
        _standing(kept=max(ended) <= _ON_PLAN * max(planned)),
    )
