"""One form of control on the predefined queue: the fetcher manager with the time of the experiment.

The same code steers the simulation and the downloads on the bed, and both have what a crawl has
(`headgate.bandwidth.admission_control`).
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.bandwidth.admission_control import FetcherManager, StartDownload
from headgate.bandwidth.server_speed import Measure, ServerSpeeds
from headgate.model.timetable import DayKind, LocalMoment
from headgate_lab.papers.diligenti2004.forms import Form
from headgate_lab.papers.diligenti2004.world import World

__all__ = ["Steering"]

_PER_SERVER = 1
"""For politeness, and so that a measure is of the server alone."""
_NOON = 12 * 60.0


class Steering:
    def __init__(self, form: Form, world: World) -> None:
        way = form.way
        speeds = ServerSpeeds(rule=way.estimator)
        self._manager = FetcherManager(
            way, form.limit, speeds, look_ahead=form.look_ahead, per_server=_PER_SERVER
        )
        for download in world.downloads():
            self._manager.offer(download)

    @property
    def predicted(self) -> float:
        return self._manager.predicted

    def starts(self, now: float) -> Sequence[StartDownload]:
        """What to start, ``now`` seconds into the run."""
        return self._manager.starts(now, _moment(now))

    def ended(self, key: str, now: float, size: float, seconds: float, first_byte: float) -> None:
        """A download is complete."""
        self._manager.came(key, Measure(size, seconds, 1, first_byte), _moment(now))

    def failed(self, key: str) -> None:
        """A download failed, without a measure of its server."""
        self._manager.ended(key)

    def measured(self, rate: float) -> None:
        """The rate of the last second."""
        self._manager.measured(rate)


def _moment(now: float) -> LocalMoment:
    """A run is a few minutes of a working day, from noon."""
    return LocalMoment(_NOON + now / 60.0, DayKind.WORKING, now)
