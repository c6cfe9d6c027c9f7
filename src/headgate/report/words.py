"""What a run's report means, in sentences: promised against kept."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime
from http import HTTPStatus
from zoneinfo import ZoneInfo

import msgspec

from headgate.model.budget import QuotaUse
from headgate.model.plan import LATE_AFTER_SECONDS
from headgate.model.run_report import QuotaReport, Reason, RunReport, SiteReport, Stall
from headgate.model.score_order import ScoreOrderReport
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.phrases import plural

__all__ = [
    "ReportWords",
    "error_meaning",
    "errors_by_kind",
    "late_by",
    "late_sites",
    "nothing_because",
    "order_words",
    "percent",
    "policy_words",
    "quota_is_used_up",
    "reset_day",
    "restarts_in_words",
    "robots_ignored",
    "stalls_in_words",
    "why_missed",
]

_MEANINGS = {
    "bad-http": "the answer is not proper HTTP",
    "bad-url": "not a URL of http or https",
    "closed": "the connection ended inside the answer",
    "connect-timeout": "no connection in time",
    "dns": "the name does not resolve",
    "first-byte-timeout": "no answer in time",
    "forbidden-address": "a private address that was not named",
    "login": "logging in failed",
    "refused": "nothing listens there",
    "stalled": "bytes stopped coming",
    "tls": "the certificate or the handshake is bad",
    "too-slow": "the whole fetch took too long",
}
_STATUS_FAMILIES = {"4": "refused by the server", "5": "an error of the server"}
_CAUSES = {
    "suspended": "the machine was suspended",
    "starved": "the machine gave no CPU",
    "busy": "Headgate was busy with its own work",
}
_NEAR_ALL = 0.9995
_MOST_NAMED = 5


class ReportWords(msgspec.Struct, frozen=True):
    """The sentences about one run, the most important first."""

    headline: str
    """Deadlines, use of the line, worst second."""
    amounts: str
    """Sites, pages, bytes and time."""

    @classmethod
    def from_report(cls, report: RunReport) -> ReportWords:
        begin = _not_over(report)
        if report.nothing_fetched and not begin:
            return cls(_nothing(report), _amounts(report))
        headline = "; ".join([_deadlines(report), *_line(report), *_quota(report)])
        if begin:
            headline = f"{begin} {format_duration(report.seconds)}: {_continued(headline)}"
        return cls(headline, _amounts(report))


def percent(share: float) -> str:
    """A percentage; less than all is never shown as 100 %.

    >>> percent(0.987), percent(0.99999), percent(1.02), percent(0.04321)
    ('98.7 %', '99.9 %', '102 %', '4.32 %')
    """
    if _NEAR_ALL <= share < 1:
        share = 0.999
    return f"{100 * share:.3g} %"


def late_by(site: SiteReport, now: float) -> float:
    """Seconds after the deadline at its end, or at ``now`` if it has not ended; 0: not late, also
    if it was stopped at its deadline."""
    if site.deadline is None or site.met is not False or site.stopped_at_deadline:
        return 0.0
    return max((now if site.finished is None else site.finished) - site.deadline, 0.0)


def why_missed(site: SiteReport, now: float) -> str:
    """Why a deadline was missed by a site that is not late; empty: it is, or none was missed."""
    if site.met is not False or late_by(site, now):
        return ""
    if site.stopped_at_deadline:
        return f"stopped, {plural(site.to_do, 'URL')} left"
    if not site.pages:
        return "nothing fetched"
    return "host given up" if site.given_up else "not done"


def nothing_because(site: SiteReport) -> str:
    """Why nothing was fetched of a site."""
    if site.given_up:
        return next(iter(site.given_up.values()))
    if site.errors:
        kind = max(site.errors, key=lambda kind: site.errors[kind])
        return " ".join((kind if kind.isdigit() else f"{kind}:", error_meaning(kind))).strip()
    if site.stopped_at_deadline:
        return "stopped at its deadline"
    if site.state == "waiting":
        return "never begun"
    return "robots.txt forbids it" if Reason.ROBOTS in site.left_out else "no page was found"


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
    """A failure kind or a status in words; empty if unknown.

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


