"""What changed, for a terminal: pages by site, with removed and added lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter

from headgate.model.page_change import Change, PageChange
from headgate.views.plan_words import plural

__all__ = ["change_lines", "changes_in_words", "moment"]

_SIGNS = {Change.NEW: "+", Change.CHANGED: "~", Change.GONE: "-"}


def change_lines(changes: Iterable[PageChange]) -> Iterator[str]:
    """In the given order: a heading per site, a line per change, and its difference; with the time
    if a page has several."""
    for site, of_site in groupby(changes, key=attrgetter("site")):
        yield f"{site}"
        for _, of_page in groupby(of_site, key=attrgetter("url")):
            versions = list(of_page)
            for change in versions:
                yield from _change(change, at=moment(change.seen_at) if versions[1:] else "")


def _change(change: PageChange, at: str) -> Iterator[str]:
    words = [change.url, change.title, at]
    yield f"  {_SIGNS[change.change]} {'  '.join(filter(None, words))}"
    yield from (f"      {line}" for line in change.difference)
    if change.more_lines:
        yield f"      … {plural(change.more_lines, 'more line')}"


def changes_in_words(counts: Counter[Change], unremarkable: int) -> str:
    """A summary.

    >>> changes_in_words(Counter({Change.NEW: 2, Change.GONE: 1}), 3)
    '2 pages new, 0 changed, 1 gone; 3 differ only in markup, dates, counters or tokens.'
    """
    said = (
        f"{plural(counts[Change.NEW], 'page')} new, {counts[Change.CHANGED]} changed,"
        f" {counts[Change.GONE]} gone"
    )
    if unremarkable:
        differ = "differs" if unremarkable == 1 else "differ"
        said += f"; {unremarkable} {differ} only in markup, dates, counters or tokens"
    return f"{said}."


def moment(seconds: float) -> str:
    """A time as text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
