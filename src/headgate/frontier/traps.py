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
                  "calendar" or the like (:mod:`headgate.frontier.calendars`).
same parameters   one ``name=value`` three times in a query.
many variants     a script (host and path) with 10,000 different queries already accepted.

URLs with session ids are not refused: see :mod:`headgate.frontier.sessions`.

Variants of a script are counted by hash in a table of fixed size. Scripts that share a counter are
counted together; with 65,536 counters that matters on very large sites only.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec
from xxhash import xxh3_64_intdigest

from headgate.frontier.calendars import Calendars
from headgate.frontier.scope import origin_of

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
    return url[len(origin_of(url)) :]


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
