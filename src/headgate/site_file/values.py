"""Readers of single values of a site file.

Each takes any TOML value and returns what it stands for, or raises `UserMistake` with what is wrong
and what to write instead. Readers do not know where the value stands in the file; the caller adds
that. An `ElementMistake` also says which element of a list is meant.
"""

from __future__ import annotations

import math
import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable
from datetime import date, time
from typing import TypeVar
from zoneinfo import ZoneInfo, available_timezones

from headgate.model.budget import Quota
from headgate.model.errors import UserMistake
from headgate.model.score_order import ADMISSIONS, SCORE
from headgate.model.site import ORDERS, OnDeadline, Requisites
from headgate.model.store_rule import StoreRule
from headgate.model.timetable import Calendar, Timetable
from headgate.model.units import (
    Bytes,
    BytesPerSecond,
    Seconds,
    parse_duration,
    parse_rate,
    parse_size,
)

__all__ = [
    "ElementMistake",
    "did_you_mean",
    "quantity",
    "read_admission",
    "read_bandwidth",
    "read_cap",
    "read_connections",
    "read_contact",
    "read_count",
    "read_country",
    "read_deadline",
    "read_delay",
    "read_depth",
    "read_files",
    "read_floor",
    "read_focus",
    "read_limit",
    "read_make_way",
    "read_on_deadline",
    "read_order",
    "read_order_of_all",
    "read_patterns",
    "read_policy",
    "read_queries",
    "read_quota",
    "read_seeds",
    "read_size",
    "read_store",
    "read_time",
    "read_timetable",
    "read_types",
    "read_zone",
    "shown",
    "strings",
    "web_address",
    "whole_number",
]

_WEB_ADDRESS = re.compile(
    r"https?://(?:[^\s/?#@]*@)?(?:\[[0-9a-f:.]+\]|[^\s/?#@:\[\]]+)(?::\d{1,5})?(?:[/?#]\S*)?",
    re.IGNORECASE,
)