def stalls_in_words(report: RunReport) -> list[str]:
    """Time lost by stalls of the machine, by cause; only if it is more than a second, or a deadline
    was missed."""
    lost: dict[str, list[Stall]] = {}
    for stall in report.stalls:
        lost.setdefault(stall.cause, []).append(stall)
    missed = any(site.met is False for site in report.sites)
    if not missed and sum(stall.seconds for stall in report.stalls) <= 1:
        return []
    return [_stalled(_CAUSES.get(cause, cause), stalls) for cause, stalls in lost.items()]


def restarts_in_words(report: RunReport) -> list[str]:
    """Sites whose crawling process died under them."""
    return [
        site.name if site.restarts == 1 else f"{site.name} ({site.restarts:,} times)"
        for site in report.sites
        if site.restarts
    ]


def robots_ignored(report: RunReport) -> list[str]:
    """Hosts whose robots.txt the user said to ignore."""
    return sorted({host for site in report.sites for host in site.robots_ignored})


def _stalled(cause: str, stalls: list[Stall]) -> str:
    longest = max(stalls, key=lambda stall: stall.seconds)
    seconds = format_duration(sum(stall.seconds for stall in stalls))
    times = "" if len(stalls) == 1 else f"{len(stalls):,} times, the longest "
    return f"{cause} for {seconds} ({times}from {format_duration(longest.start)} on)"


def _not_over(report: RunReport) -> str:
    if report.abandoned:
        return "Abandoned after"
    if report.under_way:
        return "Under way for"
    return "Interrupted after" if report.interrupted else ""


def _continued(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _deadlines(report: RunReport) -> str:
    with_deadline = [site for site in report.sites if site.deadline is not None]
    if not with_deadline:
        return _without_deadlines(report)
    met = sum(site.met is True for site in with_deadline)
    stopped = sum(site.stopped_at_deadline for site in with_deadline)
    still_open = sum(site.met is None for site in with_deadline)
    total = len(with_deadline)
    if met == total:
        return "The deadline was met" if total == 1 else f"All {total:,} deadlines met"
    words = f"{met:,} of {plural(total, 'deadline')} met"
    if stopped:
        own = "its deadline" if stopped == 1 else "their deadlines"
        words = f"{words}, {plural(stopped, 'site')} stopped at {own}"
    return f"{words}, {still_open:,} still open" if still_open else words


def _without_deadlines(report: RunReport) -> str:
    ended = [site for site in report.sites if site.state == "done" or site.at_its_bound]
    done = sum(site.pages > 0 for site in ended)
    total = len(report.sites)
    if not total:
        return "No sites"
    if done == total:
        return "The site is done" if total == 1 else f"All {total:,} sites done"
    return f"{done:,} of {plural(total, 'site')} done"


def _nothing(report: RunReport) -> str:
    named = [f"{site.name} ({nothing_because(site)})" for site in report.sites[:_MOST_NAMED]]
    if len(report.sites) > len(named):
        named.append(f"and {len(report.sites) - len(named):,} more")
    return f"Nothing was fetched: {', '.join(named)}"


def _line(report: RunReport) -> list[str]:
    if report.peak_rate_1s is None:  # shorter than a second: a share of the budget says nothing
        return _way_made(report)
    rest = [f"worst second {format_rate(report.peak_rate_1s)}", *_way_made(report)]
    if report.utilisation is None:
        limit = _budget(report) if _ever_limited(report) else "no limit"
        return [f"{limit}, {format_rate(report.mean_rate)} on average", *rest]
    return [f"{percent(report.utilisation)} of {_budget(report)} used", *rest]


def _ever_limited(report: RunReport) -> bool:
    return any(rate is not None for _, rate in report.budget_changes)


def _way_made(report: RunReport) -> list[str]:
    if not report.made_way_seconds:
        return []
    left = format_size(report.left_to_others)
    return [f"made way for others for {format_duration(report.made_way_seconds)} ({left})"]


def _budget(report: RunReport) -> str:
    """The budget, or its range if it changed."""
    rates = [math.inf if rate is None else rate for _, rate in report.budget_changes]
    if report.budget is not None:
        rates.append(report.budget)
    least, most = min(rates, default=math.inf), max(rates, default=math.inf)
    if least == most:
        return format_rate(least)
    hours = f" by the hours of {report.zone}" if report.zone else ""
    between = f"{format_rate(least)} to {format_rate(most)}{hours}"
    if report.quota is not None:
        return f"what budget and quota allowed ({between})"
    return f"a budget of {between}"


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
        f"{plural(len(report.sites), 'site')}, {_pages(report)}, "
        f"{format_size(report.bytes)} of content ({format_size(report.wire_bytes)} on the line) "
        f"in {format_duration(report.seconds)}{_resumed(report)}"
    )


