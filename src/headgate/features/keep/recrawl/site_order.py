"""The port of a recrawl policy among sites: which site is next if no promise is urgent.

The board (`scheduler`) reports sites and visits to an order, and asks it for the value of a visit
to each. `ByWorth`, the default, uses the value curves and has no state. `priority_groups` has those
of SARSS, where a site has turns.

A *turn* is one look at all of a site. It may take several visits if the site is large or others are
urgent: it is open until one of them ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Protocol

from headgate.features.keep.recrawl.arrays import FloatArray
from headgate.features.keep.recrawl.site_table import SiteRows

__all__ = ["AT_ANY_TIME", "ByWorth", "SiteOrder", "VisitOf"]

AT_ANY_TIME = 0.0
"""When a turn of a site without turns is due, and when one began that never did."""


class VisitOf(Enum):
    """How much of its site's turn a visit did."""

    ALL = auto()
    """No pages are left."""
    PART = auto()
    """Pages are left."""
    NOTHING = auto()
    """There was no answer."""


class SiteOrder(Protocol):
    """Sites go by name; moments are seconds since 1970."""

    def put(self, site: str, rate: float, shortest: float, looked: float) -> None:
        """Add or update a site: its pages change ``rate`` times a second on average, are not
        fetched again within ``shortest`` seconds, and were all fetched since ``looked``."""
        ...

    def drop(self, site: str) -> None: ...

    def begin(self, site: str, now: float) -> None:
        """Begin a visit."""
        ...

    def end(self, site: str, now: float, of: VisitOf) -> None:
        """End the visit that began last."""
        ...

    def turn_began(self, site: str, now: float) -> float:
        """When the current turn began: a visit that begins now leaves out pages fetched since."""
        ...

    def turns(self, now: float) -> Mapping[str, float]:
        """When the next turn is due, of sites for which that changed since the last call."""
        ...

    def values(self, rows: SiteRows, now: float) -> FloatArray:
        """The value of a visit to each site; 0: not to be made."""
        ...

    def saved(self) -> bytes:
        """The state that survives a restart."""
        ...

    def restore(self, saved: bytes) -> None:
        """Restore a saved state, before any `put`; ignored if it cannot be read."""
        ...


class ByWorth:
    """The site with the most valuable visit is next."""

    def put(self, site: str, rate: float, shortest: float, looked: float) -> None: ...

    def drop(self, site: str) -> None: ...

    def begin(self, site: str, now: float) -> None: ...

    def end(self, site: str, now: float, of: VisitOf) -> None: ...

    def turn_began(self, site: str, now: float) -> float:  # noqa: ARG002
        return AT_ANY_TIME

    def turns(self, now: float) -> Mapping[str, float]:  # noqa: ARG002
        return {}

    def values(self, rows: SiteRows, now: float) -> FloatArray:
        return rows.values(now)

    def saved(self) -> bytes:
        return b""

    def restore(self, saved: bytes) -> None: ...
