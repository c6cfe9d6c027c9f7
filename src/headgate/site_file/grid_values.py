"""Readers of the keys for a grid, as in `values`."""

from __future__ import annotations

import math
from typing import TypeVar
from urllib.parse import urlsplit

from headgate.model.errors import UserMistake
from headgate.model.grid import Mode, Placement
from headgate.model.units import Seconds, parse_duration
from headgate.site_file.values import did_you_mean, quantity, shown, whole_number

__all__ = ["GRID_READERS", "read_nodes_at_once", "read_reference"]

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
