"""The depth of each page of a server, by the shortest known path.

Pages are requested in any order, so a page may first be found by a long path. When a shorter one is
found, all pages that it leads to are less deep as well, perhaps within the limit after all.

Memory: some 100 bytes for each page met, and 4 for each link between pages of one server, up to
``most_links``; of pages read after that, links are used once and forgotten.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

__all__ = ["LinkDepths"]


class LinkDepths:
    """Pages are known by digests of their URLs."""

    __slots__ = ("_depths", "_digests", "_links", "_most_links", "_moved", "_numbers", "_stored")

    def __init__(self, most_links: int) -> None:
        self._most_links = most_links
        self._numbers: dict[int, int] = {}
        self._digests = array("Q")
        self._depths = array("B")
        self._links: dict[int, array[int]] = {}
        """Of pages that were read: numbers of the pages they link to."""
        self._moved: dict[int, None] = {}
        """Pages that redirect: where they lead lies no deeper."""
        self._stored = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, page: int) -> bool:
        return page in self._numbers

    def __getitem__(self, page: int) -> int:
        return self._depths[self._numbers[page]]

    def get(self, page: int, default: int) -> int:
        number = self._numbers.get(page)
        return default if number is None else self._depths[number]

    def meet(self, page: int, depth: int) -> None:
        """Add a new page."""
        self._numbers[page] = len(self._digests)
        self._digests.append(page)
        self._depths.append(depth)

    def read(self, page: int, targets: Iterable[int], *, moved: bool = False) -> list[int]:
        """Add the links of a page, or its redirect; returns the pages that turn out to be less
        deep."""
        number = self._numbers[page]
        known = (self._numbers.get(target) for target in targets)
        links = array("I", (target for target in known if target is not None))
        if moved:
            self._moved[number] = None
        if links and self._stored + len(links) <= self._most_links:
            self._links[number] = links
            self._stored += len(links)
        fallen = self._lower(links, self._depths[number] + (not moved))
        for each in fallen:  # grows during the loop
            fallen += self._lower(
                self._links.get(each, ()), self._depths[each] + (each not in self._moved)
            )
        return [self._digests[each] for each in dict.fromkeys(fallen)]

    def _lower(self, pages: Iterable[int], depth: int) -> list[int]:
        fallen = [page for page in pages if self._depths[page] > depth]
        for page in fallen:
            self._depths[page] = depth
        return fallen
