"""The manager's estimates of one site: bytes still to come, the server's speed, their ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from headgate.control.forecast import Forecast
from headgate.control.grant_use import PAGES_JUDGED, GrantUse
from headgate.control.kindred import Kindred
from headgate.control.site_bounds import within_bounds
from headgate.control.sizing import SizeWatch
from headgate.control.speed_watch import SpeedWatch
from headgate.crawling.progress import Progress
from headgate.model.site import OnDeadline, Site
from headgate.model.size_range import SizeRange
from headgate.planning.replan import OpenSite

__all__ = ["SiteWatch"]

_WIDE = 10.0
"""A site that may be this many times its likely size is too little known."""
_PAGES_KNOWN = 5
"""This many pages show the typical size; the very first may be small."""
_RESERVE_SECONDS = 0.25
_RESERVE_PART = 0.02
"""Reserve before a deadline, in seconds and as a part of it, however well sizes are known."""


@dataclass(slots=True)
class SiteWatch:
    """One unfinished site."""

    site: Site
    size: SizeWatch
    speed: SpeedWatch
    left: SizeRange
    """Bytes still to come, as of the last look."""
    speed_known: bool
    """From earlier visits; the user's ``max_rate`` is only a bound."""
    mere_guess: SizeRange | None = None
    """The assumed size, if nothing was known of the site."""
    arrived: float = 0.0
    """Seconds from the start of the run; its deadline counts from then."""
    grants: GrantUse = field(init=False)
    """Measures its server by what came of the granted bytes."""
    _to_plan_for: float = field(init=False)
    _pages: int = 0
    """Number of responses at the last look."""
    _seen: tuple[int, ...] = ()
    """Counters at the last look."""
    _polite_cap: float = math.inf
    """Bytes per second that politeness allows, by the likely size of pages to come ..."""
    _least_polite_cap: float = math.inf
    """... and by that of pages that came."""

    def __post_init__(self) -> None:
        self._to_plan_for = self.left.likely
        self.grants = GrantUse(self.speed)

    @classmethod
    def of(cls, site: Site, known: Forecast, arrived: float = 0.0) -> SiteWatch:
        most = site.max_rate or math.inf
        low, high = known.bytes_range or (known.bytes, known.bytes)
        size = SizeRange(low, max(known.bytes, 1.0), high)
        return cls(
            site,
            SizeWatch(known),
            SpeedWatch(min(known.cap or math.inf, most), most),
            size,
            speed_known=known.server is not None,
            mere_guess=size if known.mere_guess else None,
            arrived=arrived,
        )

    @property
    def deadline(self) -> float:
        """Seconds from the start of the run; infinity: none."""
        return self.arrived + self.time_allowed

    @property
    def time_allowed(self) -> float:
        """Seconds from its arrival to its deadline."""
        return math.inf if self.site.deadline is None else float(self.site.deadline)

    @property
    def cap(self) -> float:
        """Estimated bytes per second of its server under polite requests."""
        return min(self.speed.cap, self._polite_cap)

    @property
    def stops(self) -> bool:
        return self.site.on_deadline is OnDeadline.STOP

    @property
    def vague(self) -> bool:
        """Whether its deadline depends on a very uncertain size."""
        return self.left.high > _WIDE * self.left.likely and self._may_be_late

    @property
    def unseen(self) -> bool:
        """Whether its deadline depends on a given size that no page has confirmed yet."""
        return not self._pages and self._may_be_late

    @property
    def _may_be_late(self) -> bool:
        return not self.stops and not math.isinf(self.deadline)

    def suppose(self, others: Kindred) -> bool:
        """Estimate the size from other sites, if nothing is known of this one; whether it was."""
        if self.mere_guess is None or self.size.shown is not None:
            return False
        self.left = others.like_these(self.mere_guess)
        self.size.suppose(self.left)
        self._to_plan_for = self.left.likely
        return True

    def look(self, report: Progress) -> None:
        """Update the bytes still to come, if anything came since the last look."""
        seen = (report.fetches, report.arrived_bytes, report.announced_bytes, report.to_do,
                report.pages)  # fmt: skip
        if seen == self._seen:
            return
        self._seen, self._pages = seen, report.growth.responses
        mean = report.mean_wire_bytes or 0.0
        self.left = self.size.look(report)
        if mean:
            self.left = within_bounds(
                self.left, self.site, mean, came=report.arrived_bytes, pages=report.pages
            )
        # The likely size is a median; a deadline needs the mean, which a few large pages make:
        # known URLs at the mean size so far, within the range.
        known = report.to_do * mean
        self._to_plan_for = max(self.left.likely, min(known, self.left.high))
        if report.seconds_per_request and report.growth.responses:
            mean = report.growth.late_bytes
            self._least_polite_cap = mean / report.seconds_per_request
            if report.growth.responses < _PAGES_KNOWN:
                mean = max(mean, self.left.likely / max(report.to_do, 1))
            under_way = report.announced_bytes / max(report.announced_fetches, 1)
            self._polite_cap = max(mean, under_way) / report.seconds_per_request

    def look_bytes(self, report: Progress) -> float:
        """Bytes of a first look: if the size is known, enough to see how fast the server is."""
        if self.size.guessed:
            return self.size.look_bytes
        return PAGES_JUDGED * (report.mean_wire_bytes or math.inf)

    def state(self, equal_share: float) -> OpenSite:
        """The planner's state of the site."""
        reserve = _RESERVE_SECONDS + _RESERVE_PART * self.time_allowed
        return OpenSite(
            self._to_plan_for,
            self.deadline,
            self.cap,
            least=self.left.low,
            most=_cautious(self.left),
            least_cap=self._least_cap(equal_share),
            reserve=0.0 if math.isinf(reserve) else reserve,
            stops=self.stops,
        )

    def refresh(self, state: OpenSite, equal_share: float) -> None:
        """Update the planner's state of the site."""
        state.least, state.most = self.left.low, _cautious(self.left)
        state.remaining = self._to_plan_for
        state.cap, state.least_cap = self.cap, self._least_cap(equal_share)

    def _least_cap(self, equal_share: float) -> float:
        """An unknown server delivers at least an equal share, or what it delivered lately."""
        if self.speed_known:
            return self.cap
        return min(max(equal_share, self.speed.seen), self._least_polite_cap)


def _cautious(left: SizeRange) -> float:
    """The geometric mean of the likely and the largest size: no reserve would be enough for all
    sites at their largest."""
    return math.sqrt(left.likely * max(left.high, left.likely))
