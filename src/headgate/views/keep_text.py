"""A keeper's state for a terminal."""

from __future__ import annotations

from headgate.model.keep_status import KeepStatus
from headgate.model.units import format_duration, format_size
from headgate.views.keep_words import KeepWords
from headgate.views.markup import printable
from headgate.views.plan_words import plural

__all__ = ["status_line", "status_text"]

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
