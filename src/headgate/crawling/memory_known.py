"""What earlier runs know of a site, in memory: the twin of the memory on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from headgate.frontier.hash_set import Hashes
from headgate.frontier.seen import url_hashes
from headgate.model.fetch import Fetched
from headgate.model.page import Earlier

__all__ = ["MemoryKnown"]


@dataclass(slots=True)
class MemoryKnown:
    """A `headgate.crawling.ports.Known`."""

    responses: Mapping[str, tuple[Earlier, Fetched]] = field(default_factory=dict)
    """Archived responses, by URL."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """Of all pages that were fetched and are not gone."""
    never_asked: Mapping[str, int] = field(default_factory=dict)
    """URLs found but never fetched, with their depths."""

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

    def hashes(self) -> Hashes:
        return url_hashes({**self.depths, **self.never_asked})


def _by_depth(depths: Mapping[str, int]) -> Iterator[tuple[int, Sequence[str]]]:
    for depth in sorted(set(depths.values())):
        yield depth, [url for url, found in depths.items() if found == depth]
