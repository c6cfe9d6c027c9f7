"""How real sites grew while they were crawled, step by step: recorded once, estimated from often.

A `Curve` has all that `SizeWatch` goes by, so that what it would have said of a site, told this or
that beforehand, is reckoned in milliseconds after the crawl.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from headgate.crawling.progress import Progress
from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.model.page import Page

__all__ = ["Curve", "Step", "load", "save"]

_LEADING = (UrlOutcome.PAGE, UrlOutcome.DUPLICATE)


class Step(msgspec.Struct, frozen=True, array_like=True):
    """A journal entry, and what the run had then."""

    outcome: UrlOutcome
    depth: int
    """The entry's: of the URLs found by a page."""
    found: int
    page_bytes: int | None = None
    """None: it came without a page."""
    to_do: int = 0
    wire_bytes: int = 0
    under_way_bytes: int = 0
    announced_bytes: int = 0
    announced_fetches: int = 0

    @classmethod
    def of(cls, entry: JournalEntry, page: Page | None, report: Progress) -> Step:
        return cls(
            entry.outcome,
            entry.depth,
            len(entry.found),
            None if page is None else page.outcome.wire_bytes,
            report.to_do,
            report.wire_bytes,
            report.under_way_bytes,
            report.announced_bytes,
            report.announced_fetches,
        )


class Curve(msgspec.Struct, frozen=True):
    """One site's crawl."""

    name: str
    wire_bytes: int
    """Of all of it: the truth."""
    steps: list[Step]

    @property
    def pages(self) -> int:
        return sum(step.page_bytes is not None for step in self.steps)

    def reports(self) -> Iterator[Progress]:
        """After each page, the same report brought up to date."""
        report = Progress(self.name)
        for step in self.steps:
            found = [""] * step.found
            report.growth.record(JournalEntry(step.outcome, found=found, depth=step.depth))
            if step.page_bytes is None:
                continue
            depth = step.depth - (step.outcome in _LEADING)
            report.growth.came(depth, step.page_bytes)
            report.fetches += 1
            report.to_do, report.wire_bytes = step.to_do, step.wire_bytes
            report.under_way_bytes = step.under_way_bytes
            report.announced_bytes = step.announced_bytes
            report.announced_fetches = step.announced_fetches
            yield report


def save(curves: Sequence[Curve], file: Path) -> None:
    file.write_bytes(msgspec.msgpack.encode(curves))


def load(file: Path) -> list[Curve]:
    return msgspec.msgpack.decode(file.read_bytes(), type=list[Curve])
