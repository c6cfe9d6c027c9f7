"""An in-memory survey log: the twin of the one on disk."""

from __future__ import annotations

from headgate.surveying.entries import SurveyEntry

__all__ = ["MemorySurveyLog"]

_ROUGH_BYTES_PER_ENTRY = 400


class MemorySurveyLog:
    """A `headgate.crawling.ports.SurveyLog`; ``stored`` is what a disk would keep."""

    def __init__(self, stored: list[SurveyEntry]) -> None:
        self._stored = stored
        self._waiting: list[SurveyEntry] = []

    @property
    def waiting_bytes(self) -> int:
        return _ROUGH_BYTES_PER_ENTRY * len(self._waiting)

    def put(self, entry: SurveyEntry) -> None:
        self._waiting.append(entry)

    def commit(self) -> int:
        taken, self._waiting = self._waiting, []
        self._stored += taken
        return len(self._stored)
