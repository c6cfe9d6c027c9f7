"""A store in memory: the twin of the one on disk, with its memory and its survey log."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from headgate.features.survey.strategy.entries import SurveyEntry
from headgate.frontier.events import JournalEntry
from headgate.frontier.seen_urls import Hashes, url_hashes
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Earlier, Page

__all__ = ["MemoryKnown", "MemoryStore", "MemorySurveyLog", "Shelf"]

Note = tuple[str, float, tuple[tuple[str, str], ...]]
"""(URL, seconds since 1970, what was noted)."""


@dataclass(frozen=True, slots=True)
class ShelvedPage:
    """A `headgate.crawling.ports.ReplayedPage`."""

    page: Page

    @property
    def role(self) -> str:
        return self.page.role.value

    @property
    def depth(self) -> int:
        return self.page.depth

    @property
    def status(self) -> int:
        outcome = self.page.outcome
        return 0 if isinstance(outcome, FetchFailure) else outcome.status

    @property
    def error(self) -> str:
        outcome = self.page.outcome
        return outcome.kind.value if isinstance(outcome, FetchFailure) else ""

    @property
    def payload_bytes(self) -> int:
        outcome = self.page.outcome
        return len(outcome.payload) if isinstance(outcome, Fetched) else 0

    @property
    def wire_bytes(self) -> int:
        return self.page.outcome.wire_bytes

    @property
    def seconds(self) -> float:
        return self.page.outcome.seconds

    @property
    def first_byte_seconds(self) -> float:
        outcome = self.page.outcome
        return outcome.first_byte_seconds if isinstance(outcome, Fetched) else 0.0

    @property
    def relevance(self) -> float | None:
        return self.page.relevance

    @property
    def unchanged(self) -> bool:
        return self.page.unchanged


@dataclass(slots=True)
class Shelf:
    """What is durable of one site run."""

    pages: list[ShelvedPage] = field(default_factory=list)
    entries: list[JournalEntry] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    finished: bool = False

    def finish(self) -> None:
        self.finished = True

    def add(self, other: Shelf) -> None:
        self.pages += other.pages
        self.entries += other.entries
        self.notes += other.notes
        self.finished = self.finished or other.finished


class MemoryStore:
    """An in-memory store of a site: the twin of the one on disk.

    Its `Shelf` stands for the disk: a store opened on it again finds what was committed and nothing
    else, as after a crash.

    A `headgate.crawling.ports.SiteStore` over a shelf.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._waiting = Shelf()
        self._given = self._stored = 0
        self.waiting_bytes = 0

    @property
    def finished(self) -> bool:
        return self._shelf.finished

    def put(self, page: Page, entry: JournalEntry | None = None) -> int:
        shelved = ShelvedPage(page)
        self._waiting.pages.append(shelved)
        if entry is not None:
            self._waiting.entries.append(entry)
        self.waiting_bytes += shelved.payload_bytes
        self._given += 1
        return self._given

    def record(self, entry: JournalEntry) -> None:
        self._waiting.entries.append(entry)

    def add_note(self, url: str, wall_time: float, fields: Sequence[tuple[str, str]]) -> None:
        self._waiting.notes.append((url, wall_time, tuple(fields)))

    def finish(self) -> None:
        self._waiting.finish()

    def commit(self) -> int:
        taken, self._waiting, self.waiting_bytes = self._waiting, Shelf(), 0
        self._shelf.add(taken)
        self._stored += len(taken.pages)
        return self._stored

    def entries(self) -> Iterator[JournalEntry]:
        return iter(self._shelf.entries)

    def pages(self) -> Iterator[ShelvedPage]:
        return iter(self._shelf.pages)

    def close(self) -> None: ...


@dataclass(slots=True)
class MemoryKnown:
    """What earlier runs know of a site, in memory: the twin of the memory on disk.

    A `headgate.crawling.ports.Known`.
    """

    responses: Mapping[str, tuple[Earlier, Fetched]] = field(default_factory=dict)
    """Archived responses, by URL."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """Of all pages that were fetched and are not gone."""
    never_asked: Mapping[str, int] = field(default_factory=dict)
    """URLs found but never fetched, with their depths."""
    shown: Collection[str] = ()
    """Of these, page requisites."""

    def asked(self, url: str) -> bool:
        return url in self.depths

    def find(self, url: str) -> Earlier | None:
        found = self.responses.get(url)
        return None if found is None else found[0]

    def stored(self, url: str, earlier: Earlier) -> Fetched | None:
        found = self.responses.get(earlier.url)
        return None if found is None or found[0] != earlier else replace(found[1], url=url)

    def left_to_do(self) -> Iterator[tuple[int, Sequence[str]]]:
        return _by_depth(self.never_asked)

    def pages(self) -> Iterator[tuple[int, Sequence[str]]]:
        return _by_depth({**self.depths, **self.never_asked})

    def by_depth(self, urls: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
        known = {**self.depths, **self.never_asked}
        return _by_depth({url: known[url] for url in urls if url in known})

    def needed(self, urls: Sequence[str]) -> list[str]:
        return [url for url in urls if url in self.shown]

    def hashes(self) -> Hashes:
        return url_hashes({**self.depths, **self.never_asked})


def _by_depth(depths: Mapping[str, int]) -> Iterator[tuple[int, Sequence[str]]]:
    for depth in sorted(set(depths.values())):
        yield depth, [url for url, found in depths.items() if found == depth]


_ROUGH_BYTES_PER_ENTRY = 400


class MemorySurveyLog:
    """An in-memory survey log: the twin of the one on disk.

    A `headgate.features.survey.log.SurveyLog`; ``stored`` is what a disk would keep.
    """

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
