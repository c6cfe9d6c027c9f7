"""The progress of a site that several nodes crawl: one for all its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headgate.crawling.progress import SHARED_OUT, Progress, TaskState
from headgate.crawling.task_messages import Lease
from headgate.model.left_out import merged

__all__ = ["PartsProgress"]


@dataclass(slots=True)
class PartsProgress:
    """Of one site. Bytes on the line count however a lease ended, as for any site."""

    site: str
    last_end: float = 0.0
    """In seconds of the run."""
    _ended: dict[int, Progress] = field(default_factory=dict)
    """Of stored parts, by task."""
    _came: dict[Lease, int] = field(default_factory=dict)
    """Bytes on the line by lease, in this leg."""
    _earlier_bytes: int = 0

    def ended(self, lease: Lease, progress: Progress, at: float, *, in_leg: bool = True) -> None:
        """A part is stored. ``in_leg``: since this manager was started."""
        self._ended[lease.task] = progress
        self.last_end = max(self.last_end, at)
        if in_leg:
            self._came[lease] = progress.wire_bytes
        else:
            self._earlier_bytes += progress.wire_bytes

    def whole(self, running: Mapping[Lease, Progress]) -> Progress:
        """Including running parts, as their nodes last reported; one that runs twice counts
        once."""
        for lease, progress in running.items():
            self._came[lease] = max(self._came.get(lease, 0), progress.arrived_bytes)
        best: dict[int, Progress] = {}
        for lease, progress in running.items():
            before = best.get(lease.task)
            if lease.task not in self._ended and (
                before is None or progress.arrived_bytes > before.arrived_bytes
            ):
                best[lease.task] = progress
        whole = _together(self.site, [*self._ended.values(), *best.values()])
        whole.state = TaskState.CRAWLING
        whole.wire_bytes = self._earlier_bytes + sum(self._came.values())
        whole.earlier_wire_bytes = self._earlier_bytes
        return whole

    def last(self, state: TaskState, reason: str) -> Progress:
        """When the site has ended."""
        whole = _together(self.site, list(self._ended.values()))
        whole.state, whole.reason = state, reason
        whole.earlier_wire_bytes = self._earlier_bytes
        if state is TaskState.DONE:
            whole.to_do = 0
        return whole


def _together(site: str, parts: Iterable[Progress]) -> Progress:
    whole = Progress(site, started=0.0)
    for part in parts:
        whole.pages += part.pages
        whole.unchanged += part.unchanged
        whole.payload_bytes += part.payload_bytes
        whole.fetches += part.fetches
        whole.wire_bytes += part.wire_bytes
        whole.seen += part.seen
        whole.fetch_seconds += part.fetch_seconds
        whole.first_byte_seconds += part.first_byte_seconds
        whole.errors = Counter(whole.errors) + Counter(part.errors)
        whole.given_up |= part.given_up
        whole.left_out = merged(whole.left_out, part.left_out)
        if part.reason != SHARED_OUT:  # what it left is counted with the parts that took it over
            whole.to_do += part.to_do
    return whole
