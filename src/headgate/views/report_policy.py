"""Results of a policy of the user's choice, against the promises of Headgate's own."""

from __future__ import annotations

from headgate.model.plan import LATE_AFTER_SECONDS
from headgate.model.run_report import RunReport, SiteReport
from headgate.model.units import format_duration
from headgate.views.plan_words import plural

__all__ = ["policy_words"]

_OURS = ("headgate", "unlimited")


def policy_words(report: RunReport) -> list[str]:
    """A sentence or two; none where Headgate set the rates in its own way."""
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
