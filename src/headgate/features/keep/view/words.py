"""The status of a keeper, in sentences for a page and in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.features.changes.view import moment
from headgate.features.keep.status import Checked, Fresh, KeepCounts, KeepStatus
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.markup import printable
from headgate.report.phrases import plural

__all__ = ["KeepWords", "status_line", "status_text"]

_MOST_NAMED = 5
_SILENT_SECONDS = 300.0
"""A keeper writes its state every minute; after so long without, it is not running."""


class KeepWords:
    """The status of a keeper in sentences, for terminal and page.

    Of one state, as it is ``now``; ``alive`` tells whether a keeper holds the collection.
    """

    def __init__(self, status: KeepStatus, now: float, *, alive: bool) -> None:
        self._status = status
        self._now = now
        self._alive = alive

    @property
    def headline(self) -> str:
        status = self._status
        kept = f"{plural(status.sites, 'site')}, {plural(status.pages, 'page')}"
        return f"{kept}, kept since {moment(status.since)}"

    @property
    def at_work(self) -> str:
        """Whether it runs, and what to do if it does not."""
        ago = format_duration(max(self._now - self._status.now, 0.0))
        if self._alive and self._now - self._status.now > _SILENT_SECONDS:
            return (
                f"It runs, but has written no status for {ago}: the machine is very busy or the"
                " disk is full; if that stays, stop it and start it again"
            )
        if self._alive:
            return f"It runs; this is how it was {ago} ago"
        if self._status.running:
            return f"It was killed, at the latest {ago} ago; start it again, nothing stored is lost"
        return f"It was stopped {ago} ago; start it again to go on"

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Headings and sentences."""
        status = self._status
        if status.fresh is not None:
            yield "Fresh", fresh_words(status.fresh)
        if sum(status.checked.looks):
            yield "Checked", checked_words(status.checked)
        yield "Last day", day_words(status.last_day)
        if self._alive:
            yield "Now", self._doing()
        if paused := self._paused():
            yield "Paused", paused
        yield "Budget", self._budget()
        if promises := self._promises():
            yield "Promises", promises
        yield "Volumes", self._volumes()
        if notices := self._notices():
            yield "Told", notices

    def _doing(self) -> str:
        visits = self._status.visiting
        due = f"; {plural(self._status.due_now, 'site')} due" if self._status.due_now else ""
        if not visits:
            return f"no site is visited{due}"
        named = [
            f"{visit.site} ({_progress(visit.pages, visit.of_pages)},"
            f" {format_duration(max(self._now - visit.since, 0.0))})"
            for visit in visits[:_MOST_NAMED]
        ]
        return f"visiting {_listed(named, len(visits))}{due}"

    def _paused(self) -> str:
        """By the user."""
        paused = [one for one in self._status.paused if one.until > self._now]
        named = [f"{one.site} until {moment(one.until)}" for one in paused[:_MOST_NAMED]]
        return _listed(named, len(paused)) if named else ""

    def _budget(self) -> str:
        how = f"policy {self._status.policy}, for {self._status.objective}"
        if not self._status.running:  # it finds out what it may use when it starts
            return how
        budget = self._status.budget
        rate = "no limit" if budget.rate is None else format_rate(budget.rate)
        left = budget.quota_left
        quota = "" if left is None else f"; {format_size(left)} of the quota left"
        if budget.paused_until is not None:
            quota += f", nothing until {moment(budget.paused_until)}"
        return f"{rate}{quota}; {how}"

    def _promises(self) -> str:
        promises = self._status.promises
        if not (promises.kept or promises.late or promises.at_risk):
            return ""
        words = f"{promises.kept:,} kept, {promises.late:,} late"
        if promises.late and promises.worst_late_seconds:
            words += f" (the worst by {format_duration(promises.worst_late_seconds)})"
        risky = [
            f"{risk.site} ({_due(risk.due - self._now)})" for risk in promises.at_risk[:_MOST_NAMED]
        ]
        return f"{words}; at risk: {_listed(risky, len(promises.at_risk))}" if risky else words

    def _volumes(self) -> str:
        volumes = self._status.volumes
        parts = [f"{volumes.sealed:,} sealed"]
        if volumes.sealing:
            parts.append(f"{len(volumes.sealing)} being sealed")
        if volumes.open:
            parts.append(f"{volumes.open} being filled")
        if volumes.removed:
            freed = format_size(volumes.freed_bytes)
            parts.append(f"{volumes.removed:,} old captures removed, {freed} freed")
        return ", ".join(parts)

    def _notices(self) -> str:
        notices = self._status.notices
        if notices == type(notices)():
            return ""
        parts = [f"{plural(notices.told, 'change')} by on_change"]
        parts += [f"{notices.waiting:,} waiting"] if notices.waiting else []
        parts += [f"{notices.failed:,} given up"] if notices.failed else []
        parts += [f"{notices.dropped:,} dropped"] if notices.dropped else []
        return ", ".join(parts)


