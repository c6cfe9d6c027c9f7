"""The waiting pages of one server, grouped in *kinds* (section, depth, word).

Each kind is a FIFO; the most promising kind is looked for among all of them after each page, some
microseconds for a usual server.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headgate.surveying.yields import Kind, PageValues

__all__ = ["Asked", "KindQueue"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A page chosen to be fetched."""

    url: str
    kind: Kind
    words: tuple[str, ...]
    hops: int = 0
    """Redirects that led here."""


@dataclass(slots=True)
class KindQueue:
    """No kind in it is empty."""

    _pages: dict[Kind, list[Asked]] = field(default_factory=dict)
    """Lists, because servers are many and pages of a kind few: a deque begins with 600 bytes."""
    _chosen: Kind | None = None
    """The most promising kind; None: to be looked for."""
    _count: int = 0

    def __len__(self) -> int:
        return self._count

    def counts(self) -> Iterable[tuple[Kind, int]]:
        return ((kind, len(pages)) for kind, pages in self._pages.items())

    def put(self, asked: Asked) -> None:
        pages = self._pages.get(asked.kind)
        if pages is not None:
            pages.append(asked)
        else:
            self._pages[asked.kind] = [asked]
            self._chosen = None
        self._count += 1

    def put_back(self, asked: Asked) -> None:
        """It could not be requested yet, because robots.txt was not known; it stays first."""
        self._chosen = asked.kind
        pages = self._pages.get(asked.kind)
        if pages is not None:
            pages.insert(0, asked)
        else:
            self._pages[asked.kind] = [asked]
        self._count += 1

    def best(self, model: PageValues) -> float:
        """The value of the page that `take` would give; 0 when none waits."""
        kind = self._best_kind(model)
        return 0.0 if kind is None else model.value(kind)

    def take(self, model: PageValues) -> Asked:
        """The most promising page; of equals, the one found first."""
        kind = self._best_kind(model)
        assert kind is not None, "asked for a page where none waits"
        pages = self._pages[kind]
        asked = pages.pop(0)
        self._count -= 1
        if not pages:
            del self._pages[kind]
            self._chosen = None
        return asked

    def unsettle(self) -> None:
        """A page was fetched, which changes the value of others in its section."""
        self._chosen = None

    def check(self) -> None:
        assert self._count == sum(map(len, self._pages.values()))
        assert all(self._pages.values())
        assert self._chosen is None or self._chosen in self._pages

    def _best_kind(self, model: PageValues) -> Kind | None:
        """Looks at all kinds after each change: a heap would be out of date, since every page
        fetched changes all values a little, and using it cost a percentage point of load."""
        if self._chosen is None:
            self._chosen = max(self._pages, key=model.within_server, default=None)
        return self._chosen
