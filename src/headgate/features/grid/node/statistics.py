"""Counts what a node has done since its start, for its watcher."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from headgate.features.grid.node.leased_tasks import LeasedTask, LeasedTasks, Stage
from headgate.features.grid.protocol import Word
from headgate.model.grid import NodeStatus

__all__ = ["WorkerTally"]

_LEAST_SECONDS = 0.5
_UNWANTED = (Word.SUPERSEDED, Word.NEVER_YOURS, Word.REFUSED)


@dataclass(slots=True)
class WorkerTally:
    node: str
    _given_back: int = 0
    _lost: int = 0
    _brought: Counter[Word] = field(default_factory=Counter)
    _pages: int = 0
    _bytes: int = 0
    _seen: tuple[float, int] | None = None
    """When a status was last made, and the bytes until then."""

    def gave_back(self) -> None:
        """A task that this node did not bring to its end."""
        self._given_back += 1

    def lost(self) -> None:
        """A task that another node has now."""
        self._lost += 1

    def brought(self, work: LeasedTask, word: Word) -> None:
        self._brought[word] += 1
        if word is Word.COMMITTED:
            self._pages += work.progress.pages
            self._bytes += work.progress.wire_bytes

    def status(self, state: str, leased_tasks: LeasedTasks, now: float) -> NodeStatus:
        works = list(leased_tasks.works.values())
        came = self._bytes + sum(work.progress.arrived_bytes for work in works)
        at, before = self._seen or (now, came)
        self._seen = (now, came)
        return NodeStatus(
            node=self.node,
            state=state,
            tasks=tuple(work.site for work in leased_tasks.in_stage(Stage.CRAWLING)),
            to_bring=sum(1 for _ in leased_tasks.in_stage(Stage.ENDED)),
            committed=self._brought[Word.COMMITTED],
            superseded=sum(self._brought[word] for word in _UNWANTED),
            given_back=self._given_back,
            lost=self._lost,
            pages=self._pages + sum(work.progress.pages for work in works),
            wire_bytes=came,
            rate=max(came - before, 0) / max(now - at, _LEAST_SECONDS),
        )