_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/(?:[\w!#$&^.+-]+|\*)|\*/\*")

_ORDER_NAME = re.compile(r"[\w.-]+(?::[\w.]+)?")
"""One of Headgate's, an entry point's name, or module:function."""

_LARGEST = {"size": 1e18, "rate": 1e18, "duration": 100 * 365 * 86400.0}
"""An exabyte, an exabyte per second, and a century: more must be a mistake."""

_LONGEST_DELAY = 3600.0
_MOST_QUERIES = 1_000_000_000
"""Per path: as good as no limit."""

_Number = TypeVar("_Number", Bytes, BytesPerSecond, Seconds)


class ElementMistake(UserMistake):
    """A mistake in one element of a list."""

    def __init__(self, problem: str, index: int) -> None:
        super().__init__(problem)
        self.index = index


def read_size(value: object) -> Bytes:
    size = quantity(parse_size, value, "size", "120 MB")
    if not size:
        raise UserMistake("a size of 0 leaves nothing to crawl; give the bytes you expect")
    return size


def read_bandwidth(value: object) -> BytesPerSecond:
    rate = quantity(parse_rate, value, "rate", "1 MB/s")
    if not rate:
        raise UserMistake("a bandwidth of 0 carries nothing; give a rate like '1 MB/s'")
    return rate


def read_quota(value: object, zone: ZoneInfo) -> Quota:
    if not isinstance(value, str):
        raise UserMistake(f"{shown(value)} is not a quota; write it like '20 GB/month'")
    return Quota.parse(value, zone)


def read_cap(value: object) -> BytesPerSecond:
    rate = quantity(parse_rate, value, "rate", "200 KB/s")
    if not rate:
        raise UserMistake("a max_rate of 0 lets no byte through; raise it or drop the key")
    if math.isinf(rate):
        raise UserMistake("'unlimited' is no bound; drop the key")
    return rate


def read_make_way(value: object) -> bool:
    if not isinstance(value, bool):
        raise UserMistake(f"{value!r} is neither yes nor no; write true or false")
    return value


def read_floor(value: object) -> BytesPerSecond:
    rate = quantity(parse_rate, value, "rate", "20 KB/s")
    if not rate or math.isinf(rate):
        raise UserMistake("the floor must be above 0 and finite; give a rate like '20 KB/s'")
    return rate


def read_deadline(value: object) -> Seconds:
    deadline = quantity(parse_duration, value, "duration", "30m")
    if not deadline:
        raise UserMistake("a deadline of 0 leaves no time; give more or drop the key")
    return deadline


MOST_CONNECTIONS = 100
"""To one host: more would be an attack."""


def read_connections(value: object) -> int:
    number = whole_number(value, least=1)
    if number > MOST_CONNECTIONS:
        raise UserMistake(f"{number} is too many for any server; say {MOST_CONNECTIONS} or fewer")
    return number


def read_delay(value: object) -> Seconds:
    delay = quantity(parse_duration, value, "duration", "500ms")
    if delay > _LONGEST_DELAY:
        raise UserMistake(f"{value!r} between two requests is too long; say an hour or less")
    return delay


def read_queries(value: object) -> int:
    return min(whole_number(value, least=0), _MOST_QUERIES)


def read_limit(value: object) -> Bytes:
    size = quantity(parse_size, value, "size", "50 MB")
    if size < 1:
        raise UserMistake("a limit of 0 lets nothing through; give more or drop the key")
    return size


def read_time(value: object) -> Seconds:
    seconds = quantity(parse_duration, value, "duration", "10m")
    if not seconds:
        raise UserMistake("a time of 0 leaves none to crawl in; give more or drop the key")
    return seconds


def read_types(value: object) -> tuple[str, ...]:
    types = [kind.strip().lower() for kind in strings(value, example='["text/html", "image/*"]')]
    for index, kind in enumerate(types):
        if not _MEDIA_TYPE.fullmatch(kind):
            problem = f"{kind!r} is not a media type; write it like 'text/html' or 'image/*'"
            raise ElementMistake(problem, index)
    if not types:
        raise UserMistake("an empty list fetches nothing; name a type like 'text/html', or drop it")
    return tuple(types)


def read_store(value: object) -> tuple[str, ...]:
    words = tuple(strings(value, example='["application/pdf", "< 5 MB"]'))
    for index, word in enumerate(words):
        try:
            StoreRule.parse([word])
        except UserMistake as mistake:
            raise ElementMistake(str(mistake), index) from None
    if not words:
        raise UserMistake(
            "an empty list keeps nothing; name a type like 'application/pdf', or drop it"
        )
    StoreRule.parse(words)
    return words


def read_count(value: object) -> int:
    return whole_number(value, least=1)


def read_contact(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isascii():
        raise UserMistake(
            f"{shown(value)} is no contact; write a URL or a mail address in quotes, in ASCII"
        )
    if not value.isprintable():
        raise UserMistake(f"{shown(value)} cannot stand in a header; leave line ends out")
    return value


def read_depth(value: object) -> int:
    return whole_number(value, least=0)


def read_on_deadline(value: object) -> OnDeadline:
    names = [str(choice) for choice in OnDeadline]
    if value in names:
        return OnDeadline(value)
    raise UserMistake(f"{shown(value)} is not a choice; {did_you_mean(value, names)}")


def read_requisites(value: object) -> Requisites:
    names = [str(choice) for choice in Requisites]
    if value in names:
        return Requisites(value)
    raise UserMistake(f"{shown(value)} is not a choice; {did_you_mean(value, names)}")


def read_focus(value: object) -> str:
    if not isinstance(value, str):
        raise UserMistake(f"{shown(value)} is not in quotes; write words like 'food safety'")
    if not any(character.isalnum() for character in value):
        raise UserMistake(f"{value!r} has no word in it; write words like 'food safety'")
    return value


def read_files(value: object) -> tuple[str, ...]:
    files = strings(value, example='["good.html", "better.html"]')
    for index, name in enumerate(files):
        if not name.strip():
            raise ElementMistake("an empty name is no file; drop it", index)
    return tuple(files)


def read_order(value: object) -> str:
    """Names of the user's own scorers are not checked here: only where they are installed are they
    known."""
    if value == SCORE:
        raise UserMistake(f"the order {SCORE!r} is of all sites together; write it under [budget]")
    if isinstance(value, str) and _ORDER_NAME.fullmatch(value):
        return value
    known = ", ".join(ORDERS)
    raise UserMistake(f"{shown(value)} is not an order; known are {known}, or a scorer's name")


def read_order_of_all(value: object) -> str:
    if value != SCORE:
        raise UserMistake(
            f"{shown(value)} is not an order of all sites together, like {SCORE!r}; orders of a"
            " site's own pages belong under a [site.NAME]"
        )
    return SCORE


def read_admission(value: object) -> str:
    if value in ADMISSIONS:
        return str(value)
    near = did_you_mean(str(value), ADMISSIONS)
    raise UserMistake(f"{shown(value)} is not a choice; {near}")


def read_policy(value: object) -> str:
    """Any name: the user's own policies are known only where they are installed."""
    if isinstance(value, str) and value:
        return value
    raise UserMistake(f"{shown(value)} is not a policy; write its name, like 'ReAlloc-MAXT'")


def read_zone(value: object) -> ZoneInfo:
    if not isinstance(value, str):
        raise UserMistake(f"{shown(value)} is not a time zone; write it like 'Europe/Berlin'")
    try:
        return ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        names = sorted(available_timezones())
        near = did_you_mean(value, names, otherwise="write it like 'Europe/Berlin'")
        raise UserMistake(f"{shown(value)} is not a time zone that is known here; {near}") from None


def read_country(value: object, zone: ZoneInfo) -> Calendar:
    """The calendar of a country, in a time zone."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z]{2}", value):
        raise UserMistake(f"{shown(value)} is not a country; write its two letters, like 'KE'")
    return Calendar.of(zone, value)


def read_timetable(value: object, zone: ZoneInfo) -> Timetable:
    entries = strings(value, example='["Mon-Fri 08:00 300 KB/s", "19:00 2 MB/s"]')
    try:
        return Timetable.parse(entries, zone)
    except UserMistake as mistake:
        raise ElementMistake(str(mistake), _first_bad_entry(entries, str(mistake))) from None


def _first_bad_entry(entries: list[str], problem: str) -> int:
    """The index of the entry that causes a problem: the list up to it has it, none shorter does."""

    def has_problem(length: int) -> bool:
        try:
            Timetable.parse(entries[:length], ZoneInfo("UTC"))
        except UserMistake as mistake:
            return str(mistake) == problem
        return False

    return max(bisect_left(range(len(entries) + 1), True, lo=1, key=has_problem) - 1, 0)


def read_seeds(value: object) -> tuple[str, ...]:
    seeds = strings(value, example='["https://example.org/"]')
    for index, seed in enumerate(seeds):
        if not web_address(seed):
            problem = f"{seed!r} is not an http or https URL; write it like 'https://example.org/'"
            raise ElementMistake(problem, index)
    return tuple(seeds)


def web_address(text: str) -> bool:
    """Whether it is a URL of http or https."""
    return bool(_WEB_ADDRESS.fullmatch(text)) and text.isprintable()


def read_patterns(value: object) -> tuple[str, ...]:
    patterns = strings(value, example=r'["^https://example\\.org/docs/"]')
    for index, pattern in enumerate(patterns):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            problem = f"{pattern!r} is not a regular expression: {error}"
            raise ElementMistake(problem, index) from None
    return tuple(patterns)


def did_you_mean(written: object, known: Iterable[str], otherwise: str = "") -> str:
    """A suggestion for an unknown name: the nearest known one, or else all of them."""
    from difflib import get_close_matches

    by_lower_case = {name.lower(): name for name in known}
    near = get_close_matches(str(written).lower(), by_lower_case, n=1)
    if near:
        return f"did you mean {by_lower_case[near[0]]!r}?"
    return otherwise or f"known are {', '.join(by_lower_case.values())}"


def quantity(
    parse: Callable[[str | float], _Number], value: object, what: str, example: str
) -> _Number:
    """A size, rate or duration."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UserMistake(f"{shown(value)} is not a {what}; write it like {example!r}")
    number = parse(value)
    if number > _LARGEST[what] and value != "unlimited":
        raise UserMistake(f"{value!r} is more than any {what} can be; write it like {example!r}")
    return number


def whole_number(value: object, least: int) -> int:
    """An integer that is ``least`` or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UserMistake(f"{shown(value)} is not a whole number")
    if value < least:
        raise UserMistake(f"{value} is too small; it must be {least} or more")
    return value


def strings(value: object, example: str) -> list[str]:
    """A list of strings."""
    if not isinstance(value, list):
        raise UserMistake(f"{shown(value)} is not a list; write it like {example}")
    for index, element in enumerate(value):
        if not isinstance(element, str):
            raise ElementMistake(
                f"{shown(element)} is not in quotes; write it like {example}", index
            )
    return value


def shown(value: object) -> str:
    """A value as it stands in the file, or nearly."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, date | time) else repr(value)
