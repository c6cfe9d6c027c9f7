"""How a site is kept fresh: what matters, what was promised, what counts as a change and who is
told of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
"""What an ignore rule begins with that is a CSS selector; any other is a regular expression."""


A_DAY, AN_HOUR, A_GIGABYTE = Seconds(86_400.0), Seconds(3_600.0), Bytes(1e9)


class Staleness(StrEnum):
    """What a keeper makes small."""

    AGE = "age"
    """The time since a page's first change that was not fetched yet."""
    FRESHNESS = "freshness"
    """The share of pages that are not as they were fetched."""


@dataclass(frozen=True, slots=True)
class VolumeBounds:
    """When a volume of a keeper is closed and the next one begun: at whichever comes first."""

    seconds: Seconds | None = A_DAY
    size: Bytes | None = A_GIGABYTE
    """On disk."""


@dataclass(frozen=True, slots=True)
class KeepVersions:
    """Which versions of a page stay in the archive, beside the newest; one bound at the most."""

    newest: int | None = None
    """So many, the newest included."""
    seconds: Seconds | None = None
    """Those not replaced longer ago."""


ALL_VERSIONS = KeepVersions()


@dataclass(frozen=True, slots=True)
class Keeping:
    """What a user says of a site that is kept."""

    importance: float = 1.0
    """Of each of its pages, beside those of other sites. Positive."""
    fresh_within: Seconds | None = None
    """Promised: every page is looked at once in so long; None: as the budget allows."""
    min_interval: Seconds = AN_HOUR
    """No page is asked again sooner. At most ``fresh_within``."""
    ignore: tuple[str, ...] = ()
    """Noise of its own beside the usual: with `CSS_MARK` selectors, else regular expressions."""
    on_change: str = ""
    """A command or a URL that is told of every change; empty: none."""
    keep_versions: KeepVersions = ALL_VERSIONS


def is_web_hook(on_change: str) -> bool:
    """Whether changes are posted there; else it is a command."""
    return on_change.lower().startswith(("http://", "https://"))
