"""The focus of one site run: the relevance of its pages, and the scores of their links.

A topic judges pages; a scorer gives links the scores that the frontier goes by. Either may be
missing: with a topic alone the crawl is breadth-first, and the report still has the harvest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from headgate.crawling.page_reader import ReadPage
from headgate.crawling.ports import Scorer
from headgate.focus.signs import LinkSigns, PageSigns
from headgate.focus.topic import RELEVANT, Topic
from headgate.model.run_report import FocusReport

__all__ = ["FocusState", "HarvestCurve", "InPlace"]

_MOST_POINTS = 200


class HarvestCurve(msgspec.Struct):
    """The harvest curve: relevant pages against pages fetched, at no more than 200 points.

    Filled page by page; when there are too many points every second is let go.
    """

    pages: int = 0
    relevant: int = 0
    _points: list[tuple[int, int]] = msgspec.field(default_factory=list)
    _stride: int = 1

    def add(self, relevant: bool) -> None:
        self.pages += 1
        self.relevant += relevant
        if self.pages % self._stride:
            return
        self._points.append((self.pages, self.relevant))
        if len(self._points) > _MOST_POINTS:
            del self._points[::2]
            self._stride *= 2

    @property
    def points(self) -> tuple[tuple[int, int], ...]:
        """(pages, relevant ones among them), the present included.

        >>> curve = HarvestCurve()
        >>> for page in range(3): curve.add(page != 1)
        >>> curve.points
        ((1, 1), (2, 1), (3, 2))
        """
        last = (self.pages, self.relevant)
        kept = self._points if self._points[-1:] == [last] else [*self._points, last]
        return tuple(kept)


# The focus of one run.


_UNKNOWN = ("", "")


class _Order(Protocol):
    def scores(self, page: PageSigns, relevance: float) -> Mapping[str, float]: ...

    def score_url(self, url: str) -> float: ...


class InPlace(msgspec.Struct, frozen=True):
    """One of the built-in orders as a `Scorer`; fast enough for the event loop."""

    order: _Order
    faults: int = 0
    trouble: str = ""

    async def scores(self, page: PageSigns, relevance: float) -> Mapping[str, float]:
        return self.order.scores(page, relevance)

    def score_urls(self, urls: Sequence[str]) -> Mapping[str, float]:
        return {url: self.order.score_url(url) for url in urls}


class Judgement(msgspec.Struct, frozen=True):
    """Of one page."""

    relevance: float | None = None
    scores: Mapping[str, float] | None = None
    """Of its links."""


class FocusState(msgspec.Struct):
    """Judges the pages of a site run in the order they come."""

    order: str
    words: str
    topic: Topic | None
    scorer: Scorer | None
    _curve: HarvestCurve = msgspec.field(default_factory=HarvestCurve)

    async def judge(self, url: str, read: ReadPage, came_with: float) -> Judgement:
        """``came_with`` is the score with which the page was queued."""
        if read.links is None:
            return Judgement()
        relevance = None
        if self.topic is not None:
            relevance = self.topic.relevance(f"{read.title} {read.text}", read.language)
            self._curve.add(relevance >= RELEVANT)
        if self.scorer is None:
            return Judgement(relevance)
        about = read.link_words or {}
        links = [LinkSigns(link, *about.get(link, _UNKNOWN)) for link in read.to_follow]
        page = PageSigns(
            url,
            read.title,
            language=read.language,
            text=read.text,
            links=links,
            came_with=came_with,
        )
        return Judgement(relevance, await self.scorer.scores(page, relevance or 0.0))

    def score_urls(self, urls: Sequence[str]) -> Mapping[str, float] | None:
        """The scores of URLs that were not found on a page."""
        return None if self.scorer is None else self.scorer.score_urls(urls)

    def recall(self, relevance: float | None) -> None:
        """Count a page that an interrupted run had stored."""
        if relevance is not None:
            self._curve.add(relevance >= RELEVANT)

    def report(self) -> FocusReport:
        curve, scorer = self._curve, self.scorer
        return FocusReport(
            self.order,
            self.words,
            pages=curve.pages,
            relevant=curve.relevant,
            curve=curve.points if self.topic is not None else (),
            faults=scorer.faults if scorer else 0,
            trouble=scorer.trouble if scorer else "",
        )
