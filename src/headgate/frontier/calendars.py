"""Detects calendar URLs whose dates are too far from today.

A calendar has a page for every month, week or day without end. Its URLs are recognised by their
dates (`frontier.calendar_dates`). Only the 30 years beyond a bound count, because ``/9041/12/`` is
hardly a date; a crawler follows a calendar step by step and cannot skip them. Dates in the past
count only in a path that contains "calendar" or the like: archives go back for centuries.

A hostile page may have a hundred thousand URLs made to be slow to check. So only the first few
hundred characters of a URL are searched, around the first few matches of such a year.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["Calendars"]

_BAND_YEARS = 30
_LOOKED_AT = 300
"""Characters of a path, and of a query."""
_MOST_PLACES = 3
_SECONDS_A_YEAR = 31_556_952
_SECONDS = re.compile(r"=\d{10}(?:\d{3})?(?!\d)")


class Calendars:
    """The years that are too far ahead, and too far back."""

    __slots__ = ("_ahead", "_back", "_says_ahead", "_says_back", "_seconds")

    def __init__(self, this_year: int, years_ahead: int, years_back: int) -> None:
        first_ahead = this_year + years_ahead + 1
        last_back = this_year - years_back
        self._ahead = range(first_ahead, first_ahead + _BAND_YEARS)
        self._back = range(last_back - _BAND_YEARS, last_back)
        since_1970 = (first_ahead - 1970) * _SECONDS_A_YEAR
        self._seconds = range(since_1970, since_1970 + _BAND_YEARS * _SECONDS_A_YEAR)
        # Two patterns whose years share a century are much faster than one with two centuries.
        self._says_ahead, self._says_back = map(_any_of, (self._ahead, self._back))

    def suspicious(self, urls: str) -> bool:
        """A quick test whether such years may be in these URLs; mostly there are none."""
        return bool(self._says_ahead.search(urls) or self._says_back.search(urls))

    def lead_far(self, path: str, query: str) -> bool:
        """Whether a URL has a date so far away that it must be a calendar's.

        >>> calendars = Calendars(2026, years_ahead=2, years_back=50)
        >>> [calendars.lead_far("http://a/b", query) for query in ("y=2031&m=4", "y=2026&m=4")]
        [True, False]
        """
        path, query = path[:_LOOKED_AT], query[:_LOOKED_AT]
        in_path, in_query = self.suspicious(path), self.suspicious(query)
        in_seconds = _SECONDS.search(query) is not None
        if not (in_path or in_query or in_seconds):
            return False
        from headgate.frontier import calendar_dates as dates

        if in_path and self._far(dates.path_years(path, self._places(path)), path):
            return True
        pairs = dates.pairs_of(query)
        if in_query and self._far(dates.query_years(pairs), path):
            return True
        return in_seconds and any(
            dates.names_a_date(name) and value.isdecimal() and int(value[:10]) in self._seconds
            for name, value in pairs
        )

    def _places(self, path: str) -> list[re.Match[str]]:
        places = [*self._says_ahead.finditer(path), *self._says_back.finditer(path)]
        return places[:_MOST_PLACES]

    def _far(self, years: Iterable[int], path: str) -> bool:
        from headgate.frontier.calendar_dates import SAYS_CALENDAR

        met = set(years)
        if not met.isdisjoint(self._ahead):
            return True
        return not met.isdisjoint(self._back) and SAYS_CALENDAR.search(path) is not None


def _any_of(years: range) -> re.Pattern[str]:
    return re.compile("|".join(map(str, years)))
