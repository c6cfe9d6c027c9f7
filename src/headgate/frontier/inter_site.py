"""Links from one site to another: passed to the site they belong to, once each.

As channels in SARSS: a visit reports outside links that were not reported before (it has digests of
the known ones), and each is passed on to the site that it belongs to, as a further seed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xxhash import xxh3_64_intdigest

from headgate.frontier.scope import Scope, is_web_url, names_host
from headgate.frontier.site_parts import host_key
from headgate.model.site import Site

__all__ = ["Channels", "KnownLinks"]

_MOST_LINKS = 50_000
"""Eight bytes each: the 400 kB of the paper."""


class Channels:
    """Finds the site that a URL belongs to."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._on_host: defaultdict[str, list[tuple[str, Scope]]] = defaultdict(list)
        self._anywhere: list[tuple[str, Scope]] = []
        """Sites with an include expression that contains a host."""
        for site in sites:
            named = site.name, Scope.of(site)
            for host in {host_key(seed) for seed in site.seeds if is_web_url(seed)}:
                self._on_host[host].append(named)
            if any(map(names_host, site.include)):
                self._anywhere.append(named)

    def of(self, url: str) -> str | None:
        """The first site whose scope contains the URL; None: no site's does.

        >>> docs = Site("docs", seeds=("https://a.org/docs/",), include=("/docs/",))
        >>> found = Channels([docs, Site("b", seeds=("https://b.org/",))])
        >>> found.of("https://a.org/docs/x"), found.of("https://a.org/"), found.of("http://b.org/y")
        ('docs', None, 'b')
        """
        if not is_web_url(url):
            return None
        here: list[tuple[str, Scope]] = self._on_host.get(host_key(url), [])
        for name, scope in here + self._anywhere:
            if scope.inside(scope.candidates([url])):
                return name
        return None

    def given_out(self, urls: Sequence[str], found_by: str) -> dict[str, list[str]]:
        """The URLs that belong to other sites than ``found_by``, by site."""
        given: defaultdict[str, list[str]] = defaultdict(list)
        for url in urls:
            owner = self.of(url)
            if owner is not None and owner != found_by:
                given[owner].append(url)
        return dict(given)


@dataclass(slots=True)
class KnownLinks:
    """Digests of outside links that a site has reported; beyond 50,000 the oldest are dropped."""

    _digests: dict[int, None] = field(default_factory=dict)

    @classmethod
    def from_bytes(cls, packed: bytes) -> KnownLinks:
        numbers = memoryview(packed[: len(packed) // 8 * 8])
        words = (numbers[at : at + 8] for at in range(0, len(numbers), 8))
        return cls(dict.fromkeys(int.from_bytes(word, "little") for word in words))

    def to_bytes(self) -> bytes:
        return b"".join(digest.to_bytes(8, "little") for digest in self._digests)

    def __len__(self) -> int:
        return len(self._digests)

    def new(self, urls: Iterable[str], most: float = math.inf) -> list[str]:
        """Links not reported before, without repetition; from now on they are known. Those beyond
        ``most`` are not, and come next time.

        >>> links = KnownLinks()
        >>> links.new(["https://b.org/", "https://b.org/", "https://c.org/"])
        ['https://b.org/', 'https://c.org/']
        >>> links.new(["https://c.org/", "https://d.org/"])
        ['https://d.org/']
        >>> links.new(["https://e.org/", "https://f.org/"], most=1), links.new(["https://f.org/"])
        (['https://e.org/'], ['https://f.org/'])
        """
        found: list[str] = []
        for url in urls:
            if len(found) >= most:
                break
            digest = xxh3_64_intdigest(url.encode())
            if digest not in self._digests:
                self._digests[digest] = None
                found.append(url)
        for oldest in list(self._digests)[: max(len(self._digests) - _MOST_LINKS, 0)]:
            del self._digests[oldest]
        return found
