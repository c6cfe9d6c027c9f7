"""The keys of a site file, and what reads the value of each.

A key is the field of `Site`, `Access`, `Keeping`, `Budget` or `GridTerms` with the same name; where
it is left out, that field's default holds. Keys that need more than their own value are read in
`parsing`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from headgate.model.errors import UserMistake
from headgate.model.grid import Mode, Placement
from headgate.model.site import OnDeadline, Requisites
from headgate.model.units import Seconds
from headgate.site_file.site_values import ACCESS_READERS, KEEPING_READERS, read_volume
from headgate.site_file.values import (
    SOMETHING,
    Count,
    duration,
    one_of,
    rate,
    read_contact,
    read_files,
    read_focus,
    read_make_way,
    read_order,
    read_patterns,
    read_policy,
    read_queries,
    read_seeds,
    read_store,
    read_types,
    shown,
    size,
)

__all__ = [
    "BUDGET_KEYS",
    "BUDGET_READERS",
    "GRID_KEYS",
    "GRID_READERS",
    "SITE_KEYS",
    "SITE_READERS",
    "Readers",
    "read_reference",
]


# Readers of the keys for a grid, as in `values`.


_SHORTEST_LEASE, _LONGEST_LEASE = 2.0, 86_400.0
_READ_LEASE = duration("60s")
_AT_ONCE = Count(1, 100, "{} is too many for any server; say 100 or fewer")
_COUNT = Count()
_NO_FLOOR = "the floor must be above 0 and finite; give a rate like '20 KB/s'"
_LIMIT = size("50 MB", 1, "a limit of 0 lets nothing through; give more or drop the key")


def read_lease(value: object) -> Seconds:
    seconds = _READ_LEASE(value)
    if not _SHORTEST_LEASE <= seconds <= _LONGEST_LEASE:
        raise UserMistake(f"a lease of {seconds:g} s; take one between 2s and 1d, like '60s'")
    return seconds


def read_audit(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserMistake(f"{shown(value)} is not a number; write the share of tasks, like 0.02")
    if not 0 <= value <= 1 or math.isnan(value):
        raise UserMistake(f"{value} is no share; it lies between 0 and 1, like 0.02")
    return float(value)


def read_reference(value: object) -> str:
    parts = urlsplit(value) if isinstance(value, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
        raise UserMistake(f"{shown(value)} is no URL; write one like 'https://example.org/'")
    return parts.geturl()


GRID_READERS = {
    "mode": one_of(Mode),
    "placement": one_of(Placement),
    "lease": read_lease,
    "audit": read_audit,
    "reference": read_reference,
}
"""By key, which is the field of `GridTerms` as well."""


# The keys themselves, by table.


Readers = Mapping[str, Callable[[object], Any]]

SITE_READERS: Readers = {
    "seeds": read_seeds,
    "include": read_patterns,
    "exclude": read_patterns,
    "depth": Count(least=0),
    "deadline": duration(
        "30m", SOMETHING, "a deadline of 0 leaves no time; give more or drop the key"
    ),
    "on_deadline": one_of(OnDeadline),
    "expect": size(
        "120 MB", SOMETHING, "a size of 0 leaves nothing to crawl; give the bytes you expect"
    ),
    "max_rate": rate(
        "200 KB/s",
        SOMETHING,
        "a max_rate of 0 lets no byte through; raise it or drop the key",
        sys.float_info.max,
        "'unlimited' is no bound; drop the key",
    ),
    "max_pages": _COUNT,
    "max_bytes": _LIMIT,
    "max_time": duration(
        "10m", SOMETHING, "a time of 0 leaves none to crawl in; give more or drop the key"
    ),
    "max_page_size": _LIMIT,
    "fetch": read_types,
    "store": read_store,
    "requisites": one_of(Requisites),
    "max_queries": read_queries,
    "connections": _AT_ONCE,
    "delay": duration(
        "500ms",
        most=3600.0,
        too_much="{} between two requests is too long; say an hour or less",
    ),
    "nodes_at_once": _AT_ONCE,
    "focus": read_focus,
    "focus_pages": read_files,
    "order": read_order,
}
"""Besides those of `Access` and `Keeping`."""

BUDGET_READERS: Readers = {
    "crawlers": _COUNT,
    "policy": read_policy,
    "make_way": read_make_way,
    "make_way_floor": rate("20 KB/s", SOMETHING, _NO_FLOOR, sys.float_info.max, _NO_FLOOR),
    "volume": read_volume,
    "processes": _COUNT,
    "contact": read_contact,
}

SITE_KEYS = (*SITE_READERS, *ACCESS_READERS, *KEEPING_READERS)
BUDGET_KEYS = (
    "bandwidth",
    "quota",
    "zone",
    "country",
    "objective",
    "order",
    "admission",
    "look_ahead",
    *BUDGET_READERS,
)
GRID_KEYS = tuple(GRID_READERS)
