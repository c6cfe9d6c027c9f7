"""Guards against crawler traps.

A trap is an endless URL space: relative links that resolve ever deeper, calendars with a next
month, listings with a parameter for everything. Each guard refuses a URL by its form, or by how
many of its kind were accepted before. Refusals are counted by reason. When in doubt, a URL is
accepted:

too long          more than 2,000 characters.
too deep          more than 25 path segments.
repeating         a run of segments three times in a row in a path of more than 5 segments,
                  ``/a/b/a/b/a/b/``. Runs of digits do not count: ``/1/1/1`` may be a section of a
                  book.
calendar          a date more than 2 years ahead, or more than 50 back in a path that contains
                  "calendar" or the like (:mod:`headgate.frontier.traps`).
same parameters   one ``name=value`` three times in a query.
many variants     a script (host and path) with 10,000 different queries already accepted.

URLs with session ids are not refused: see :mod:`headgate.frontier.url_filter`.

Variants of a script are counted by hash in a table of fixed size. Scripts that share a counter are
counted together; with 65,536 counters that matters on very large sites only.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from urllib.parse import unquote_plus

import msgspec
from xxhash import xxh3_64_intdigest

__all__ = ["LONGEST_URL", "Trap", "TrapRules", "Traps"]

LONGEST_URL = 2000

_COUNTERS = 1 << 16
_REPEATS = 3
_SHALLOW = 5
"""Paths up to this many segments are not checked for repeats: a trap soon goes deeper."""


class Trap(StrEnum):
    """Why a URL looks like a trap."""

    TOO_LONG = "too long"
    TOO_DEEP = "too deep"
    REPEATING = "repeating segments"
    CALENDAR = "calendar without end"
    SAME_PARAMETERS = "same parameter again"
    MANY_VARIANTS = "too many queries of one script"


class TrapRules(msgspec.Struct, frozen=True):
    """Bounds; ``this_year`` is when the crawl runs."""

    this_year: int
    longest: int = LONGEST_URL
    segments: int = 25
    variants: int = 10_000
    years_ahead: int = 2
    years_back: int = 50


class Traps:
    """The guards of one site run. The only state is how many variants each script has."""

    __slots__ = ("_calendars", "_rules", "_variants")

    def __init__(self, rules: TrapRules) -> None:
        self._rules = rules
        self._calendars = Calendars(rules.this_year, rules.years_ahead, rules.years_back)
        self._variants: array[int] | None = None

    def sift(self, urls: Sequence[str]) -> tuple[list[str], list[Trap]]:
        """The URLs that lead into no trap, in order, and the traps of the others.

        Most URLs are short, shallow and without query or date, and need no closer check.
        """
        longest, suspicious = self._rules.longest, self._calendars.suspicious
        dated = suspicious("\n".join(urls))
        harmless: list[str] = []
        traps: list[Trap] = []
        for url in urls:
            odd = "?" in url or url.count("/") >= _SHALLOW + 3 or len(url) > longest
            if odd or (dated and suspicious(_behind_host(url))):
                trap = self.trap(url)
                if trap is not None:
                    traps.append(trap)
                    continue
            harmless.append(url)
        return harmless, traps

    def trap(self, url: str) -> Trap | None:
        """The trap that this URL seems to lead into; None: none, and its query is counted.

        >>> Traps(TrapRules(2026)).trap("http://a/b/c/b/c/b/c/")
        <Trap.REPEATING: 'repeating segments'>
        """
        rules = self._rules
        if len(url) > rules.longest:
            return Trap.TOO_LONG
        path, _, query = url.partition("?")
        segments = path.split("/")[3:]
        if len(segments) > rules.segments:
            return Trap.TOO_DEEP
        if len(segments) > _SHALLOW and _repeats(segments):
            return Trap.REPEATING
        if self._calendars.lead_far(_behind_host(path), query):
            return Trap.CALENDAR
        return self._query_trap(path, query) if query else None

    def count(self, urls: Iterable[str]) -> None:
        """Count URLs accepted before a crash."""
        for url in urls:
            if "?" in url:
                self._count(url.partition("?")[0])

    def _query_trap(self, path: str, query: str) -> Trap | None:
        if query.count("&") >= _REPEATS - 1:
            parameters = query.split("&")
            if len(parameters) - len(set(parameters)) >= _REPEATS - 1:
                ((_, times),) = Counter(parameters).most_common(1)
                if times >= _REPEATS:
                    return Trap.SAME_PARAMETERS
        return Trap.MANY_VARIANTS if self._count(path) > self._rules.variants else None

    def _count(self, script: str) -> int:
        if self._variants is None:
            self._variants = array("I", bytes(4 * _COUNTERS))
        counter = xxh3_64_intdigest(script.encode()) % _COUNTERS
        count = min(self._variants[counter] + 1, self._rules.variants + 1)
        self._variants[counter] = count
        return count


def _behind_host(url: str) -> str:
    """Numbers in addresses and ports are not years."""
    end = url.find("/", len("https://"))
    return "" if end < 0 else url[end:]


def _repeats(segments: list[str]) -> bool:
    """Whether a run of segments occurs three times in a row.

    >>> _repeats(["x", "a", "b", "a", "b", "a", "b", "c"]), _repeats(["1", "1", "1"])
    (True, False)
    """
    for period in range(1, len(segments) // _REPEATS + 1):
        same = 0
        for k in range(period, len(segments)):
            same = same + 1 if segments[k] == segments[k - period] else 0
            if same == (_REPEATS - 1) * period:
                run = "".join(segments[k - period + 1 : k + 1])
                if run and not run.isdigit():
                    return True
    return False


_BAND_YEARS = 30
_LOOKED_AT = 300
"""Characters of a path, and of a query."""
_MOST_PLACES = 3
_SECONDS_A_YEAR = 31_556_952
_SECONDS = re.compile(r"=\d{10}(?:\d{3})?(?!\d)")


class Calendars:
    """Detects calendar URLs whose dates are too far from today.

    A calendar has a page for every month, week or day without end. Its URLs are recognised by their
    dates (`frontier.traps`). Only the 30 years beyond a bound count, because ``/9041/12/`` is
    hardly a date; a crawler follows a calendar step by step and cannot skip them. Dates in the past
    count only in a path that contains "calendar" or the like: archives go back for centuries.

    A hostile page may have a hundred thousand URLs made to be slow to check. So only the first few
    hundred characters of a URL are searched, around the first few matches of such a year.

    The years that are too far ahead, and too far back.
    """

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

        if in_path and self._far(path_years(path, self._places(path)), path):
            return True
        pairs = pairs_of(query)
        if in_query and self._far(query_years(pairs), path):
            return True
        return in_seconds and any(
            names_a_date(name) and value.isdecimal() and int(value[:10]) in self._seconds
            for name, value in pairs
        )

    def _places(self, path: str) -> list[re.Match[str]]:
        places = [*self._says_ahead.finditer(path), *self._says_back.finditer(path)]
        return places[:_MOST_PLACES]

    def _far(self, years: Iterable[int], path: str) -> bool:

        met = set(years)
        if not met.isdisjoint(self._ahead):
            return True
        return not met.isdisjoint(self._back) and SAYS_CALENDAR.search(path) is not None


def _any_of(years: range) -> re.Pattern[str]:
    return re.compile("|".join(map(str, years)))


# Finds dates in URLs of calendars, and returns their years.
#
# Formats that are recognised:
#
# in any path       ``/2031/04``, ``/2031-04-01``, ``/2031-W14``, ``/april-2031``, ``/2031/apr``
# in a path that contains calendar, events, week or the like
#                   also ``/2031/4``, ``/4/2031``, ``/1-4-2031``, ``/20310401``; with calendar or
#                   month ``/203104``
# in any query      ``=2031-04-01`` and ``=01.04.2031``, also followed by a time, ``=2031-04``,
#                   ``=04/2031``, ``=2031-W14``, ``=April 2031``; a year by its name (``year=2031``)
#                   or beside a month (``y=2031&m=4``)
# under a name that contains date, from, start or the like
#                   also ``=2031-4``, ``=203104``, ``=20310401`` and seconds since 1970
#
# Any other number is not taken for a year. Few crawls meet such dates, and these patterns take 10
# ms to compile, so `frontier.traps` imports this module only when it is needed.


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
