"""Readers of a site's keys: those for access, and those for ``headgate keep``."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

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
from headgate.model.patterns import line_pattern
from headgate.model.selector import parse_selectors
from headgate.model.site import IGNORE
from headgate.model.units import Seconds, format_duration
from headgate.site_file.values import (
    ElementMistake,
    did_you_mean,
    duration,
    shown,
    size,
    strings,
    web_address,
)

__all__ = [
    "ACCESS_READERS",
    "KEEPING_READERS",
    "check_ignore_rule",
    "promise_problem",
    "read_objective",
    "read_volume",
]


# Readers of a site's access keys: they check the syntax and do not resolve secrets.


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[!-~](?:[\t -~]*[!-~])?")
_AGENT = re.compile(r"[A-Za-z_-]+")
_REFERENCE = re.compile(r"(?:env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*)")
_PROXY = re.compile(r"(?:http|socks5)://(?:\[[0-9a-fA-F:.]+\]|[^\s/:@\[\]]+):[0-9]{1,5}/?")
_SECRET_HEADERS = frozenset(("authorization", "cookie", "proxy-authorization"))
_OURS = frozenset(
    ("host", "user-agent", "accept-encoding", "connection", "content-length", "transfer-encoding",
     "te", "upgrade", "expect", "range", "if-none-match", "if-modified-since")
)  # fmt: skip


def _text(value: object, example: str) -> str:
    if not isinstance(value, str) or not _VALUE.fullmatch(value):
        raise UserMistake(f"{shown(value)} cannot be used; write one line like {example!r}")
    return value


def read_user_agent(value: object) -> str:
    return _text(value, "Archive/1.0 (+https://example.org/)")


def read_robots_agent(value: object) -> str:
    if not isinstance(value, str) or not _AGENT.fullmatch(value):
        raise UserMistake(f"{shown(value)} is no product token; letters, - and _ only: 'mybot'")
    return value.lower()


def read_headers(value: object) -> tuple[str, ...]:
    headers = strings(value, example='["X-Team: archive"]')
    for index, line in enumerate(headers):
        name, colon, rest = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(rest.strip()):
            problem = f"{line!r} is no header; write one line like 'X-Team: archive', in ASCII"
            raise ElementMistake(problem, index)
        if name.lower() in _OURS:
            raise ElementMistake(f"{name} is set by Headgate itself; drop it", index)
        if name.lower() in _SECRET_HEADERS and not _REFERENCE.fullmatch(rest.strip()):
            problem = f"{name} is a secret; write '{name}: env:NAME' or '{name}: file:PATH'"
            raise ElementMistake(problem, index)
    return tuple(headers)


def read_auth(value: object) -> str:
    kind, _, where = str(value).partition(" ")
    if kind not in ("basic", "bearer") or not _REFERENCE.fullmatch(where.strip()):
        raise UserMistake(
            f"{_hidden(value)}: write 'basic env:NAME' (a variable with name:password), 'bearer"
            " env:NAME', or file:PATH in place of env:NAME"
        )
    return f"{kind} {where.strip()}"


def read_file(value: object) -> str:
    return _text(value, "cookies.txt")


def read_login(value: object) -> str:
    if not isinstance(value, str) or not web_address(value):
        raise UserMistake(f"{shown(value)} is not the URL of a page with a login form")
    return value


def read_login_fields(value: object) -> tuple[str, ...]:
    fields = strings(value, example='["user=editor", "password=env:WIKI_PASSWORD"]')
    for index, field in enumerate(fields):
        if "=" not in field or field.startswith("="):
            raise ElementMistake("a field is written 'name=value'", index)
    if not any(_REFERENCE.fullmatch(field.partition("=")[2]) for field in fields):
        raise UserMistake("the password is a secret; write it 'password=env:NAME' or '=file:PATH'")
    return tuple(fields)


def read_proxy(value: object) -> str:
    if isinstance(value, str) and (_REFERENCE.fullmatch(value) or _PROXY.fullmatch(value)):
        return value
    raise UserMistake(
        f"{_hidden(value)}: write 'http://proxy:3128' or 'socks5://proxy:1080'; one with a password"
        " is 'env:NAME' or 'file:PATH'"
    )


def read_robots(value: object) -> str:
    if value != IGNORE:
        raise UserMistake(f"{shown(value)} is not a choice; write 'ignore', or drop the key")
    return IGNORE


def _hidden(value: object) -> str:
    """In place of a value that may be a secret."""
    return "it cannot be understood" if isinstance(value, str) else f"{shown(value)} is no text"


ACCESS_READERS = {
    "user_agent": read_user_agent,
    "robots_agent": read_robots_agent,
    "headers": read_headers,
    "auth": read_auth,
    "cookies": read_file,
    "login": read_login,
    "login_fields": read_login_fields,
    "proxy": read_proxy,
    "client_certificate": read_file,
    "robots": read_robots,
}
"""By key, which is the field of `Access` as well."""


# Readers of the keys for `headgate keep`, as in `values`.


_LARGEST_IMPORTANCE = 1e6
_SOONEST_PROMISE = 10.0
_MOST_VERSIONS = 1_000_000
_MOST_RULES = 50
_MOST_PATTERN = 500
_MOST_COMMAND = 4_000
_READ_PROMISE = duration("24h")
_READ_RETENTION = duration(
    "90d", 3600.0, "versions stay for an hour at least; write '90d', or a number like 10"
)
_READ_VOLUME_TIME = duration("1d", 60.0, "a volume covers a minute or more; write '1d'")
_READ_VOLUME_SIZE = size("1 GB", 1e6, "{} is less than a visit; write '1 GB', or a time like '1d'")
_HAS_TIME_UNIT = re.compile(r"[\d\s.]*\d\s*(?:ms|[smhdw])[\s\dsmhdw.]*")


def read_importance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserMistake(f"{shown(value)} is not a number; write it like 2.0")
    if not 0 < value <= _LARGEST_IMPORTANCE or math.isnan(value):
        raise UserMistake(f"{value} is no importance; it is above 0, and 1 for an ordinary site")
    return float(value)


def read_fresh_within(value: object) -> Seconds:
    within = _READ_PROMISE(value)
    if within < _SOONEST_PROMISE:
        raise UserMistake(
            f"{format_duration(within)} cannot be promised: a visit alone takes seconds;"
            f" say {format_duration(_SOONEST_PROMISE)} or more"
        )
    return within


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
    line_pattern(rule)


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
    return KeepVersions(seconds=_READ_RETENTION(value))


def read_volume(value: object) -> VolumeBounds:
    if isinstance(value, str) and _HAS_TIME_UNIT.fullmatch(value):
        return VolumeBounds(seconds=_READ_VOLUME_TIME(value), size=None)
    if not isinstance(value, str):
        raise UserMistake(f"""{shown(value)} is no volume; write "1d" or "1 GB\"""")
    return VolumeBounds(seconds=None, size=_READ_VOLUME_SIZE(value))


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


KEEPING_READERS: Mapping[str, Callable[[object], Any]] = {
    "importance": read_importance,
    "fresh_within": read_fresh_within,
    "min_interval": duration(
        "1h", 1.0, "a page is fetched at most once a second; say '1s' or more"
    ),
    "ignore": read_ignore,
    "on_change": read_on_change,
    "keep_versions": read_keep_versions,
}
"""By key, which is the field of `Keeping` as well."""
