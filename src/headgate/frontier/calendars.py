"""Dates in URLs, as calendars write them, and whether they lead too far from today.

A calendar has a page for every month, week or day there ever will be. Its URLs are told by their
dates, in the many shapes that calendars use:

in any path       ``/2031/04``, ``/2031-04-01``, ``/2031-W14``, ``/april-2031``, ``/2031/apr``
in a path that says calendar, events, week or the like
                  also ``/2031/4``, ``/4/2031``, ``/1-4-2031``, ``/20310401``; with calendar or
                  month ``/203104``
in any query      ``=2031-04-01`` and ``=01.04.2031``, also with a time behind, ``=2031-04``,
                  ``=04/2031``, ``=2031-W14``, ``=April 2031``; a year by its name (``year=2031``)
                  or beside a month (``y=2031&m=4``)
under a name that says date, from, start or the like
                  also ``=2031-4``, ``=203104``, ``=20310401`` and seconds since 1970

Any other number that looks like a year is none. Only the 30 years beyond a bound count, because
``/9041/12/`` is somebody's number; a calendar is walked step by step and cannot jump over them.
Dates of the past count only in a path that says calendar: archives go back for centuries.

A page of a stranger may bring a hundred thousand URLs made to be costly. So a URL is looked at in
its first few hundred characters, around the first few places where such a year stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_plus

__all__ = ["Calendars"]

_BAND_YEARS = 30
_LOOKED_AT = 300
"""Characters of a path, and of a query."""
_MOST_PLACES = 3
_MOST_PAIRS = 12
_AROUND = 20
"""Characters before and behind a year that a date has at the most."""
_SECONDS_A_YEAR = 31_556_952

_MM = r"(?:0[1-9]|1[0-2])"
_M = r"(?:0?[1-9]|1[0-2])"
_DD = r"(?:0[1-9]|[12]\d|3[01])"
_D = r"(?:0?[1-9]|[12]\d|3[01])"
_WEEK = r"(?:0?[1-9]|[1-4]\d|5[0-3])"
_ISO_WEEK = r"(\d{4})-?w(?:0[1-9]|[1-4]\d|5[0-3])(?!\d)"
_NAME = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?"
    r"|juli|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)"
)
_NAMED = (
    rf"(\d{{4}})[-/_ ]{_NAME}(?![a-z])"
    rf"|(?<![a-z]){_NAME}[-/_, ]{{1,2}}(?:{_D}[-/_, ]{{1,2}})?(\d{{4}})(?!\d)"
)

_PATH_DATE = re.compile(
    rf"[/~=](\d{{4}})[-/]{_MM}(?!\d)|(?<!\d){_ISO_WEEK}|(?<!\d){_NAMED}", re.IGNORECASE
)
_SAYS_CALENDAR = re.compile(
    r"calend|kalend|event|agenda|termin|month|monat|/week|/woche|/day", re.IGNORECASE
)
_CALENDAR_DATE = re.compile(
    rf"[/~=](\d{{4}})[-/]{_WEEK}(?![\d.])|[/~=](\d{{4}}){_MM}{_DD}(?!\d)"
    rf"|[/~=](?:{_D}[-/.])?{_M}[-/.](\d{{4}})(?![^/])"
)
_SAYS_MONTHS = re.compile(r"calend|kalend|month|monat", re.IGNORECASE)
_COMPACT_MONTH = re.compile(rf"/(\d{{4}}){_MM}(?![^/])")

_END = r"(?=$|[t ,])"
_DAYS = "|".join(
    rf"(\d{{4}}){between}{_M}{between}{_D}{_END}|{_D}{between}{_M}{between}(\d{{4}}){_END}"
    for between in ("-", "/", r"\.")
)
_VALUE = re.compile(
    rf"{_DAYS}|(\d{{4}})[-/]{_MM}{_END}|{_M}[-/](\d{{4}}){_END}|{_ISO_WEEK}|{_NAMED}",
    re.IGNORECASE,
)
_DATE_VALUE = re.compile(
    rf"(\d{{4}})[-/.]{_M}{_END}|(\d{{4}}){_MM}(?:{_DD})?(?:$|t)", re.IGNORECASE
)
_DATE_NAME = re.compile(
    r"date|datum|time|day|month|monat|week|woche"
    r"|(?:^|[^a-z])(?:d|dt|ym|ymd|cal|from|to|start|end|begin|since|until|when|von|bis)\]?$",
    re.IGNORECASE,
)
_YEAR_NAME = re.compile(r"(?:year|yr|jahr)\]?$", re.IGNORECASE)
_SHORT_YEAR_NAME = re.compile(r"(?:^|[^a-z])(?:y|yy|yyyy|j)\]?$", re.IGNORECASE)
_PART_NAME = re.compile(
    r"(?:^|[^a-z])(?:m|mm|mo|mon|month|monat|w|week|kw|d|dd|day|tag)\]?$", re.IGNORECASE
)
_PARTS = re.compile("[&;]")
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
        # Two searches with a century in front each are quicker than one with two by far.
        self._says_ahead, self._says_back = map(_any_of, (self._ahead, self._back))

    def suspicious(self, urls: str) -> bool:
        """Whether there may be such years in the paths of some URLs: mostly there are none."""
        return bool(self._says_ahead.search(urls) or self._says_back.search(urls))

    def lead_far(self, path: str, query: str) -> bool:
        """Whether a URL's date is too far away to be anything but a calendar's.

        >>> calendars = Calendars(2026, years_ahead=2, years_back=50)
        >>> [calendars.lead_far("http://a/b", query) for query in ("y=2031&m=4", "y=2026&m=4")]
        [True, False]
        """
        path, query = path[:_LOOKED_AT], query[:_LOOKED_AT]
        if self.suspicious(path) and self._far(self._path_years(path), path):
            return True
        if self.suspicious(query) and self._far(_query_years(_pairs(query)), path):
            return True
        return _SECONDS.search(query) is not None and self._far_by_seconds(_pairs(query))

    def _path_years(self, path: str) -> Iterator[int]:
        patterns = [_PATH_DATE]
        if _SAYS_CALENDAR.search(path):
            patterns.append(_CALENDAR_DATE)
            if _SAYS_MONTHS.search(path):
                patterns.append(_COMPACT_MONTH)
        places = [*self._says_ahead.finditer(path), *self._says_back.finditer(path)]
        for place in places[:_MOST_PLACES]:
            start, stop = max(place.start() - _AROUND, 0), place.end() + _AROUND
            for pattern in patterns:
                for found in pattern.finditer(path, start, stop):
                    yield _year(found.groups())

    def _far(self, years: Iterable[int], path: str) -> bool:
        met = set(years)
        if not met.isdisjoint(self._ahead):
            return True
        return not met.isdisjoint(self._back) and _SAYS_CALENDAR.search(path) is not None

    def _far_by_seconds(self, pairs: list[tuple[str, str]]) -> bool:
        return any(
            _DATE_NAME.search(name) and value.isdecimal() and int(value[:10]) in self._seconds
            for name, value in pairs
        )


def _any_of(years: range) -> re.Pattern[str]:
    return re.compile("|".join(map(str, years)))


def _pairs(query: str) -> list[tuple[str, str]]:
    """Names and values of a query, read."""
    parts = _PARTS.split(unquote_plus(query), _MOST_PAIRS)[:_MOST_PAIRS]
    return [(name, value) for name, _, value in (part.partition("=") for part in parts)]


def _query_years(pairs: list[tuple[str, str]]) -> Iterator[int]:
    has_part = any(_PART_NAME.search(name) for name, _ in pairs)
    for name, value in pairs:
        yield from _first_years(_VALUE, value)
        if _DATE_NAME.search(name):
            yield from _first_years(_DATE_VALUE, value)
        says_year = _YEAR_NAME.search(name) or (has_part and _SHORT_YEAR_NAME.search(name))
        if says_year and len(value) == len("2031") and value.isdecimal():
            yield int(value)


def _first_years(dates: re.Pattern[str], value: str) -> Iterator[int]:
    found = dates.match(value)
    if found is not None:
        yield _year(found.groups())


def _year(groups: Iterable[str | None]) -> int:
    return int(next(filter(None, groups)))
