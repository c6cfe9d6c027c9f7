"""How a site is kept fresh: what matters, what was promised, what counts as a change and who is
told of it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headgate.model.units import Bytes, Seconds

__all__ = [
    "ALL_VERSIONS",
    "CSS_MARK",
    "KeepVersions",
    "Keeping",
    "Staleness",
    "VolumeBounds",
    "is_web_hook",
]

CSS_MARK = "css:"
"""Prefix of an ignore rule that is a CSS selector; any other is a regular expression."""


A_DAY, AN_HOUR, A_GIGABYTE = Seconds(86_400.0), Seconds(3_600.0), Bytes(1e9)


class Staleness(StrEnum):
    """What a keeper minimises."""

    AGE = "age"
    """The time since a page's first change that is not archived yet."""
    FRESHNESS = "freshness"
    """The share of pages that have changed since they were fetched."""


class VolumeBounds(msgspec.Struct, frozen=True):
    """When a keeper closes a volume and begins the next: at whichever bound comes first."""

    seconds: Seconds | None = A_DAY
    size: Bytes | None = A_GIGABYTE
    """On disk."""


class KeepVersions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which versions of a page stay in the archive besides the newest; at most one bound is set."""

    newest: int | None = None
    """This many, the newest included."""
    seconds: Seconds | None = None
    """Those replaced less than this long ago."""


ALL_VERSIONS = KeepVersions()


class Keeping(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a site for `headgate keep`."""

    importance: float = 1.0
    """Weight of each of its pages against those of other sites. Positive."""
    fresh_within: Seconds | None = None
    """Promise: every page is fetched once in this time; None: as often as the budget allows."""
    min_interval: Seconds = AN_HOUR
    """No page is fetched again sooner. At most ``fresh_within``."""
    ignore: tuple[str, ...] = ()
    """What does not count as a change: CSS selectors after `CSS_MARK`, else regular expressions."""
    on_change: str = ""
    """A command, or the URL of a web hook, that is notified of every change; empty: none."""
    keep_versions: KeepVersions = ALL_VERSIONS


def is_web_hook(on_change: str) -> bool:
    """Whether ``on_change`` is a URL to post changes to; if not, it is a command."""
    return on_change.lower().startswith(("http://", "https://"))
