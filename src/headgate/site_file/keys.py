"""The keys of a site file, and what reads the value of each.

A key is the field of `Site`, `Access`, `Keeping`, `Budget` or `GridTerms` with the same name; where
it is left out, that field's default holds. Keys that need more than their own value are read in
`parsing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from headgate.model.errors import UserMistake
from headgate.model.grid import Mode, Placement
from headgate.model.units import Seconds, parse_duration
from headgate.site_file.site_values import ACCESS_READERS, KEEPING_READERS, read_volume
from headgate.site_file.values import (
    did_you_mean,
    quantity,
    read_cap,
    read_connections,
    read_contact,
    read_count,
    read_deadline,
    read_delay,
    read_depth,
    read_files,
    read_floor,
    read_focus,
    read_limit,
    read_make_way,
    read_on_deadline,
    read_order,
    read_patterns,
    read_policy,
    read_queries,
    read_requisites,
    read_seeds,
    read_size,
    read_store,
    read_time,
    read_types,
    shown,
    whole_number,
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
_MOST_NODES = 100

Choice = TypeVar("Choice", Mode, Placement)


def read_lease(value: object) -> Seconds:
    seconds = quantity(parse_duration, value, "duration", "60s")
    if not _SHORTEST_LEASE <= seconds <= _LONGEST_LEASE:
        raise UserMistake(f"a lease of {seconds:g} s; take one between 2s and 1d, like '60s'")
    return seconds


def read_mode(value: object) -> Mode:
    return _one_of(Mode, value)


def read_placement(value: object) -> Placement:
    return _one_of(Placement, value)


def _one_of(kind: type[Choice], value: object) -> Choice:
    names = tuple(choice.value for choice in kind)
    if not isinstance(value, str) or value not in names:
        raise UserMistake(f"{shown(value)} is not a choice; {did_you_mean(value, names)}")
    return kind(value)


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


def read_nodes_at_once(value: object) -> int:
    number = whole_number(value, least=1)
    if number > _MOST_NODES:
        raise UserMistake(f"{number} is too many for any server; say {_MOST_NODES} or fewer")
    return number


GRID_READERS = {
    "mode": read_mode,
    "placement": read_placement,
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
    "depth": read_depth,
    "deadline": read_deadline,
    "on_deadline": read_on_deadline,
    "expect": read_size,
    "max_rate": read_cap,
    "max_pages": read_count,
    "max_bytes": read_limit,
    "max_time": read_time,
    "max_page_size": read_limit,
    "fetch": read_types,
    "store": read_store,
    "requisites": read_requisites,
    "max_queries": read_queries,
    "connections": read_connections,
    "delay": read_delay,
    "nodes_at_once": read_nodes_at_once,
    "focus": read_focus,
    "focus_pages": read_files,
    "order": read_order,
}
"""Besides those of `Access` and `Keeping`."""

BUDGET_READERS: Readers = {
    "crawlers": read_count,
    "policy": read_policy,
    "make_way": read_make_way,
    "make_way_floor": read_floor,
    "volume": read_volume,
    "processes": read_count,
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
