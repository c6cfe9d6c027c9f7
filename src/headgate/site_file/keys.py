"""The keys of a site file, and what reads the value of each.

A key is the field of `Site`, `Access`, `Keeping`, `Budget` or `GridTerms` with the same name; where
it is left out, that field's default holds. Keys that need more than their own value are read in
`parsing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headgate.site_file.access_values import ACCESS_READERS
from headgate.site_file.grid_values import GRID_READERS, read_nodes_at_once
from headgate.site_file.keeping_values import KEEPING_READERS, read_volume
from headgate.site_file.values import (
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
)

__all__ = ["BUDGET_KEYS", "BUDGET_READERS", "GRID_KEYS", "SITE_KEYS", "SITE_READERS", "Readers"]

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
