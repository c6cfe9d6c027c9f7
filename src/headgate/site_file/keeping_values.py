"""Readers of the keys for `headgate keep`, as in `values`."""

from __future__ import annotations

import math
import re
import shlex

from headgate.model.budget import Objective
from headgate.model.errors import UserMistake
from headgate.model.keeping import (
    ALL_VERSIONS,
    CSS_MARK,
    Keeping,
    KeepVersions,
    Staleness,
    VolumeBounds,
    is_web_hook,
)
from headgate.model.selector import parse_selectors
from headgate.model.units import Seconds, format_duration, parse_duration, parse_size
from headgate.site_file.values import (
    ElementMistake,
    did_you_mean,
    quantity,
    read_patterns,
    shown,
    strings,
    web_address,
)

__all__ = [
    "KEEPING_READERS",
    "check_ignore_rule",
    "promise_problem",
    "read_objective",
    "read_volume",
]

_LARGEST_IMPORTANCE = 1e6
_SOONEST_PROMISE = 10.0
_SHORTEST_INTERVAL = 1.0
_SHORTEST_VOLUME, _SMALLEST_VOLUME = 60.0, 1e6
_MOST_VERSIONS, _SHORTEST_RETENTION = 1_000_000, 3600.0
_MOST_RULES = 50
_MOST_PATTERN = 500
_MOST_COMMAND = 4_000
_HAS_TIME_UNIT = re.compile(r"[\d\s.]*\d\s*(?:ms|[smhdw])[\s\dsmhdw.]*")


def read_importance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserMistake(f"{shown(value)} is not a number; write it like 2.0")
    if not 0 < value <= _LARGEST_IMPORTANCE or math.isnan(value):
        raise UserMistake(f"{value} is no importance; it is above 0, and 1 for an ordinary site")
    return float(value)


def read_fresh_within(value: object) -> Seconds:
    within = quantity(parse_duration, value, "duration", "24h")
    if within < _SOONEST_PROMISE:
        raise UserMistake(
            f"{format_duration(within)} cannot be promised: a visit alone takes seconds;"
            f" say {format_duration(_SOONEST_PROMISE)} or more"
        )
    return within


def read_min_interval(value: object) -> Seconds:
    interval = quantity(parse_duration, value, "duration", "1h")
    if interval < _SHORTEST_INTERVAL:
        raise UserMistake("a page is fetched at most once a second; say '1s' or more")
    return interval


def read_ignore(value: object) -> tuple[str, ...]:
    """CSS selectors begin with `CSS_MARK`; all else are regular expressions."""
    rules = strings(value, example="""["Offer of the day: .*", "css:.clock"]""")
    if len(rules) > _MOST_RULES:
        raise UserMistake(f"{len(rules)} rules are too many; {_MOST_RULES} is the most, join some")
    for index, rule in enumerate(rules):
        try:
            check_ignore_rule(rule)
        except UserMistake as mistake:
            raise ElementMistake(str(mistake), index) from None
    return tuple(rules)


def check_ignore_rule(rule: str) -> None:
    """Raise `UserMistake` for what is neither a CSS selector nor a regular expression."""
    if rule.startswith(CSS_MARK):
        parse_selectors(rule.removeprefix(CSS_MARK))
        return
    if not rule:
        raise UserMistake("an empty rule ignores nothing; drop it")
    if len(rule) > _MOST_PATTERN:
        raise UserMistake(f"a pattern has at most {_MOST_PATTERN} letters; this has {len(rule)}")
    read_patterns([rule])


def read_on_change(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserMistake(
            f"{shown(value)} is neither command nor URL; write it like 'notify-me --quick'"
        )
    told = value.strip()
    if len(told) > _MOST_COMMAND or not told.isprintable():
        raise UserMistake(
            f"a command is one line of at most {_MOST_COMMAND:,} letters; put it into a script"
        )
    if is_web_hook(told):
        if not web_address(told):
            raise UserMistake(f"{told!r} is not a URL; write it like 'https://example.org/hook'")
        return told
    try:
        shlex.split(told)
    except ValueError:
        raise UserMistake(f"{told!r} has a quote that is not closed; close it") from None
    return told


def read_keep_versions(value: object) -> KeepVersions:
    if value == "all":
        return ALL_VERSIONS
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= _MOST_VERSIONS:
            raise UserMistake(f"{value} versions cannot be kept; say 1 or more, or 'all'")
        return KeepVersions(newest=value)
    if not isinstance(value, str):
        raise UserMistake(f"""{shown(value)} is not a retention; write "all", "90d" or 10""")
    seconds = quantity(parse_duration, value, "duration", "90d")
    if seconds < _SHORTEST_RETENTION:
        raise UserMistake("versions stay for an hour at least; write '90d', or a number like 10")
    return KeepVersions(seconds=seconds)


def read_volume(value: object) -> VolumeBounds:
    if isinstance(value, str) and _HAS_TIME_UNIT.fullmatch(value):
        seconds = quantity(parse_duration, value, "duration", "1d")
        if seconds < _SHORTEST_VOLUME:
            raise UserMistake("a volume covers a minute or more; write '1d'")
        return VolumeBounds(seconds=seconds, size=None)
    if not isinstance(value, str):
        raise UserMistake(f"""{shown(value)} is no volume; write "1d" or "1 GB\"""")
    size = quantity(parse_size, value, "size", "1 GB")
    if size < _SMALLEST_VOLUME:
        raise UserMistake(f"{value!r} is less than a visit; write '1 GB', or a time like '1d'")
    return VolumeBounds(seconds=None, size=size)


def read_objective(value: object) -> Objective | Staleness:
    """The objective of a crawl, or of a keeper."""
    names = [*map(str, Objective), *map(str, Staleness)]
    if value not in names:
        raise UserMistake(f"{shown(value)} is not an objective; {did_you_mean(value, names)}")
    return Staleness(value) if value in list(Staleness) else Objective(value)


def promise_problem(keeping: Keeping) -> str:
    """What is wrong with ``fresh_within`` given ``min_interval``; empty: nothing."""
    within, interval = keeping.fresh_within, keeping.min_interval
    if within is None or within >= interval:
        return ""
    return (
        f"{format_duration(within)} is shorter than min_interval, {format_duration(interval)}, so"
        f" no page could be fetched in time; lengthen it, or lower min_interval"
    )


KEEPING_READERS = {
    "importance": read_importance,
    "fresh_within": read_fresh_within,
    "min_interval": read_min_interval,
    "ignore": read_ignore,
    "on_change": read_on_change,
    "keep_versions": read_keep_versions,
}
"""By key, which is the field of `Keeping` as well."""
