"""Readers of single values of a site file.

Each takes any TOML value and returns what it stands for, or raises `UserMistake` with what is wrong
and what to write instead. Readers do not know where the value stands in the file; the caller adds
that. An `ElementMistake` also says which element of a list is meant.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum
from functools import partial
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo, available_timezones

from headgate.model.budget import Quota
from headgate.model.errors import UserMistake
from headgate.model.patterns import url_pattern
from headgate.model.score_order import ADMISSIONS, SCORE
from headgate.model.site import ORDERS
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
    "SOMETHING",
    "Count",
    "ElementMistake",
    "Quantity",
    "did_you_mean",
    "duration",
    "one_of",
    "rate",
    "read_admission",
    "read_bandwidth",
    "read_contact",
    "read_country",
    "read_files",
    "read_focus",
    "read_make_way",
    "read_order",
    "read_order_of_all",
    "read_patterns",
    "read_policy",
    "read_queries",
    "read_quota",
    "read_seeds",
    "read_store",
    "read_timetable",
    "read_types",
    "read_zone",
    "shown",
    "size",
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

_MOST_QUERIES = 1_000_000_000
"""Per path: as good as no limit."""

_Number = TypeVar("_Number", Bytes, BytesPerSecond, Seconds)
_Choice = TypeVar("_Choice", bound=StrEnum)

SOMETHING = math.ulp(0.0)
"""The least that is not nothing."""


class ElementMistake(UserMistake):
    """A mistake in one element of a list."""

    def __init__(self, problem: str, index: int) -> None:
        super().__init__(problem)
        self.index = index


@dataclass(frozen=True, slots=True)
class Quantity(Generic[_Number]):
    """Reads a size, a rate or a duration that lies within bounds. In what is said of another one,
    ``{}`` stands for the value."""

    what: str
    parse: Callable[[str | float], _Number]
    largest: float
    """More must be a mistake, if it is not "unlimited"."""
    example: str
    least: float = 0.0
    too_little: str = ""
    most: float = math.inf
    too_much: str = ""

    def __call__(self, value: object) -> _Number:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise UserMistake(f"{shown(value)} is not a {self.what}; {self._remedy}")
        number = self.parse(value)
        if number > self.largest and value != "unlimited":
            raise UserMistake(f"{value!r} is more than any {self.what} can be; {self._remedy}")
        if number < self.least:
            raise UserMistake(self.too_little.format(repr(value)))
        if number > self.most:
            raise UserMistake(self.too_much.format(repr(value)))
        return number

    @property
    def _remedy(self) -> str:
        return f"write it like {self.example!r}"


size = partial(Quantity, "size", parse_size, 1e18)
"""At most an exabyte."""
rate = partial(Quantity, "rate", parse_rate, 1e18)
duration = partial(Quantity, "duration", parse_duration, 100 * 365 * 86400.0)
"""At most a century."""

read_bandwidth = rate(
    "1 MB/s", SOMETHING, "a bandwidth of 0 carries nothing; give a rate like '1 MB/s'"
)


@dataclass(frozen=True, slots=True)
class Count:
    """Reads a whole number within bounds."""

    least: int = 1
    most: float = math.inf
    too_much: str = ""

    def __call__(self, value: object) -> int:
        number = whole_number(value, self.least)
        if number > self.most:
            raise UserMistake(self.too_much.format(number))
        return number


def one_of(kind: type[_Choice]) -> Callable[[object], _Choice]:
    """Reads a choice."""
    names = [choice.value for choice in kind]

    def read(value: object) -> _Choice:
        if not isinstance(value, str) or value not in names:
            raise UserMistake(f"{shown(value)} is not a choice; {did_you_mean(value, names)}")
        return kind(value)

    return read


def read_quota(value: object, zone: ZoneInfo) -> Quota:
    if not isinstance(value, str):
        raise UserMistake(f"{shown(value)} is not a quota; write it like '20 GB/month'")
    return Quota.parse(value, zone)


def read_make_way(value: object) -> bool:
    if not isinstance(value, bool):
        raise UserMistake(f"{value!r} is neither yes nor no; write true or false")
    return value


def read_queries(value: object) -> int:
    return min(whole_number(value, least=0), _MOST_QUERIES)


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


def read_contact(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isascii():
        raise UserMistake(
            f"{shown(value)} is no contact; write a URL or a mail address in quotes, in ASCII"
        )
    if not value.isprintable():
        raise UserMistake(f"{shown(value)} cannot stand in a header; leave line ends out")
    return value


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
    return Calendar.from_zone(zone, value)


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
            url_pattern(pattern)
        except UserMistake as mistake:
            raise ElementMistake(str(mistake), index) from None
    return tuple(patterns)


def did_you_mean(written: object, known: Iterable[str], otherwise: str = "") -> str:
    """A suggestion for an unknown name: the nearest known one, or else all of them."""
    from difflib import get_close_matches

    by_lower_case = {name.lower(): name for name in known}
    near = get_close_matches(str(written).lower(), by_lower_case, n=1)
    if near:
        return f"did you mean {by_lower_case[near[0]]!r}?"
    return otherwise or f"known are {', '.join(by_lower_case.values())}"


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