def _pages(report: RunReport) -> str:
    pages, unchanged = plural(report.pages, "page"), report.unchanged
    if not unchanged:
        return pages
    if unchanged < report.pages:
        return f"{pages}, {unchanged:,} of them unchanged"
    return f"{pages}, unchanged" if unchanged == 1 else f"{pages}, all of them unchanged"


def _resumed(report: RunReport) -> str:
    times = len(report.legs) - 1
    if times < 1:
        return ""
    return f" of crawling, resumed {'once' if times == 1 else f'{times:,} times'}"


_OURS = ("headgate", "unlimited")


def policy_words(report: RunReport) -> list[str]:
    """Results of a policy of the user's choice, against the promises of Headgate's own.

    A sentence or two; none where Headgate set the rates in its own way.
    """
    if report.policy in _OURS or report.order is not None:
        return []
    if report.policy_fault:
        why = f"The policy {report.policy} could not be followed: {report.policy_fault}."
        return [f"{why} Headgate's own set the rates instead."]
    sentences = [f"The policy {report.policy} set the rates."]
    planned = [site for site in report.sites if site.planned_end is not None]
    if planned:
        promised = _result(planned, [site.planned_end for site in planned])
        kept = _result(planned, [site.finished for site in planned])
        sentences.append(f"Headgate's own had promised {promised}; this one came to {kept}.")
    return [" ".join(sentences)]


def _result(sites: list[SiteReport], ends: list[float | None]) -> str:
    """How many are on time, how late the others are together, and when the last one ends."""
    known = [(site, end) for site, end in zip(sites, ends, strict=True) if end is not None]
    with_deadline = [(site.deadline, end) for site, end in known if site.deadline is not None]
    late = [end - due for due, end in with_deadline if end > due + LATE_AFTER_SECONDS]
    words = []
    if any(site.deadline is not None for site in sites):
        given = sum(site.deadline is not None for site in sites)
        words.append(f"{len(with_deadline) - len(late)} of {plural(given, 'deadline')}")
        if late:
            words.append(f"{format_duration(sum(late))} of lateness")
    words.append(f"the end at {format_duration(max(end for _, end in known))}" if known else "none")
    return ", ".join(words)


def order_words(report: RunReport) -> list[str]:
    """The results of one queue over all sites: harvest, use of the line, and how far the order was
    kept.

    Two sentences; none where sites had rates.
    """
    order = report.order
    if order is None:
        return []
    harvest = ""
    if order.pages:
        harvest = f": {order.relevant:,} of {plural(order.pages, 'page')} relevant"
    words = f"The best page of all sites went first (admission by {order.admission}){harvest}."
    return [" ".join([words, _kept(order), *_unheld(report, order)])]


def _kept(order: ScoreOrderReport) -> str:
    if not order.out_of_order:
        return "None was begun before a better one."
    part, places = order.out_of_order / order.begun, order.places / order.begun
    return (
        f"{percent(part)} were begun before a better one that did not fit, {places:.2f} places"
        " ahead on average."
    )


def _unheld(report: RunReport, order: ScoreOrderReport) -> list[str]:
    if order.admission == "shares" or report.budget is None or report.peak_rate_1s is None:
        return []
    worst = percent(report.peak_rate_1s / report.budget)
    return [f"Nothing held the line to its limit: its worst second carried {worst} of it."]


def quota_is_used_up(use: QuotaUse) -> str:
    """A quota in words.

    That it is used up, and when it goes on, in the quota's time zone.
    """
    until = use.resets.astimezone(use.quota.zone)
    return (
        f"the quota of {use.quota} is used up; going on at {until:%Y-%m-%d %H:%M} {use.quota.zone}"
    )
