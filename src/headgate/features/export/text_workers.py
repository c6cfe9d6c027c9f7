"""Worker processes that read archived pages for an export, with answers in order."""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa

from headgate.crawling.child_process import Child, readable
from headgate.storage.stored_page import StoredPage, UnreadablePage

__all__ = ["AnchorTexts", "answers"]

_MOST_SECONDS = 60.0
_AHEAD = 16
"""Most pages ahead, per worker."""
_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


def answers(
    work: Callable[[_Question], _Answer],
    questions: Iterable[_Question],
    *,
    workers: int = 0,
    most_seconds: float = _MOST_SECONDS,
) -> Iterator[_Answer | None]:
    """A pool of worker processes for pages, with answers in order.

    A hostile page may make a library hang or crash: a worker that dies or takes longer than a
    minute is replaced, and its page has no answer. The number of pages ahead of the next answer is
    bounded.

    The result of ``work`` for each question, in order; None if its process died or took too
    long.

    ``work`` is pickled by name, so it must be a function of a module.
    """
    crew = _Crew(work, workers or os.cpu_count() or 1, most_seconds)
    try:
        yield from crew.run(iter(questions))
    finally:
        crew.close()


class _Worker(Generic[_Question]):
    """One process, busy with a question or idle."""

    def __init__(self) -> None:
        self._child = Child("headgate.crawling.reading_child")
        self.number: int | None = None
        """Number of its question; None: idle."""
        self.late_at = 0.0
        self.broken = False
        """It has to be replaced."""

    def submit(self, call: tuple[Any, ...], number: int, late_at: float) -> None:
        self.number, self.late_at = number, late_at
        try:
            self._child.send(pickle.dumps(call, pickle.HIGHEST_PROTOCOL), late_at - _now())
        except OSError:
            self.late_at, self.broken = 0.0, True

    def fileno(self) -> int:
        return self._child.fileno()

    def answer(self) -> Any:
        """None: the process died or was late, or the work raised."""
        try:
            well, found = pickle.loads(self._child.receive(self.late_at - _now()))
        except (OSError, EOFError):
            self.broken = True
            return None
        return found if well else None

    def close(self) -> None:
        self._child.stop()


class _Crew(Generic[_Question, _Answer]):
    def __init__(
        self, work: Callable[[_Question], _Answer], size: int, most_seconds: float
    ) -> None:
        self._work = work
        self._size = size
        self._most_seconds = most_seconds
        self._workers: list[_Worker[_Question]] = []
        self._answered: dict[int, _Answer | None] = {}
        self._asked = 0
        self._given = 0

    def run(self, questions: Iterator[_Question]) -> Iterator[_Answer | None]:
        more = True
        while more or self._given < self._asked:
            while more and (idle := self._idle()) is not None:
                try:
                    question = next(questions)
                except StopIteration:
                    more = False
                    break
                idle.submit((self._work, (question,), {}), self._asked, _now() + self._most_seconds)
                self._asked += 1
            if self._given < self._asked and self._given not in self._answered:
                self._wait()
            while self._given in self._answered:
                yield self._answered.pop(self._given)
                self._given += 1

    def close(self) -> None:
        for worker in self._workers:
            worker.close()

    def _idle(self) -> _Worker[_Question] | None:
        if self._asked - self._given >= self._size * _AHEAD:
            return None
        for worker in self._workers:
            if worker.number is None:
                return worker
        if len(self._workers) < self._size:
            self._workers.append(_Worker())
            return self._workers[-1]
        return None

    def _wait(self) -> None:
        """Wait until a worker answers, dies or is late."""
        busy = [worker for worker in self._workers if worker.number is not None]
        patience = max(min(worker.late_at for worker in busy) - _now(), 0.0)
        ready = readable(busy, patience)
        for worker in busy:
            if worker in ready:
                self._take(worker, worker.answer())
            elif worker.late_at <= _now():
                worker.broken = True
                self._take(worker, None)
            if worker.broken:
                worker.close()
                self._workers.remove(worker)

    def _take(self, worker: _Worker[_Question], answer: _Answer | None) -> None:
        assert worker.number is not None
        self._answered[worker.number] = answer
        worker.number = None


def _now() -> float:
    return time.monotonic()


_Row = Mapping[str, Any]
_Texts = dict[str, str] | str
"""Texts by target, or why the page could not be read."""


class AnchorTexts:
    """Anchor texts of links, read from the archived pages for an export.

    A crawl does not store them: few users want them, and they make reading every page more
    expensive. Links are stored in the order of their pages, so both tables are read in parallel and
    neither is held in memory.

    Finds the anchor texts of links, in order; counts pages that could not be read.
    """

    def __init__(self, collection: Path) -> None:
        self._collection = collection
        self.unreadable = 0
        self.first_trouble = ""

    def read(
        self, links: Iterable[pa.Table], pages: Iterable[_Row]
    ) -> Iterator[tuple[pa.Table, list[str | None]]]:
        """Batches of links of a run with their texts; ``pages`` are all pages of that run."""
        waiting: deque[tuple[pa.Table, list[list[str]], list[str | None]]] = deque()
        places = _Places(pages)

        def questions() -> Iterator[tuple[Path, _Row | None]]:
            for batch in filter(len, links):
                rows = zip(
                    *(batch.column(name).to_pylist() for name in ("site", "source", "target")),
                    strict=True,
                )
                groups = [
                    (page, [row[2] for row in some])
                    for page, some in groupby(rows, key=lambda row: row[:2])
                ]
                waiting.append((batch, [targets for _, targets in groups], []))
                for page, _ in groups:
                    yield self._collection, places.find(*page)

        for texts in answers(_anchors, questions()):
            batch, groups, found = waiting[0]
            found += self._told(texts, groups.pop(0))
            if not groups:
                yield batch, found
                waiting.popleft()

    def _told(self, texts: _Texts | None, targets: list[str]) -> list[str | None]:
        if isinstance(texts, dict):
            return [texts.get(target) for target in targets]
        self.unreadable += 1
        self.first_trouble = self.first_trouble or texts or "reading a page broke off"
        return [None] * len(targets)


class _Places:
    """Finds rows of pages by one pass, in order."""

    def __init__(self, pages: Iterable[_Row]) -> None:
        self._pages = iter(pages)
        self._row: _Row | None = None

    def find(self, site: str, url: str) -> _Row | None:
        while self._row is None or (self._row["site"], self._row["url"]) != (site, url):
            self._row = next(self._pages, None)
            if self._row is None:
                return None
        return self._row


def _anchors(question: tuple[Path, _Row | None]) -> _Texts:
    """Runs in another process."""
    collection, row = question
    if row is None:
        return "the table of pages does not have the page of a link"
    try:
        return StoredPage(collection, row).anchors
    except UnreadablePage as fault:
        return str(fault)
