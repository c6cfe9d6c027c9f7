"""Options of a request for all sites; a site's own settings take precedence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from headgate.model.errors import UserMistake
from headgate.model.site import OnDeadline, Requisites, Site
from headgate.site_file.access_values import ACCESS_READERS
from headgate.site_file.keys import SITE_READERS

__all__ = ["SITE_DEFAULTS", "SiteDefaults", "with_defaults"]

SiteDefaults = Mapping[str, str | int | list[str]]
"""By key, as the user wrote them."""

SITE_DEFAULTS = (
    "include",
    "exclude",
    "depth",
    "expect",
    "max_rate",
    "on_deadline",
    "max_pages",
    "max_bytes",
    "max_time",
    "max_page_size",
    "fetch",
    "store",
    "requisites",
    "max_queries",
    "connections",
    "delay",
)
"""Keys of the site file that a request may set for all sites, besides those of `Access`."""


def with_defaults(site: Site, defaults: SiteDefaults) -> Site:
    """The site with the defaults for what it does not set itself."""
    changes: dict[str, Any] = {}
    for key in SITE_DEFAULTS:
        if key in defaults and getattr(site, key) in (None, (), OnDeadline.GO_ON, Requisites.NONE):
            changes[key] = _read(key, SITE_READERS[key], defaults[key])
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
