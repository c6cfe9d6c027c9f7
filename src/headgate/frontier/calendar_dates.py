"""Finds dates in URLs of calendars, and returns their years.

Formats that are recognised:

in any path       ``/2031/04``, ``/2031-04-01``, ``/2031-W14``, ``/april-2031``, ``/2031/apr``
in a path that contains calendar, events, week or the like
                  also ``/2031/4``, ``/4/2031``, ``/1-4-2031``, ``/20310401``; with calendar or
                  month ``/203104``
in any query      ``=2031-04-01`` and ``=01.04.2031``, also followed by a time, ``=2031-04``,
                  ``=04/2031``, ``=2031-W14``, ``=April 2031``; a year by its name (``year=2031``)
                  or beside a month (``y=2031&m=4``)
under a name that contains date, from, start or the like
                  also ``=2031-4``, ``=203104``, ``=20310401`` and seconds since 1970

Any other number is not taken for a year. Few crawls meet such dates, and these patterns take 10 ms
to compile, so `frontier.calendars` imports this module only when it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote_plus

__all__ = ["SAYS_CALENDAR", "names_a_date", "pairs_of", "path_years", "query_years"]

_MOST_PAIRS = 12
_AROUND = 20
"""Most characters of a date before and after its year."""

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
SAYS_CALENDAR = re.compile(
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


def path_years(path: str, places: Iterable[re.Match[str]]) -> Iterator[int]:
    """Years of dates in a path, searched for around the given matches of a year."""
    patterns = [_PATH_DATE]
    if SAYS_CALENDAR.search(path):
        patterns.append(_CALENDAR_DATE)
        if _SAYS_MONTHS.search(path):
            patterns.append(_COMPACT_MONTH)
    for place in places:
        start, stop = max(place.start() - _AROUND, 0), place.end() + _AROUND
        for pattern in patterns:
            for found in pattern.finditer(path, start, stop):
                yield _year(found.groups())


def query_years(pairs: Sequence[tuple[str, str]]) -> Iterator[int]:
    """Years of dates in the names and values of a query."""
    has_part = any(_PART_NAME.search(name) for name, _ in pairs)
    for name, value in pairs:
        yield from _first_years(_VALUE, value)
        if _DATE_NAME.search(name):
            yield from _first_years(_DATE_VALUE, value)
        says_year = _YEAR_NAME.search(name) or (has_part and _SHORT_YEAR_NAME.search(name))
        if says_year and len(value) == len("2031") and value.isdecimal():
            yield int(value)


def names_a_date(name: str) -> bool:
    """Whether a parameter of this name may hold seconds since 1970."""
    return _DATE_NAME.search(name) is not None


def pairs_of(query: str) -> list[tuple[str, str]]:
    """Decoded names and values of a query."""
    parts = _PARTS.split(unquote_plus(query), _MOST_PAIRS)[:_MOST_PAIRS]
    return [(name, value) for name, _, value in (part.partition("=") for part in parts)]


def _first_years(dates: re.Pattern[str], value: str) -> Iterator[int]:
    found = dates.match(value)
    if found is not None:
        yield _year(found.groups())


def _year(groups: Iterable[str | None]) -> int:
    return int(next(filter(None, groups)))
