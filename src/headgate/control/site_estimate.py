"""What the manager thinks of one site: bytes still to come, its server's speed, their ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import msgspec

from headgate.control.forecast import Forecast, within_bounds
from headgate.control.size_estimate import SizePrior, SizeWatch
from headgate.crawling.progress import Progress
from headgate.model.site import OnDeadline, Site
from headgate.model.units import SizeRange
from headgate.scheduling.replan import OpenSite

__all__ = ["GrantUse", "SiteWatch", "SpeedWatch"]

_WIDE = 10.0
"""A site that may be this many times its likely size is too little known."""
_PAGES_KNOWN = 5
"""This many pages show the typical size; the very first may be small."""
_RESERVE_SECONDS = 0.25
_RESERVE_PART = 0.02
"""Reserve before a deadline, in seconds and as a part of it, however well sizes are known."""


@dataclass(slots=True)
class SiteWatch:
    """The manager's estimates of one site: bytes still to come, the server's speed, their ranges.

    One unfinished site.
    """

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
    def from_forecast(cls, site: Site, known: Forecast, arrived: float = 0.0) -> SiteWatch:
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

    def suppose(self, others: SizePrior) -> bool:
        """Estimate the size from other sites, if nothing is known of this one; whether it was."""
        if self.mere_guess is None or self.size.shown is not None:
            return False
        self.left = others.like_these(self.mere_guess)
        self.size.suppose(self.left)
        self._to_plan_for = self.left.likely
        return True

    def observe(self, report: Progress) -> None:
        """Update the bytes still to come, if anything came since the last look."""
        seen = (report.fetches, report.arrived_bytes, report.announced_bytes, report.to_do,
                report.pages)  # fmt: skip
        if seen == self._seen:
            return
        self._seen, self._pages = seen, report.growth.responses
        mean = report.mean_wire_bytes or 0.0
        self.left = self.size.observe(report)
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


_OPENING_SECONDS = 1.0
"""A site is not judged while its connections open, or just after it was parked; at a first look,
for half as long."""
PAGES_JUDGED = 2.0
"""This many mean page sizes must have been granted before a server is judged."""
_UNSEEN_PAGE_BYTES = 15_000.0
"""Assumed page size before the first page; the size of robots.txt says nothing of it."""
_AT_ITS_PACE = 0.5
"""If this part of the requests that politeness allows was made, politeness was the limit, not the
server."""


class GrantUse(msgspec.Struct):
    """Measures a site's server by how much of the granted bytes arrived.

    Looks come twice a second, and rates change in between: granted bytes are summed up from look to
    look, so that a server is judged by the rates it had and not by the last one.

    The grants of one site; ``speed`` takes the measurements.
    """

    speed: SpeedWatch
    _started: float | None = None
    """When it started, or went on after it was parked."""
    _arrived_bytes: int = 0
    _fetches: int = 0
    _looked: float = 0.0
    _granted_bytes: float = 0.0
    """Since the last look, up to ``_granted_at``."""
    _granted_at: float = 0.0

    def observe(
        self,
        report: Progress,
        rate: float,
        now: float,
        *,
        first_look: bool,
        held_back: bool,
        lent: bool,
    ) -> None:
        """``rate`` is the present one; ``lent``: others may have used a part of it."""
        seconds = now - self._looked
        opening = _OPENING_SECONDS / 2 if first_look else _OPENING_SECONDS
        begun_anew = report.arrived_bytes < self._arrived_bytes  # its process died
        if self._started is None or begun_anew:
            self._started = now
        elif seconds > 0 and not held_back and now - self._started >= opening:
            self.record(rate, now)
            if 0 < self._granted_bytes < PAGES_JUDGED * _page_bytes(report):
                return  # too little for a page: keep counting until it is enough
            came = (report.arrived_bytes - self._arrived_bytes) / seconds
            fetches = report.fetches - self._fetches
            paced = 0 < _AT_ITS_PACE * seconds <= fetches * report.seconds_per_request
            busy = report.to_do > 0 and not lent and not paced
            self.speed.observe(came, self._granted_bytes / seconds, busy=busy)
        self._arrived_bytes, self._fetches, self._looked = report.arrived_bytes, report.fetches, now
        self._granted_bytes, self._granted_at = 0.0, now

    def record(self, rate: float, now: float) -> None:
        """The rate that held until now is about to change; count what it granted."""
        if rate == 0 and self._started is not None:
            self._started = now
        self._granted_bytes += rate * max(now - self._granted_at, 0.0)
        self._granted_at = now


def _page_bytes(report: Progress) -> float:
    mean = report.mean_wire_bytes or 0.0
    return mean if report.growth.responses else max(mean, _UNSEEN_PAGE_BYTES)


_USED_UP = 0.9
_RAISE = 1.5
_HEADROOM = 1.15
_LOOKS = 3
_REMEMBERED = 0.5 ** (1 / 20)
_LEAST_CAP = 1_000.0
"""Bytes per second: no cap falls below."""


class SpeedWatch(msgspec.Struct):
    """Estimates a server's speed from what it delivers of what was granted.

    A site that uses its whole grant may be able to do more, so its cap rises by half at each look
    until the server, not the grant, is the bottleneck. A site that leaves part of its grant unused
    at three looks in a row is at its limit: its cap falls to a little above what came, so that
    others get the rest. A user's max_rate is never exceeded.

    The speed of one site's server. ``cap`` never exceeds ``most``.
    """

    cap: float
    most: float = math.inf
    seen: float = 0.0
    """The recent maximum, which decays with a half-life of 20 looks."""
    _slow_looks: int = 0
    _came: float = 0.0
    """At the last look."""
    _fastest_of_slow: float = 0.0

    def observe(self, came: float, granted: float, *, busy: bool) -> float:
        """Update and return the cap; rates are in bytes per second.

        ``busy``: there was work all the time, so a low rate is the server's doing.
        """
        self.seen, self._came = max(_REMEMBERED * self.seen, came), came
        if granted <= 0 or not busy:
            self._slow_looks = 0
        elif came >= _USED_UP * granted:
            self._slow_looks = 0
            if granted >= 0.99 * self.cap:
                self.cap = min(max(self.cap * _RAISE, came), self.most)
        else:
            self._note_slow(came)
        return self.cap

    def unused(self, rate: float) -> float:
        """What it will leave of a rate if it continues as at the last look."""
        return max(rate - _HEADROOM * self._came, 0.0) if self._slow_looks else 0.0

    def conclude(self) -> None:
        """Lower the cap after a slow look at once, since there will be no other for a while."""
        if self._slow_looks:
            self.cap = min(max(self._fastest_of_slow * _HEADROOM, _LEAST_CAP), self.cap, self.most)
            self._slow_looks = 0

    def _note_slow(self, came: float) -> None:
        self._fastest_of_slow = max(came, self._fastest_of_slow if self._slow_looks else 0.0)
        self._slow_looks += 1
        if self._slow_looks >= _LOOKS:
            self.conclude()
