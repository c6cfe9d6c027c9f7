"""The port of a keep policy among sites: whose turn it is, when nothing promised presses.

The board (`site_board`) tells an order of sites and visits, and asks it what a visit to each is
worth now. `ByWorth` is Headgate's own: what the curves say, so it has nothing to remember.
`channel_groups` has those of SARSS, where a site has turns.

A *turn* is one look at all of a site. It may take several visits, where a site is large or others
press: it is open until one of them ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Protocol

from headgate.recrawl.arrays import FloatArray
from headgate.recrawl.site_rows import SiteRows

__all__ = ["AT_ANY_TIME", "ByWorth", "SiteOrder", "VisitOf"]

AT_ANY_TIME = 0.0
"""The turn of a site that has none, and the beginning of one that never began."""


class VisitOf(Enum):
    """What a visit was of its site's turn."""

    ALL = auto()
    """Nothing is left to ask."""
    PART = auto()
    """Pages are left."""
    NOTHING = auto()
    """Nobody answered."""


class SiteOrder(Protocol):
    """Sites go by name; moments are seconds since 1970."""

    def put(self, site: str, rate: float, shortest: float, looked: float) -> None:
        """A site, or what is known of it now: its pages change ``rate`` times a second on average,
        are not asked again within ``shortest`` seconds, and were all asked since ``looked``."""
        ...

    def drop(self, site: str) -> None: ...

    def begin(self, site: str, now: float) -> None:
        """A visit."""
        ...

    def end(self, site: str, now: float, of: VisitOf) -> None:
        """The visit that began last."""
        ...

    def turn_began(self, site: str, now: float) -> float:
        """A page asked since is not asked again by a visit that begins now."""
        ...

    def turns(self, now: float) -> Mapping[str, float]:
        """Of sites whose next turn is another one than when this was asked last, when it is."""
        ...

    def values(self, rows: SiteRows, now: float) -> FloatArray:
        """Of a visit to each site; 0: it is not to be made."""
        ...

    def saved(self) -> bytes:
        """What is to be known after a restart."""
        ...

    def restore(self, saved: bytes) -> None:
        """Before any site is put; what cannot be read is passed over."""
        ...


class ByWorth:
    """The site is next whose best visit is worth most."""

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
