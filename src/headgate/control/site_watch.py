"""What the manager thinks of one site: what is still to come, how fast its server is, how sure."""

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
"""Times what is likely: of a site that may be larger, too little is known."""
_PAGES_KNOWN = 5
"""So many show how large pages are; fewer may be small for being the first."""
_RESERVE_SECONDS = 0.25
_RESERVE_PART = 0.02
"""Of a deadline: what may go wrong before it is missed, however well sizes are known."""


@dataclass(slots=True)
class SiteWatch:
    """Of one unfinished site."""

    site: Site
    size: SizeWatch
    speed: SpeedWatch
    left: SizeRange
    """What is still to come, by the last look."""
    speed_known: bool
    """From earlier visits; what the user told is a bound."""
    mere_guess: SizeRange | None = None
    """What the site was taken for, where nothing was known of it."""
    arrived: float = 0.0
    """Seconds from the start of the run; its deadline counts from then."""
    grants: GrantUse = field(init=False)
    """What its server made of what was granted."""
    _to_plan_for: float = field(init=False)
    _pages: int = 0
    """Responses that its size was last judged by."""
    _seen: tuple[int, ...] = ()
    """What the size was last judged by."""
    _polite_cap: float = math.inf
    """Bytes per second that politeness to its servers allows, by what pages still to come may
    have ..."""
    _least_polite_cap: float = math.inf
    """... and by those that came."""

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
        """Bytes per second that its server is thought to give, asked as is polite."""
        return min(self.speed.cap, self._polite_cap)

    @property
    def stops(self) -> bool:
        return self.site.on_deadline is OnDeadline.STOP

    @property
    def vague(self) -> bool:
        """Whether its deadline depends on what nobody can say yet."""
        return self.left.high > _WIDE * self.left.likely and self._may_be_late

    @property
    def unseen(self) -> bool:
        """Whether its deadline depends on a size that was told, and no page has borne out."""
        return not self._pages and self._may_be_late

    @property
    def _may_be_late(self) -> bool:
        return not self.stops and not math.isinf(self.deadline)

    def suppose(self, others: Kindred) -> bool:
        """Take the site for one like these, if nobody has seen or told anything of it."""
        if self.mere_guess is None or self.size.shown is not None:
            return False
        self.left = others.like_these(self.mere_guess)
        self.size.suppose(self.left)
        self._to_plan_for = self.left.likely
        return True

    def look(self, report: Progress) -> None:
        """What is still to come, by what has come since the last look, if anything."""
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
        # The likely size is right in the middle of cases; a deadline is kept by the mean, which few
        # large pages make: what is known to be to do at the mean size so far, within the range.
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
        """So much may a first look take: of a site whose size is known, as much as shows how fast
        its server answers."""
        if self.size.guessed:
            return self.size.look_bytes
        return PAGES_JUDGED * (report.mean_wire_bytes or math.inf)

    def state(self, equal_share: float) -> OpenSite:
        """As the planner has it."""
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
        """Correct what the planner has."""
        state.least, state.most = self.left.low, _cautious(self.left)
        state.remaining = self._to_plan_for
        state.cap, state.least_cap = self.cap, self._least_cap(equal_share)

    def _least_cap(self, equal_share: float) -> float:
        """A server that nobody knows gives an equal share at the least, or what it gave lately."""
        if self.speed_known:
            return self.cap
        return min(max(equal_share, self.speed.seen), self._least_polite_cap)


def _cautious(left: SizeRange) -> float:
    """Half way, in proportion, to the largest that is thought of: all sites at their largest at
    once is more than any reserve can be kept for."""
    return math.sqrt(left.likely * max(left.high, left.likely))
