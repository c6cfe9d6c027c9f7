"""One server's tree of pages: found pages, waiting pages, and the cost so far.

Bounded: at most ``most_waiting`` URLs wait and ``20 * most_waiting`` are remembered, whatever the
server links to; beyond that, links are counted but not taken. A page's depth is that of the
shortest known path, which may be found after the page.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from xxhash import xxh3_64_intdigest

from headgate.features.survey.strategy.yields import PageKind, PageValues, section_of
from headgate.frontier.politeness import HostPoliteness

__all__ = ["ChosenPage", "ServerState", "ServerTree"]


@dataclass(frozen=True, slots=True)
class ChosenPage:
    """A page chosen to be fetched."""

    url: str
    kind: PageKind
    words: tuple[str, ...]
    hops: int = 0
    """Redirects that led here."""


@dataclass(slots=True)
class KindQueue:
    """The waiting pages of one server, grouped in *kinds* (section, depth, word).

    Each kind is a FIFO; the most promising kind is looked for among all of them after each page,
    some microseconds for a usual server.

    No kind in it is empty.
    """

    _pages: dict[PageKind, list[ChosenPage]] = field(default_factory=dict)
    """Lists, because servers are many and pages of a kind few: a deque begins with 600 bytes."""
    _chosen: PageKind | None = None
    """The most promising kind; None: to be looked for."""
    _count: int = 0

    def __len__(self) -> int:
        return self._count

    def counts(self) -> Iterable[tuple[PageKind, int]]:
        return ((kind, len(pages)) for kind, pages in self._pages.items())

    def put(self, asked: ChosenPage) -> None:
        pages = self._pages.get(asked.kind)
        if pages is not None:
            pages.append(asked)
        else:
            self._pages[asked.kind] = [asked]
            self._chosen = None
        self._count += 1

    def put_back(self, asked: ChosenPage) -> None:
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

    def pop(self, model: PageValues) -> ChosenPage:
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

    def _best_kind(self, model: PageValues) -> PageKind | None:
        """Looks at all kinds after each change: a heap would be out of date, since every page
        fetched changes all values a little, and using it cost a percentage point of load."""
        if self._chosen is None:
            self._chosen = max(self._pages, key=model.within_server, default=None)
        return self._chosen


class LinkDepths:
    """The depth of each page of a server, by the shortest known path.

    Pages are requested in any order, so a page may first be found by a long path. When a shorter
    one is found, all pages that it leads to are less deep as well, perhaps within the limit after
    all.

    Memory: some 100 bytes for each page met, and 4 for each link between pages of one server, up to
    ``most_links``; of pages read after that, links are used once and forgotten.

    Pages are known by digests of their URLs.
    """

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

    def add(self, page: int, depth: int) -> None:
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


class ScriptRule:
    """Which URLs of a server's scripts may be requested (Nakahira 2008).

    Only one URL of each script is fetched. A script is a host and path that was found with a query;
    the first such URL that is fetched uses it up, for other queries and for the bare path. A page
    without a query uses nothing up. Of several queries the first that was found waits; a bare path
    waits, too, and is dropped only if a query was fetched before it.

    One fetch per script. Grows by a string for each script met.

    >>> rule = ScriptRule()
    >>> [rule.met(f"http://a/{rest}") for rest in ("s", "s?p=1", "s?p=2", "t")]
    [True, True, False, True]
    >>> rule.fetched("http://a/s?p=1")
    >>> rule.used_up("http://a/s"), rule.used_up("http://a/t"), rule.met("http://a/s")
    (True, False, False)
    """

    __slots__ = ("_used", "scripts")

    def __init__(self) -> None:
        self.scripts: dict[str, int] = {}
        """Host and path of each script, with the number of its URLs found."""
        self._used: dict[str, None] = {}
        """A dict because most servers have none: an empty set takes three times as much."""

    def met(self, url: str) -> bool:
        """A URL was found; returns whether it should wait."""
        key = _script(url)
        times = self.scripts.get(key, 0)
        if times or "?" in url:
            self.scripts[key] = times + 1
        return key not in self._used if "?" not in url else not times

    def knows(self, url: str) -> bool:
        """Whether it belongs to a known script."""
        return _script(url) in self.scripts

    def glimpsed(self, url: str) -> bool:
        """A URL with a query that is too deep; returns whether it is its script's first."""
        key = f"?{_script(url)}"
        first = key not in self._used
        self._used[key] = None
        return first

    def used_up(self, url: str) -> bool:
        """Whether its script was fetched meanwhile, under another URL."""
        return _script(url) in self._used

    def fetched(self, url: str) -> None:
        if "?" in url:
            self._used[_script(url)] = None

    def redirected(self, url: str) -> None:
        """The same URL has to be fetched once more, under another scheme."""
        self._used.pop(_script(url), None)


def _script(url: str) -> str:
    """Host and path."""
    return url.partition("?")[0].partition("://")[2]


# The tree.


_REMEMBERED_PER_WAITING = 20
_LINKS_PER_WAITING = 100
_MOST_HOPS = 5


class ServerState(StrEnum):
    WAITING = "waiting"
    """Never requested."""
    OPEN = "open"
    DONE = "done"
    """Nothing left that is worth a request."""
    CAPPED = "capped"
    """Its limits are used up."""
    GIVEN_UP = "given-up"
    """It does not answer, or refuses."""