def fresh_words(fresh: Fresh) -> str:
    """
    >>> fresh_words(Fresh(0.934, 0.97, 5400.0, 86400.0))
    'about 93.4 % of the pages are as their servers have them (97.0 % by importance); out of date \
for 1h 30m on average, 95 % of them for less than 24h 00m'
    """
    return (
        f"about {_percent(fresh.estimated)} of the pages are as their servers have them"
        f" ({_percent(fresh.weighted)} by importance); out of date for"
        f" {format_duration(fresh.mean_age_seconds)} on average, 95 % of them for less than"
        f" {format_duration(fresh.p95_age_seconds)}"
    )


def checked_words(checked: Checked) -> str:
    """
    >>> checked_words(Checked((10,) + (0,) * 9, (0.5,) + (0.0,) * 9, (1,) + (0,) * 9))
    'of the last 10 looks 5.0 % were expected to find a change, and 10.0 % did'
    """
    looks, said, found = sum(checked.looks), sum(checked.said), sum(checked.found)
    return (
        f"of the last {plural(looks, 'look')} {_percent(said / looks)} were expected to find a"
        f" change, and {_percent(found / looks)} did"
    )


def day_words(day: KeepCounts) -> str:
    return (
        f"{plural(day.visits, 'visit')}, {plural(day.asked, 'look')}: {day.changed:,} changed,"
        f" {day.new:,} new, {day.gone:,} gone, {day.not_modified:,} as they were;"
        f" {format_size(day.wire_bytes)} on the line, {format_size(day.saved_bytes)} spared"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _progress(pages: int, of_pages: int) -> str:
    return f"{pages:,} of {plural(of_pages, 'page')}" if of_pages else plural(pages, "page")


def _due(seconds: float) -> str:
    if seconds < 0:
        return f"late by {format_duration(-seconds)}"
    return f"due in {format_duration(seconds)}"


def _listed(named: list[str], count: int) -> str:
    more = f" and {count - len(named):,} more" if count > len(named) else ""
    return ", ".join(named) + more


# A keeper's state for a terminal.


_INDENT = 10


def status_text(status: KeepStatus, now: float, *, alive: bool, page: str = "") -> str:
    """The whole status; ``page``: path of the status page."""
    words = KeepWords(status, now, alive=alive)
    lines = [f"{words.headline}.", f"{words.at_work}.", ""]
    lines += [f"{heading + ':':<{_INDENT}} {said}." for heading, said in words.sentences()]
    lines += _troubles(status, now)
    if page:
        lines += ["", f"Page: {page}"]
    return "\n".join(map(printable, lines))


def status_line(status: KeepStatus) -> str:
    """One line for a log, every minute."""
    day = status.last_day
    parts = [f"{plural(status.pages, 'page')} of {plural(status.sites, 'site')}"]
    if status.fresh is not None:
        age = format_duration(status.fresh.mean_age_seconds)
        parts.append(f"about {100 * status.fresh.estimated:.1f} % fresh, {age} out of date")
    parts.append(
        f"last day {plural(day.asked, 'look')}, {day.changed:,} changed, {day.new:,} new,"
        f" {format_size(day.wire_bytes)}"
    )
    if status.visiting:
        parts.append(f"visiting {plural(len(status.visiting), 'site')}")
    if status.promises.kept or status.promises.late:
        parts.append(f"promises {status.promises.kept:,} kept, {status.promises.late:,} late")
    if status.troubles:
        parts.append(f"{plural(len(status.troubles), 'trouble')}: headgate keep --status")
    return printable("; ".join(parts))


def _troubles(status: KeepStatus, now: float) -> list[str]:
    if not status.troubles:
        return ["", "No trouble."]
    lines = ["", f"{plural(len(status.troubles), 'trouble')}:"]
    for trouble in status.troubles:
        site = f"{trouble.site}: " if trouble.site else ""
        since = format_duration(max(now - trouble.since, 0.0))
        lines += [f"  {site}{trouble.what} (for {since})", f"    → {trouble.remedy}"]
    return lines
