"""The depth of each page that a survey requested, by the links it found.

During a survey, a page may be requested before the shortest path to it is known, and the log has
the depth of the path taken. When the log is complete, a breadth-first search from the starts gives
each page its depth. Pages known from an earlier survey that no link leads to keep their depth.

Memory: some 200 bytes for each page asked for, and 4 for each link between two of one server.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator

from xxhash import xxh3_64_intdigest

from headgate.surveying.entries import Ending, SurveyEntry

__all__ = ["Log", "LogDepths"]

Log = Callable[[], Iterable[SurveyEntry]]
"""Returns a survey's entries, at each call."""


class LogDepths:
    """Reads the log twice: pages first, since only links between requested pages matter."""

    def __init__(self, log: Log) -> None:
        self._numbers: dict[int, int] = {}
        asked = array("B")
        for entry in _pages(log):
            page = _digest(entry.domain, entry.url)
            if page not in self._numbers:
                self._numbers[page] = len(asked)
                asked.append(entry.depth)
        links: list[array[int] | None] = [None] * len(asked)
        moved: set[int] = set()
        for entry in _pages(log):
            number = self._numbers[_digest(entry.domain, entry.url)]
            targets = (self._numbers.get(_digest(entry.domain, url)) for url in _targets(entry))
            links[number] = array("I", (target for target in targets if target is not None))
            if entry.ending is Ending.REDIRECT:
                moved.add(number)
        self._depths = _breadth_first(asked, links, moved)

    def of(self, entry: SurveyEntry) -> int:
        """robots.txt has the depth of the start."""
        number = self._numbers.get(_digest(entry.domain, entry.url))
        return entry.depth if number is None else self._depths[number]


def _breadth_first(
    asked: array[int], links: list[array[int] | None], moved: set[int]
) -> array[int]:
    """From the starts; then from pages without links to them, at their logged depth."""
    unknown = 255
    depths = array("B", [unknown]) * len(asked)
    for by_links in (True, False):
        levels: list[list[int]] = [[] for _ in range(unknown + 1)]
        for number, depth in enumerate(asked):
            if depths[number] == unknown and (depth == 0 or not by_links):
                levels[depth].append(number)
        for depth, level in enumerate(levels[:-1]):
            for number in level:  # a redirect adds to it during the loop
                if depths[number] == unknown:
                    depths[number] = depth
                    below = level if number in moved else levels[depth + 1]
                    below.extend(links[number] or ())
    return depths


def _pages(log: Log) -> Iterator[SurveyEntry]:
    return (entry for entry in log() if entry.ending is not Ending.ROBOTS)


def _targets(entry: SurveyEntry) -> Iterator[str]:
    if entry.ending is Ending.REDIRECT:
        yield entry.detail
    for url, _ in entry.links:
        yield url


def _digest(domain: str, url: str) -> int:
    return xxh3_64_intdigest(f"{domain} {url}".encode())
