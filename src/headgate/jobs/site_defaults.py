"""What a request says of all sites; it holds for those that do not say it themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headgate.model.errors import UserMistake
from headgate.model.site import OnDeadline, Requisites, Site
from headgate.site_file.access_values import ACCESS_READERS
from headgate.site_file.values import (
    read_bound,
    read_cap,
    read_connections,
    read_delay,
    read_depth,
    read_on_deadline,
    read_pages,
    read_patterns,
    read_queries,
    read_requisites,
    read_size,
    read_store,
    read_time,
    read_types,
)

__all__ = ["SITE_DEFAULTS", "SiteDefaults", "with_defaults"]

SiteDefaults = Mapping[str, str | int | list[str]]
"""By key, as they were written."""

SITE_DEFAULTS: Mapping[str, Callable[[object], object]] = {
    "include": read_patterns,
    "exclude": read_patterns,
    "depth": read_depth,
    "expect": read_size,
    "max_rate": read_cap,
    "on_deadline": read_on_deadline,
    "max_pages": read_pages,
    "max_bytes": read_bound,
    "max_time": read_time,
    "max_page_size": read_bound,
    "fetch": read_types,
    "store": read_store,
    "requisites": read_requisites,
    "max_queries": read_queries,
    "connections": read_connections,
    "delay": read_delay,
}
"""The keys, of the site file and of `Site`, and how each value is read."""


def with_defaults(site: Site, defaults: SiteDefaults) -> Site:
    """The site with what it does not say itself."""
    changes: dict[str, Any] = {}
    for key, read in SITE_DEFAULTS.items():
        if key in defaults and getattr(site, key) in (None, (), OnDeadline.GO_ON, Requisites.NONE):
            changes[key] = _read(key, read, defaults[key])
    access = {
        key: _read(key, read, defaults[key])
        for key, read in ACCESS_READERS.items()
        if key in defaults and not getattr(site.access, key)
    }
    if access:
        changes["access"] = replace(site.access, **access)
    return replace(site, **changes) if changes else site


def _read(key: str, read: Callable[[object], object], value: object) -> Any:
    try:
        return read(value)
    except UserMistake as mistake:
        raise UserMistake(f"--{key.replace('_', '-')}: {mistake}") from None
