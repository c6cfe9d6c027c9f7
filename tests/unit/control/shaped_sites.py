"""Sites of simple shapes, crawled breadth first, and a real one: what a crawl of them reports."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from headgate.crawling.progress import Progress

__all__ = ["chain", "crawled", "python_documentation", "star", "tree"]

Links = Callable[[int], range]


def star(pages: int) -> Links:
    """The seed links to all others."""
    return lambda page: range(1, pages) if page == 0 else range(0)


def chain(pages: int) -> Links:
    """Every page links to the next."""
    return lambda page: range(page + 1, min(page + 2, pages))


def tree(pages: int, children: int) -> Links:
    """Every page links to so many new ones."""
    return lambda page: range(
        min(children * page + 1, pages), min(children * (page + 1) + 1, pages)
    )


def crawled(
    links: Links, page_bytes: Callable[[int], int] = lambda _: 10_000
) -> Iterator[Progress]:
    """The same report again and again, brought up to date after each page."""
    report = Progress("site", to_do=1)
    report.growth.found(0, 1)
    waiting = deque([(0, 0)])
    while waiting:
        page, depth = waiting.popleft()
        new = links(page)
        waiting.extend((child, depth + 1) for child in new)
        report.growth.found(depth + 1, len(new))
        report.growth.settle(depth, len(new))
        report.growth.came(depth, page_bytes(page))
        report.fetches += 1
        report.wire_bytes += page_bytes(page)
        report.to_do = len(waiting)
        yield report


def python_documentation() -> Iterator[Progress]:
    """The same of Python's documentation as it was crawled: 51 MB in 528 pages, the first of them
    small and poor in links."""
    report = Progress("site", to_do=1)
    report.growth.found(0, 1)
    for line in Path(__file__).with_name("python_documentation.txt").read_text().splitlines()[1:]:
        depth, brought, wire_bytes = map(int, line.split())
        report.growth.found(depth + 1, brought)
        report.growth.settle(depth, brought)
        report.growth.came(depth, wire_bytes)
        report.fetches += 1
        report.wire_bytes += wire_bytes
        report.to_do += brought - 1
        yield report
