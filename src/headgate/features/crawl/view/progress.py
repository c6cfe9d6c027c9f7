"""A running crawl: as a table in a terminal, in plain lines for a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from headgate.model.snapshot import SiteSnapshot, Snapshot
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.markup import printable, shortened
from headgate.report.phrases import duration_at_least, plural

__all__ = ["MOST_ROWS", "ProgressLines", "progress_table"]


class ProgressLines:
    """A running crawl in plain lines, for a log or a pipe: changes, and a regular summary.

    Remembers each site's state and the time of the last summary.
    """

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


# A running crawl as a table in a terminal.
#
# One row per site, those that run before those that wait, those before the ended; when there are
# more than fit, the rest is one row. The last row is the whole crawl against its budget. A narrow
# terminal gets fewer columns and shorter names, never cut figures.
#
#     site          state     pages  rate against share       ends      deadline   errors
#     wiki          crawling    120  ▰▰▰▰▱▱  37 of 50 KB/s    in 12.0s  3.0s early
#     1 site, 8.2s  0 ended     120  ▰▱▱▱▱▱  37 of 300 KB/s   in 12.0s  none late


MOST_ROWS = 20
_LONGEST_NAME, _SHORTEST_NAME = 28, 8
_GAP = 2
_BAR_CELLS = 6
_FULL, _EMPTY = "▰", "▱"
_ORDER = {"crawling": 0, "waiting": 1, "stopped": 2, "done": 3}
_STATE_STYLES = {"crawling": "cyan", "waiting": "dim", "done": "green", "stopped": "yellow"}


@dataclass(frozen=True, slots=True)
class _Column:
    """A column beside the names."""

    heading: str
    of_site: Callable[[SiteSnapshot, float], Text]
    of_all: Callable[[Snapshot], Text]
    justify: Literal["left", "right"] = "right"
    widths: range = range(10_000)
    """Widths of terminals that show it."""


def progress_table(snapshot: Snapshot, most_rows: int = MOST_ROWS, width: int = 120) -> Table:
    """The table, with at most ``most_rows`` rows for sites."""
    shown = _worth_showing(snapshot.sites, most_rows)
    columns = [_cells(column, snapshot, shown) for column in _COLUMNS if width in column.widths]
    room = width - sum(max(map(_width, cells)) + _GAP for _, cells in columns)
    names = _names(snapshot, shown, min(max(room, _SHORTEST_NAME), _LONGEST_NAME))
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    table.add_column("site", no_wrap=True)
    for column, _ in columns:
        table.add_column(column.heading, no_wrap=True, justify=column.justify)
    for name, *cells in zip(names, *(cells[1:] for _, cells in columns), strict=True):
        table.add_row(name, *cells)
    table.rows[-1].style = "bold"
    return table


def rate_words(rate: float, limit: float | None) -> str:
    """
    >>> rate_words(37_000, 50_000), rate_words(900_000, 1_000_000), rate_words(5_000, None)
    ('37 of 50 KB/s', '900 KB/s of 1 MB/s', '5 KB/s')
    """
    if limit is None or math.isinf(limit):
        return format_rate(rate)
    number, unit = format_rate(rate).split()
    of_limit = format_rate(limit)
    same_unit = of_limit.endswith(f" {unit}")
    return f"{number} of {of_limit}" if same_unit else f"{number} {unit} of {of_limit}"


def _worth_showing(sites: Sequence[SiteSnapshot], most: int) -> list[SiteSnapshot]:
    """Running sites first; of those in one state the latest, when not all of them fit."""
    ordered = sorted(sites, key=lambda site: (_ORDER.get(site.state, 9), -(site.late or 0.0)))
    chosen = ordered if len(ordered) <= most else ordered[: max(most - 1, 1)]
    places = {id(site): place for place, site in enumerate(sites)}
    return sorted(chosen, key=lambda site: (_ORDER.get(site.state, 9), places[id(site)]))


def _names(snapshot: Snapshot, shown: Sequence[SiteSnapshot], longest: int) -> Iterator[Text]:
    for site in shown:
        yield Text(shortened(printable(site.name), longest))
    if len(shown) < len(snapshot.sites):
        yield Text(f"… {len(snapshot.sites) - len(shown):,} more", style="dim")
    whole = f"{plural(len(snapshot.sites), 'site')}, {format_duration(snapshot.time)}"
    yield Text(shortened(whole, longest))


def _cells(
    column: _Column, snapshot: Snapshot, shown: Sequence[SiteSnapshot]
) -> tuple[_Column, list[Text]]:
    """The column's heading and its cells, from top to bottom."""
    cells = [Text(column.heading), *(column.of_site(site, snapshot.time) for site in shown)]
    if len(shown) < len(snapshot.sites):
        cells.append(Text(""))
    return column, [*cells, column.of_all(snapshot)]


def _width(cell: Text) -> int:
    return cell_len(cell.plain)


def _state(site: SiteSnapshot, _: float) -> Text:
    return Text(printable(site.state), style=_STATE_STYLES.get(site.state, ""))