@dataclass(slots=True)
class ServerTree:
    """``number`` is its index in the survey; the start URL has depth 0."""

    number: int
    start: str
    domain: str
    round: int
    """0 for the user's list, 1 for what those linked to, ..."""
    pace: HostPoliteness
    most_waiting: int
    state: ServerState = ServerState.WAITING
    reason: str = ""
    requests: int = 0
    wire_bytes: int = 0
    pages: int = 0
    """Read so far."""
    new_hosts: int = 0
    cut: int = 0
    """Links dropped because too many were waiting or known."""
    rule: ScriptRule = field(default_factory=ScriptRule)
    beyond: int = 0
    """Pages seen one level below the depth limit, which are not followed."""
    _depths: LinkDepths = field(init=False)
    """Depths of all pages found."""
    _glimpsed: dict[int, str] = field(default_factory=dict)
    """URLs that are too deep by all known paths."""
    queue: KindQueue = field(default_factory=KindQueue)
    """Pages to be asked for."""

    def __post_init__(self) -> None:
        self._forget()

    @property
    def waiting(self) -> int:
        """URLs to be asked for."""
        return len(self.queue)

    def add(self, url: str, depth: int, anchor: str, model: PageValues, hops: int = 0) -> bool:
        """A link to one of this server's pages; returns whether it is new and may be requested."""
        digest = _digest(url)
        glimpsed = digest in self._glimpsed
        if digest in self._depths and not glimpsed:
            return False
        if len(self.queue) >= self.most_waiting or len(self._depths) >= self._most_met:
            self.cut += 1
            return False
        if glimpsed:
            del self._glimpsed[digest]
            self.beyond -= 1
        else:
            self._depths.add(digest, depth)
        if not self.rule.met(url):
            return False
        self._put(url, depth, anchor, model, hops)
        return True

    def glimpse(self, url: str, depth: int) -> bool:
        """A link that is too deep; returns whether it is new. Only one counts per script."""
        digest = _digest(url)
        if (
            digest in self._depths
            or self.beyond >= self.most_waiting
            or len(self._depths) >= self._most_met
            or self.rule.knows(url)
        ):
            return False
        if "?" in url and not self.rule.glimpsed(url):
            return False
        self._depths.add(digest, depth)
        self._glimpsed[digest] = url
        self.beyond += 1
        return True

    def read(self, asked: ChosenPage, urls: Iterable[str], deepest: int, model: PageValues) -> None:
        """A page links there; pages that turn out to be within the depth limit are added."""
        fallen = self._depths.read(_digest(asked.url), map(_digest, urls))
        self._take_glimpsed(fallen, deepest, model)

    def follow(self, asked: ChosenPage, target: str, deepest: int, model: PageValues) -> None:
        """A redirect within the server; if only the scheme changes, the script is the same."""
        if asked.hops >= _MOST_HOPS:
            return
        hops, depth, digest = asked.hops + 1, asked.kind.depth, _digest(target)
        if not _differ_by_scheme(asked.url, target):
            self.add(target, depth, "", model, hops)
        elif digest not in self._depths:
            self._depths.add(digest, depth)
            self.rule.redirected(target)
            self._put(target, depth, "", model, hops)
        fallen = self._depths.read(_digest(asked.url), (digest,), moved=True)
        self._take_glimpsed(fallen, deepest, model)

    def as_known_now(self, asked: ChosenPage) -> ChosenPage:
        """With its depth by the shortest known path."""
        depth = self._depths.get(_digest(asked.url), asked.kind.depth)
        if depth == asked.kind.depth:
            return asked
        return replace(asked, kind=asked.kind._replace(depth=depth))

    def pop(self, model: PageValues) -> ChosenPage:
        """The most promising page; of equals, the one found first."""
        return self.as_known_now(self.queue.pop(model))

    def close(self, state: ServerState, reason: str = "") -> None:
        """No more requests; waiting pages are dropped, and their memory freed."""
        self.state, self.reason = state, self.reason or reason
        self.queue = KindQueue()
        self._forget()
        self._glimpsed.clear()

    def check(self) -> None:
        self.queue.check()
        assert len(self.queue) <= self.most_waiting

    def _put(self, url: str, depth: int, anchor: str, model: PageValues, hops: int) -> None:
        word, words = model.signs(url, anchor)
        kind = PageKind(self.number, section_of(url), depth, word)
        self.queue.put(ChosenPage(url, kind, words, hops))

    def _take_glimpsed(self, fallen: Iterable[int], deepest: int, model: PageValues) -> None:
        for digest in fallen:
            url = self._glimpsed.get(digest)
            if url is not None and self._depths[digest] <= deepest:
                self.add(url, self._depths[digest], "", model)

    def _forget(self) -> None:
        self._depths = LinkDepths(_LINKS_PER_WAITING * self.most_waiting)

    @property
    def _most_met(self) -> int:
        return _REMEMBERED_PER_WAITING * self.most_waiting


def _digest(url: str) -> int:
    return xxh3_64_intdigest(url.encode())


def _differ_by_scheme(url: str, other: str) -> bool:
    return url != other and url.partition("://")[2] == other.partition("://")[2]
