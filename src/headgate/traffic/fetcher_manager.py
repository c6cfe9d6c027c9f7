"""The fetcher manager: downloads wait by score, some start, and each that ends is a measurement.

All of Diligenti et al. 2004 in one place, for the lab and for crawls: `admission` or its rival
`on_off` decides what starts, `server_speed` estimates a server's speed at this hour, and every
download that ends is a measure of it. A `Way` selects among the published and repaired rules.

If buckets enforce shares, a download that we held back gives only a lower bound of its server's
speed: otherwise estimates would sink and downloads multiply.

Time is an argument: ``now`` counts the seconds of a run, a moment says which hour of which day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.model.local_time import LocalMoment
from headgate.traffic.admission import (
    Admission,
    AdmissionRules,
    Start,
    Taking,
    by_estimates,
    by_shares,
    by_use,
)
from headgate.traffic.on_off import OnOff
from headgate.traffic.score_queue import Download
from headgate.traffic.server_speed import Measure, Rule, ServerSpeeds

__all__ = ["WAYS", "FetcherManager", "Way"]

_HELD_BACK = 0.95
"""Above this part of its share, or of the whole limit, a download may have been held back by us."""
_GUESSED_PART = 0.1
"""A server's speed before any was measured, as a part of the limit."""
_GUESSED_SPEED = 100_000.0
"""The same without a limit, in bytes per second."""


@dataclass(frozen=True, slots=True)
class Way:
    """The rules in use."""

    taking: Taking | None
    """What a download takes of the limit; None: on/off control."""
    estimator: Rule = Rule.RATIO

    @property
    def enforced(self) -> bool:
        """Whether buckets hold downloads to their shares."""
        return self.taking in (by_shares, by_use)


WAYS = {
    "shares": Way(by_use),
    "estimates": Way(by_estimates, Rule.PAPER),
    "on-off": Way(None),
}
"""Choices for a crawl, Headgate's own first."""


class FetcherManager:
    """Of one run. A started download counts as running until `came` or `ended` is called."""

    def __init__(
        self, way: Way, limit: float, speeds: ServerSpeeds, *, look_ahead: int, per_server: int
    ) -> None:
        self.way = way
        self.speeds = speeds
        self._rate = 0.0
        """Of the last while."""
        self._moment: LocalMoment
        self._running: dict[str, Start] = {}
        if way.taking is None:
            self._control: Admission | OnOff = OnOff(limit, per_server=per_server)
        else:
            rules = AdmissionRules(limit, way.taking, look_ahead, per_server=per_server)
            self._control = Admission(rules, self._estimate)

    @property
    def limit(self) -> float:
        """Bytes per second; 0: nothing starts."""
        return self._control.limit

    @limit.setter
    def limit(self, rate: float) -> None:
        self._control.limit = rate

    @property
    def predicted(self) -> float:
        """Predicted sum of the speeds of running downloads; 0: not predicted."""
        return self._control.taken if isinstance(self._control, Admission) else 0.0

    def offer(self, download: Download) -> None:
        self._control.offer(download)

    def exchange(self, key: str, download: Download) -> None:
        """Another in the place of one that waits."""
        self._control.exchange(key, download)

    def withdraw(self, key: str) -> None:
        """One that waits is not wanted any more."""
        self._control.withdraw(key)

    def starts(self, now: float, moment: LocalMoment) -> Sequence[Start]:
        self._moment = moment
        started = self._control.starts(now)
        self._running |= {start.download.key: start for start in started}
        return started

    def came(self, key: str, measure: Measure, moment: LocalMoment) -> None:
        """A download is complete. Whether we held it back is decided here, not by the measure."""
        share = self._running[key].taken.share
        streamed = measure.seconds - measure.first_byte_seconds
        by_share = measure.bytes > _HELD_BACK * share * streamed
        by_line = self.way.enforced and self._rate > _HELD_BACK * self.limit
        told = Measure(
            measure.bytes, measure.seconds, measure.requests, measure.first_byte_seconds,
            at_least=by_share or by_line,
        )  # fmt: skip
        self.speeds.learn(self._running[key].download.server, told, moment)
        self.ended(key)

    def ended(self, key: str) -> None:
        """A download has ended, without a measure of its server."""
        del self._running[key]
        self._control.ended(key)

    def measured(self, rate: float) -> None:
        """The recent rate; called at regular intervals."""
        self._rate = rate
        if isinstance(self._control, OnOff):
            self._control.measured(rate)

    def _estimate(self, server: str) -> float:
        guess = min(_GUESSED_PART * self.limit, _GUESSED_SPEED)
        return self.speeds.rate(server, self._moment) or guess
