"""What a run's report means, in sentences: promised against kept."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from zoneinfo import ZoneInfo

from headgate.cli.plan_words import plural
from headgate.model.run_report import QuotaReport, RunReport, SiteReport
from headgate.model.units import format_duration, format_rate, format_size

__all__ = [
    "ReportWords",
    "error_meaning",
    "errors_by_kind",
    "late_by",
    "late_sites",
    "percent",
    "reset_day",
]

_MEANINGS = {
    "bad-http": "the answer is not proper HTTP",
    "bad-url": "not a URL of http or https",
    "closed": "the connection ended inside the answer",
    "connect-timeout": "no connection in time",
    "dns": "the name does not resolve",
    "first-byte-timeout": "no answer in time",
    "forbidden-address": "a private address that was not named",
    "refused": "nobody listens there",
    "stalled": "bytes stopped coming",
    "tls": "the certificate or the handshake is bad",
    "too-slow": "the whole fetch took too long",
}
_STATUS_FAMILIES = {"4": "refused by the server", "5": "an error of the server"}
_NEAR_ALL = 0.9995


@dataclass(frozen=True, slots=True)
class ReportWords:
    """The sentences about one run, the most important first."""

    headline: str
    """Deadlines, use of the line, worst second."""
    amounts: str
    """Sites, pages, bytes and time."""

    @classmethod
    def of(cls, report: RunReport) -> ReportWords:
        parts = [_deadlines(report), *_line(report), *_quota(report)]
        begin = f"Interrupted after {format_duration(report.seconds)}: "
        headline = "; ".join(parts)
        if report.interrupted:
            return cls(begin + headline[0].lower() + headline[1:], _amounts(report))
        return cls(headline, _amounts(report))


def percent(share: float) -> str:
    """A share for people; what is not quite all never reads as all.

    >>> percent(0.987), percent(0.99999), percent(1.02), percent(0.04321)
    ('98.7 %', '99.9 %', '102 %', '4.32 %')
    """
    if _NEAR_ALL <= share < 1:
        share = 0.999
    return f"{100 * share:.3g} %"


def late_by(site: SiteReport, now: float) -> float:
    """Seconds after the deadline at its end, or at ``now`` while it has none; 0: not late."""
    if site.deadline is None or site.met is not False:
        return 0.0
    return max((now if site.finished is None else site.finished) - site.deadline, 0.0)


def late_sites(report: RunReport) -> list[tuple[SiteReport, float]]:
    """Sites that ended or still ran after their deadlines, the latest first."""
    late = [(site, late_by(site, report.seconds)) for site in report.sites]
    return sorted((pair for pair in late if pair[1] > 0), key=lambda pair: -pair[1])


def errors_by_kind(report: RunReport) -> list[tuple[str, int]]:
    """All errors of the run, the most frequent kind first."""
    errors: Counter[str] = Counter()
    for site in report.sites:
        errors.update(site.errors)
    return errors.most_common()


def error_meaning(kind: str) -> str:
    """A failure kind or a status in words; empty for one nobody knows.

    >>> error_meaning("404"), error_meaning("dns"), error_meaning("599")
    ('Not Found', 'the name does not resolve', 'an error of the server')
    """
    if kind in _MEANINGS:
        return _MEANINGS[kind]
    try:
        return HTTPStatus(int(kind)).phrase
    except ValueError:
        is_status = len(kind) == 3 and kind.isdigit()
        return _STATUS_FAMILIES.get(kind[0], "") if is_status else ""


def _deadlines(report: RunReport) -> str:
    with_deadline = [site for site in report.sites if site.deadline is not None]
    if not with_deadline:
        return _without_deadlines(report)
    met = sum(site.met is True for site in with_deadline)
    still_open = sum(site.met is None for site in with_deadline)
    total = len(with_deadline)
    if met == total:
        return "The deadline was met" if total == 1 else f"All {total:,} deadlines met"
    words = f"{met:,} of {plural(total, 'deadline')} met"
    return f"{words}, {still_open:,} still open" if still_open else words


def _without_deadlines(report: RunReport) -> str:
    done = sum(site.state == "done" for site in report.sites)
    total = len(report.sites)
    if not total:
        return "No sites"
    if done == total:
        return "The site is done" if total == 1 else f"All {total:,} sites done"
    return f"{done:,} of {plural(total, 'site')} done"


def _line(report: RunReport) -> list[str]:
    rest = [f"worst second {format_rate(report.peak_rate_1s)}", *_way_made(report)]
    if report.utilisation is None:
        return [f"no limit, {format_rate(report.mean_rate)} on average", *rest]
    return [f"{percent(report.utilisation)} of {_budget(report)} used", *rest]


def _way_made(report: RunReport) -> list[str]:
    if not report.made_way_seconds:
        return []
    left = format_size(report.left_to_others)
    return [f"made way for others for {format_duration(report.made_way_seconds)} ({left})"]


def _budget(report: RunReport) -> str:
    """The budget, or from where to where it changed."""
    rates = [math.inf if rate is None else rate for _, rate in report.budget_changes]
    if report.budget is not None:
        rates.append(report.budget)
    least, most = min(rates, default=math.inf), max(rates, default=math.inf)
    if least == most:
        return format_rate(least)
    hours = f" by the hours of {report.zone}" if report.zone else ""
    return f"a budget of {format_rate(least)} to {format_rate(most)}{hours}"


def reset_day(quota: QuotaReport) -> str:
    """When a quota's next period begins, by the clocks of its zone."""
    moment = datetime.fromtimestamp(quota.resets_at, ZoneInfo(quota.zone))
    return f"{moment:%Y-%m-%d %H:%M} {quota.zone}"


def _quota(report: RunReport) -> list[str]:
    quota = report.quota
    if quota is None:
        return []
    return [f"{format_size(quota.used)} of {quota.quota} used, new on {reset_day(quota)}"]


def _amounts(report: RunReport) -> str:
    return (
        f"{plural(len(report.sites), 'site')}, {plural(report.pages, 'page')}, "
        f"{format_size(report.bytes)} of content ({format_size(report.wire_bytes)} on the line) "
        f"in {format_duration(report.seconds)}"
    )
