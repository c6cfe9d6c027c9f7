"""What the manager thinks of one site: what is still to come, how fast its server is, how sure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from headgate.control.forecast import Forecast
from headgate.control.site_bounds import within_bounds
from headgate.control.sizing import SizeWatch
from headgate.control.speed_watch import SpeedWatch
from headgate.crawling.progress import Progress
from headgate.model.site import OnDeadline, Site
from headgate.model.size_range import SizeRange
from headgate.planning.replan import OpenSite

__all__ = ["SiteWatch"]

_OPENING_SECONDS = 1.0
"""A site's speed says nothing while its connections open, or when it goes on after it was parked;
at a first look, for half as long."""
_PAGES_JUDGED = 2.0
"""Of the mean size: what must have been granted before it says how fast a server is."""
_AT_ITS_PACE = 0.5
"""Of the requests that politeness allows: where so many ended, it set the pace, not the server."""
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
    arrived: float = 0.0
    """Seconds from the start of the run; its deadline counts from then."""
    _to_plan_for: float = field(init=False)
    _started: float | None = None
    """Or went on after it was parked."""
    _pages: int = 0
    """Responses that its size was last judged by."""
    _seen: tuple[int, ...] = ()
    """What the size was last judged by."""
    _polite_cap: float = math.inf
    """Bytes per second that politeness to its servers allows, by what pages still to come may
    have ..."""
    _least_polite_cap: float = math.inf
    """... and by those that came."""
    _arrived_bytes: int = 0
    _fetches: int = 0
    _looked: float = 0.0
    _granted_bytes: float = 0.0
    """Since the last look, up to ``_granted_at``."""
    _granted_at: float = 0.0

    def __post_init__(self) -> None:
        self._to_plan_for = self.left.likely

    @classmethod
    def of(cls, site: Site, known: Forecast, arrived: float = 0.0) -> SiteWatch:
        most = site.max_rate or math.inf
        low, high = known.bytes_range or (known.bytes, known.bytes)
        return cls(
            site,
            SizeWatch(known),
            SpeedWatch(min(known.cap or math.inf, most), most),
            SizeRange(low, max(known.bytes, 1.0), high),
            speed_known=known.server is not None,
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
        return _PAGES_JUDGED * (report.mean_wire_bytes or math.inf)

    def look_at_speed(
        self,
        report: Progress,
        rate: float,
        now: float,
        *,
        first_look: bool,
        held_back: bool,
        lent: bool,
    ) -> None:
        """How fast its server is, by what came of what was granted; ``rate`` is that of now.
        ``lent``: others may have taken a part of it."""
        seconds = now - self._looked
        opening = _OPENING_SECONDS / 2 if first_look else _OPENING_SECONDS
        begun_anew = report.arrived_bytes < self._arrived_bytes  # its process died
        if self._started is None or begun_anew:
            self._started = now
        elif seconds > 0 and not held_back and now - self._started >= opening:
            self.note_grant(rate, now)
            if 0 < self._granted_bytes < _PAGES_JUDGED * (report.mean_wire_bytes or 0.0):
                return  # too little for a page to come: counted on until it is enough
            came = (report.arrived_bytes - self._arrived_bytes) / seconds
            fetches = report.fetches - self._fetches
            paced = 0 < _AT_ITS_PACE * seconds <= fetches * report.seconds_per_request
            busy = report.to_do > 0 and not lent and not paced
            self.speed.look(came, self._granted_bytes / seconds, busy=busy)
        self._arrived_bytes, self._fetches, self._looked = report.arrived_bytes, report.fetches, now
        self._granted_bytes, self._granted_at = 0.0, now

    def note_grant(self, rate: float, now: float) -> None:
        """The rate that held until now is about to change."""
        if rate == 0 and self._started is not None:
            self._started = now
        self._granted_bytes += rate * max(now - self._granted_at, 0.0)
        self._granted_at = now

    def state(self, equal_share: float) -> OpenSite:
        """As the planner has it."""
        reserve = _RESERVE_SECONDS + _RESERVE_PART * self.time_allowed
        return OpenSite(
            self._to_plan_for,
            self.deadline,
            self.cap,
            least=self.left.low,
            most=self._cautious(),
            least_cap=self._least_cap(equal_share),
            reserve=0.0 if math.isinf(reserve) else reserve,
            stops=self.stops,
        )

    def refresh(self, state: OpenSite, equal_share: float) -> None:
        """Correct what the planner has."""
        state.least, state.most = self.left.low, self._cautious()
        state.remaining = self._to_plan_for
        state.cap, state.least_cap = self.cap, self._least_cap(equal_share)

    def _least_cap(self, equal_share: float) -> float:
        """A server that nobody knows gives an equal share at the least, or what it gave lately."""
        if self.speed_known:
            return self.cap
        return min(max(equal_share, self.speed.seen), self._least_polite_cap)

    def _cautious(self) -> float:
        """Half way, in proportion, to the largest that is thought of: all sites at their largest at
        once is more than any reserve can be kept for."""
        return math.sqrt(self.left.likely * max(self.left.high, self.left.likely))