def _ended(snapshot: Snapshot) -> Text:
    return Text(f"{sum(site.ended for site in snapshot.sites):,} ended")


def _pages(site: SiteSnapshot, _: float) -> Text:
    return _page_count(site.pages, site.relevant)


def _all_pages(snapshot: Snapshot) -> Text:
    return _page_count(snapshot.pages, snapshot.relevant)


def _page_count(pages: int, relevant: int | None) -> Text:
    """With a topic, also the number of relevant pages."""
    return Text(f"{pages:,}" if relevant is None else f"{relevant:,} of {pages:,}")


def _size(site: SiteSnapshot, _: float) -> Text:
    """Bytes received, with the percentage of the expected size."""
    size = format_size(site.wire_bytes)
    if not site.running or site.expected is None:
        return Text(size)
    share = min(site.wire_bytes / max(site.expected.likely, 1.0), 1.0)
    about = "about " if site.expected.vague else ""
    return Text(f"{about}{share:.0%} {size:>7}")


def _whole_size(snapshot: Snapshot) -> Text:
    return Text(format_size(snapshot.wire_bytes))


def _rate(site: SiteSnapshot, _: float) -> Text:
    if not site.running:
        return Text("")
    return Text("paused") if site.share == 0 else _rate_bar(site.rate, site.share)


def _whole_rate(snapshot: Snapshot) -> Text:
    if not _any_runs(snapshot):
        return Text("")
    if snapshot.paused_until:
        return Text(f"paused until {snapshot.paused_until}", style="yellow")
    way = Text(", making way" if snapshot.making_way else "", style="yellow")
    return _rate_bar(snapshot.rate, snapshot.budget) + way


def _bare_rate(site: SiteSnapshot, _: float) -> Text:
    if not site.running:
        return Text("")
    return Text("paused" if site.share == 0 else format_rate(site.rate))


def _whole_bare_rate(snapshot: Snapshot) -> Text:
    if not _any_runs(snapshot):
        return Text("")
    return Text("paused" if snapshot.paused_until else format_rate(snapshot.rate))


def _any_runs(snapshot: Snapshot) -> bool:
    """If none does, the rate is that of some last moment and meaningless."""
    return any(site.running for site in snapshot.sites)


def _rate_bar(rate: float, limit: float | None) -> Text:
    words = rate_words(rate, limit)
    if not limit:
        return Text(f"{'':{_BAR_CELLS}}  {words}")
    full = round(_BAR_CELLS * min(rate / limit, 1.0))
    return Text.assemble(
        (_FULL * full, "cyan"), (_EMPTY * (_BAR_CELLS - full), "dim"), f"  {words}"
    )


def _ends(site: SiteSnapshot, now: float) -> Text:
    return _end(site.eta, now, ended=site.ended, vague=site.vague)


def _last_end(snapshot: Snapshot) -> Text:
    ended = all(site.ended for site in snapshot.sites)
    return _end(snapshot.eta, snapshot.time, ended=ended, vague=snapshot.vague)


def _end(eta: float | None, now: float, *, ended: bool, vague: bool) -> Text:
    if eta is None:
        return Text("" if ended else "?")
    if ended:
        return Text(f"at {format_duration(eta)}")
    about = "about " if vague else ""
    return Text(f"in {about}{format_duration(max(eta - now, 0.0))}")


def _deadline_cell(site: SiteSnapshot, _: float) -> Text:
    if site.deadline is None:
        return Text("")
    if site.missed:
        return Text(site.missed, style="bold red")
    if site.late is None:
        return Text(format_duration(site.deadline), style="dim")
    if site.late > 0:
        return Text(f"{duration_at_least(site.late)} late", style="bold red")
    return Text(f"{format_duration(-site.late)} early", style="green")


def _late_count(snapshot: Snapshot) -> Text:
    late = sum((site.late or 0.0) > 0 for site in snapshot.sites)
    missed = sum(bool(site.missed) for site in snapshot.sites)
    if all(site.deadline is None for site in snapshot.sites):
        return Text("")
    if missed and not late:
        return Text(f"{missed:,} missed", style="bold red")
    return Text(f"{late:,} late", style="bold red") if late else Text("none late", style="green")


def _errors(site: SiteSnapshot, _: float) -> Text:
    return _count(site.errors)


def _all_errors(snapshot: Snapshot) -> Text:
    return _count(snapshot.errors)


def _count(errors: int) -> Text:
    return Text(f"{errors:,}" if errors else "", style="red")


def _from(width: int) -> range:
    return range(width, 10_000)


_COLUMNS = (
    _Column("state", _state, _ended, "left", _from(90)),
    _Column("pages", _pages, _all_pages),
    _Column("size", _size, _whole_size, widths=_from(108)),
    _Column("rate against share", _rate, _whole_rate, "left", _from(76)),
    _Column("rate", _bare_rate, _whole_bare_rate, widths=range(76)),
    _Column("ends", _ends, _last_end, widths=_from(58)),
    _Column("deadline", _deadline_cell, _late_count, widths=_from(46)),
    _Column("errors", _errors, _all_errors, widths=_from(84)),
)
