"""Links from one kept site to another: found, passed on once, taken in by their site."""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from xxhash import xxh3_64_intdigest

from headgate.frontier.scope import Scope, host_key, is_web_url, names_host
from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.storage.atomic_write import write_soon, write_whole
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.merging import merge
from headgate.storage.memory.page import Sighting
from headgate.storage.memory.site import SiteMemory
from headgate.storage.safe_files import NameOf, make_own_folder, opened, own_files
from headgate.storage.warc.writer import file_safe

__all__ = [
    "Channels",
    "KnownLinks",
    "LinkExchange",
    "give",
    "leave_links",
    "put_given",
    "take_links",
]


# Links from one site to another: passed to the site they belong to, once each.
#
# As channels in SARSS: a visit reports outside links that were not reported before (it has digests
# of the known ones), and each is passed on to the site that it belongs to, as a further seed.


_MOST_LINKS = 50_000
"""Eight bytes each: the 400 kB of the paper."""


class Channels:
    """Finds the site that a URL belongs to."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._on_host: defaultdict[str, list[tuple[str, Scope]]] = defaultdict(list)
        self._anywhere: list[tuple[str, Scope]] = []
        """Sites with an include expression that contains a host."""
        for site in sites:
            named = site.name, Scope.for_site(site)
            for host in {host_key(seed) for seed in site.seeds if is_web_url(seed)}:
                self._on_host[host].append(named)
            if any(map(names_host, site.include)):
                self._anywhere.append(named)

    def site_of(self, url: str) -> str | None:
        """The first site whose scope contains the URL; None: no site's does.

        >>> docs = Site("docs", seeds=("https://a.org/docs/",), include=("/docs/",))
        >>> found = Channels([docs, Site("b", seeds=("https://b.org/",))])
        >>> found.site_of("https://a.org/docs/x"), found.site_of("https://a.org/"), found.site_of("http://b.org/y")
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
            owner = self.site_of(url)
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


_FOLDER = "links"
_MOST_OF_VISIT, _MOST_GIVEN = 10_000, 10_000
_MOST_BYTES = 50_000_000


class FoundLinks(msgspec.Struct, frozen=True):
    """Links of a kept site to other kept sites, on their way there.

    A visit writes the links that no earlier visit reported to a file in the folder ``links`` (the
    digests of reported ones are in ``sites/SITE.links``). The keeper passes each on to its site, in
    ``sites/SITE.given``, and adds them to the site's memory while no visit runs, as known pages
    that were never requested. Each step is idempotent, and repeated after a crash.
    """

    site: str
    """The site whose pages contain them."""
    urls: tuple[str, ...]


def leave_links(
    run: RunFolder, owner: Owner, site: Site, read: Callable[[], Iterable[Commit]]
) -> None:
    """Save the new links of a visit that has ended."""
    collection = Collection(run.collection)
    digests = _beside(collection, owner.site, "links")
    known = KnownLinks.from_bytes(_read(digests))
    urls = known.new(_outside(Scope.for_site(site), read()), _MOST_OF_VISIT)
    if not urls:
        return
    folder = run.collection / _FOLDER
    make_own_folder(folder)
    found = msgspec.json.encode(FoundLinks(owner.site, tuple(urls)))
    write_soon(folder / f"{file_safe(owner.site)}~{owner.visit}.json", found)
    make_own_folder(collection.memories)
    write_soon(digests, known.to_bytes())


def take_links(collection: Path) -> Iterator[FoundLinks]:
    """All saved links; each file is deleted when the next is requested."""
    for path in own_files(collection / _FOLDER, NameOf.OF_VISIT):
        with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
            yield msgspec.json.decode(_read(path), type=FoundLinks)
        path.unlink(missing_ok=True)


def give(collection: Collection, site: str, urls: Sequence[str]) -> None:
    """Store links for `put_given`. Beyond ten thousand they are dropped: the pages that link to
    them will be visited again."""
    path = _beside(collection, site, "given")
    waiting = dict.fromkeys((*_lines(path), *urls))
    write_whole(path, "\n".join(list(waiting)[:_MOST_GIVEN]).encode("utf-8", "replace"))


def put_given(collection: Collection, site: str, now: float) -> int:
    """Add them to the memory of a site that was visited before and is not being visited now;
    returns how many are new. Raises `DamagedMemory`."""
    path = _beside(collection, site, "given")
    urls = _lines(path)
    if not urls:
        return 0
    memory = collection.memory(site)
    with SiteMemory.checked(memory, site) as old:
        new = [Sighting(url, 0, now) for url in urls if old.find(url) is None]
        if new:
            merge(memory, old, old.summary.run, lambda _: new)
    path.unlink()
    return len(new)


def _outside(scope: Scope, commits: Iterable[Commit]) -> Iterator[str]:
    for _, _, links in commits:
        for page in links:
            targets = page.targets.split("\n")
            inside = set(scope.inside(scope.candidates(targets)))
            yield from (url for url in targets if url not in inside and is_web_url(url))


def _beside(collection: Collection, site: str, kind: str) -> Path:
    return collection.memory(site).with_suffix(f".{kind}")


def _lines(path: Path) -> list[str]:
    return _read(path).decode("utf-8", "replace").split()


def _read(path: Path) -> bytes:
    try:
        with opened(path) as file:
            return file.read(_MOST_BYTES)
    except (OSError, UserMistake):
        return b""


class LinkExchange:
    """Passes links from one kept site to another to the site that they belong to.

    As channels in SARSS: a visit reports new links to other sites, and each becomes a further page
    of its site, due at once. robots.txt and the site's ``exclude`` apply to such links, too.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._sites: tuple[str, ...] = ()
        self._channels = Channels(())
        self._waiting: set[str] = set()
        """Sites with links that are not in their memories yet."""

    def set_sites(self, sites: Sequence[Site]) -> None:
        """Use these sites from now on; links may be waiting from before."""
        self._sites = tuple(site.name for site in sites)
        self._channels = Channels(sites)
        self._waiting = set(self._sites)

    def pass_on(self, may_take: Callable[[str], bool], now: float) -> list[str]:
        """Distribute the links that visits have left; return sites with new pages. ``may_take``:
        whether a site was visited before and is not being visited now."""
        for found in take_links(self._collection.path):
            given = self._channels.given_out(found.urls, found.site)
            for site, urls in given.items():
                give(self._collection, site, urls)
                self._waiting.add(site)
        return [site for site in sorted(self._waiting) if may_take(site) and self._put(site, now)]

    def _put(self, site: str, now: float) -> int:
        """Merge waiting links into a site's memory; return how many are new."""
        self._waiting.discard(site)
        try:
            return put_given(self._collection, site, now)
        except DamagedMemory:
            return 0  # repaired at the site's next visit; the links wait for the next start
