"""A running crawl in plain lines, for a log or a pipe: changes, and a regular summary."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.model.snapshot import SiteSnapshot, Snapshot
from headgate.model.units import format_duration, format_size
from headgate.views.markup import printable
from headgate.views.plan_words import duration_at_least, plural
from headgate.views.progress_table import rate_words

__all__ = ["ProgressLines"]


class ProgressLines:
    """Remembers each site's state and the time of the last summary."""

    def __init__(self, every_seconds: float) -> None:
        self._every = every_seconds
        self._states: dict[str, str] = {}
        self._next = every_seconds
        self._told_at = -1.0

    def lines(self, snapshot: Snapshot) -> Iterator[str]:
        """Lines for now: one for each site that began or ended, and perhaps a summary."""
        for site in snapshot.sites if snapshot.changed is None else snapshot.changed:
            before = self._states.get(site.name, "waiting")
            if site.state != before:
                self._states[site.name] = site.state
                yield _stamped(snapshot, f"{printable(site.name)}: {_change(site)}")
        if snapshot.time >= self._next:
            self._next = snapshot.time + self._every
            yield from self.last(snapshot)

    def last(self, snapshot: Snapshot) -> Iterator[str]:
        """A final summary, unless it was just printed."""
        if snapshot.time != self._told_at:
            self._told_at = snapshot.time
            yield _stamped(snapshot, _whole(snapshot))


def _stamped(snapshot: Snapshot, words: str) -> str:
    return f"[{format_duration(snapshot.time):>7}] {words}"


def _change(site: SiteSnapshot) -> str:
    if not site.ended:
        return site.state if site.deadline is None else f"{site.state}{_deadline(site)}"
    errors = f", {plural(site.errors, 'error')}" if site.errors else ""
    size = format_size(site.wire_bytes)
    return f"{site.state}, {plural(site.pages, 'page')}, {size}{errors}{_kept(site)}"


def _deadline(site: SiteSnapshot) -> str:
    return "" if site.deadline is None else f", deadline {format_duration(site.deadline)}"


def _kept(site: SiteSnapshot) -> str:
    if site.missed:
        return f", deadline missed: {site.missed}"
    if site.late is None:
        return ""
    if site.late > 0:
        return f", {duration_at_least(site.late)} late"
    return f", {format_duration(-site.late)} before its deadline"


def _whole(snapshot: Snapshot) -> str:
    ended = sum(site.ended for site in snapshot.sites)
    running = sum(site.running for site in snapshot.sites)
    late = sum((site.late or 0.0) > 0 for site in snapshot.sites)
    parts = [
        f"{ended:,} of {plural(len(snapshot.sites), 'site')} ended, {running:,} running",
        f"{plural(snapshot.pages, 'page')}, {format_size(snapshot.wire_bytes)}",
    ]
    if snapshot.paused_until:
        parts.append(f"paused until {snapshot.paused_until}: the quota is used up")
    elif running:
        parts.append(rate_words(snapshot.rate, snapshot.budget))
    if snapshot.making_way:
        parts.append("making way for others")
    if snapshot.eta is not None and ended < len(snapshot.sites):
        about = "about " if snapshot.vague else ""
        parts.append(f"ends in {about}{format_duration(max(snapshot.eta - snapshot.time, 0.0))}")
    if late:
        parts.append(f"{late:,} late")
    if snapshot.relevant is not None:
        parts.append(f"{snapshot.relevant:,} relevant")
    if snapshot.errors:
        parts.append(plural(snapshot.errors, "error"))
    return "; ".join(parts)
