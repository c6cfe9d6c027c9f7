"""One form at work: which downloads start, and what is learnt from each that ends.

The same code steers the simulation and the crawl on the bed; both tell it the time.
"""

from __future__ import annotations

from headgate.lab.papers.diligenti2004.forms import Form
from headgate.lab.papers.diligenti2004.world import LIMIT, World
from headgate.model.local_time import DayKind, LocalMoment
from headgate.traffic.admission import Admission, AdmissionRules, Start
from headgate.traffic.on_off import OnOff
from headgate.traffic.server_speed import Measure, ServerSpeeds

__all__ = ["Steering"]

_PER_SERVER = 1
"""As politeness has it, and so that a measure is of the server and not of our own crowd."""
_FIRST_GUESS = LIMIT / 10
"""A server's speed before any was measured."""
_HELD_BACK = 0.95
"""Of its share, or of the limit for the whole line: what went that fast might have been faster
without us. To take it for the server's speed would make estimates sink and downloads multiply."""
_NOON = 12 * 60.0


class Steering:
    def __init__(self, form: Form, world: World) -> None:
        self._speeds = ServerSpeeds(rule=form.estimator)
        self._form = form
        self._now = 0.0
        self._rate = 0.0
        """Of the last second."""
        self._taken: dict[str, Start] = {}
        if form.taking is None:
            self._control: Admission | OnOff = OnOff(form.limit, per_server=_PER_SERVER)
        else:
            rules = AdmissionRules(form.limit, form.taking, form.look_ahead, per_server=_PER_SERVER)
            self._control = Admission(rules, self._estimate)
        for download in world.downloads():
            self._control.offer(download)

    @property
    def predicted(self) -> float:
        """The sum of what running downloads are thought to take; 0 where nothing is predicted."""
        return self._control.taken if isinstance(self._control, Admission) else 0.0

    def starts(self, now: float) -> list[Start]:
        """What to start, ``now`` seconds into the run."""
        self._now = now
        started = self._control.starts(now)
        self._taken |= {start.download.key: start for start in started}
        return started

    def ended(self, key: str, now: float, size: float, seconds: float, first_byte: float) -> None:
        """A download came whole."""
        start = self._taken[key]
        by_share = size > _HELD_BACK * start.taken.share * (seconds - first_byte)
        by_line = self._form.enforced and self._rate > _HELD_BACK * self._form.limit
        measure = Measure(size, seconds, 1, first_byte, at_least=by_share or by_line)
        self._speeds.learn(start.download.server, measure, _moment(now))
        self.failed(key)

    def failed(self, key: str) -> None:
        """A download is over and says nothing of its server."""
        del self._taken[key]
        self._control.ended(key)

    def measured(self, rate: float) -> None:
        """The rate of the last second."""
        self._rate = rate
        if isinstance(self._control, OnOff):
            self._control.measured(rate)

    def _estimate(self, server: str) -> float:
        return self._speeds.rate(server, _moment(self._now)) or _FIRST_GUESS


def _moment(now: float) -> LocalMoment:
    """A run is a few minutes of a working day, from noon."""
    return LocalMoment(_NOON + now / 60.0, DayKind.WORKING, now)
