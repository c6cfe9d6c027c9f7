"""A running crawl at one moment, for display only.

Times are seconds from the start of the run, sizes bytes on the line, rates bytes per second.
"""

from __future__ import annotations

import msgspec

from headgate.model.units import SizeRange

__all__ = ["SiteSnapshot", "Snapshot"]

_ENDED = frozenset(("done", "stopped"))


class SiteSnapshot(msgspec.Struct, frozen=True):
    """One site."""

    name: str
    state: str
    """"waiting", "crawling", "done" or "stopped"."""
    pages: int
    to_do: int
    wire_bytes: int
    rate: float
    """As measured over the last seconds."""
    share: float | None
    """The rate it may use; None: no limit, or it is not being crawled."""
    expected: SizeRange | None
    """Size of the whole site; None: unknown."""
    deadline: float | None
    eta: float | None
    """When it will end, or did; None: unknown."""
    errors: int
    relevant: int | None = None
    """Pages about its topic; None: it has no topic."""
    missed: str = ""
    """Why its deadline was missed although it did not end late."""

    @property
    def running(self) -> bool:
        return self.state == "crawling"

    @property
    def ended(self) -> bool:
        return self.state in _ENDED

    @property
    def vague(self) -> bool:
        """Whether its size, and so its end, is uncertain."""
        return not self.ended and self.expected is not None and self.expected.vague

    @property
    def late(self) -> float | None:
        """Seconds after the deadline, negative before it; None where either is unknown, or the
        deadline was missed for another reason."""
        if self.eta is None or self.deadline is None or self.missed:
            return None
        return self.eta - self.deadline


class Snapshot(msgspec.Struct, frozen=True):
    """All sites."""

    time: float
    budget: float | None
    """Now; None: unlimited."""
    sites: tuple[SiteSnapshot, ...]
    making_way: bool = False
    """Whether the crawl yields to others on the line."""
    paused_until: str = ""
    """Day and hour at which the quota is renewed; empty: it is not used up."""
    changed: tuple[SiteSnapshot, ...] | None = None
    """The sites that may have changed since the previous snapshot; None: any may have."""

    @property
    def rate(self) -> float:
        return sum(site.rate for site in self.sites)

    @property
    def pages(self) -> int:
        return sum(site.pages for site in self.sites)

    @property
    def relevant(self) -> int | None:
        """Relevant pages of all sites; None: no site has a topic."""
        known = [site.relevant for site in self.sites if site.relevant is not None]
        return sum(known) if known else None

    @property
    def wire_bytes(self) -> int:
        return sum(site.wire_bytes for site in self.sites)

    @property
    def errors(self) -> int:
        return sum(site.errors for site in self.sites)

    @property
    def vague(self) -> bool:
        """Whether the size of any site is uncertain."""
        return any(site.vague for site in self.sites)

    @property
    def eta(self) -> float | None:
        """When the last site will end, or did; None while that of any is unknown."""
        etas = [site.eta for site in self.sites]
        known = [eta for eta in etas if eta is not None]
        return max(known, default=None) if len(known) == len(etas) else None
