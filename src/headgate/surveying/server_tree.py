"""One server's tree of pages: found pages, waiting pages, and the cost so far.

Bounded: at most ``most_waiting`` URLs wait and ``20 * most_waiting`` are remembered, whatever the
server links to; beyond that, links are counted but not taken. A page's depth is that of the
shortest known path, which may be found after the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from xxhash import xxh3_64_intdigest

from headgate.frontier.pacing import HostPace
from headgate.surveying.kind_queue import Asked, KindQueue
from headgate.surveying.link_depths import LinkDepths
from headgate.surveying.page_kinds import section_of
from headgate.surveying.scripts import ScriptRule
from headgate.surveying.yields import Kind, PageValues

__all__ = ["ServerState", "ServerTree"]

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
    pace: HostPace
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

    def meet(self, url: str, depth: int, anchor: str, model: PageValues, hops: int = 0) -> bool:
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
            self._depths.meet(digest, depth)
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
        self._depths.meet(digest, depth)
        self._glimpsed[digest] = url
        self.beyond += 1
        return True

    def read(self, asked: Asked, urls: Iterable[str], deepest: int, model: PageValues) -> None:
        """A page links there; pages that turn out to be within the depth limit are added."""
        fallen = self._depths.read(_digest(asked.url), map(_digest, urls))
        self._take_glimpsed(fallen, deepest, model)

    def follow(self, asked: Asked, target: str, deepest: int, model: PageValues) -> None:
        """A redirect within the server; if only the scheme changes, the script is the same."""
        if asked.hops >= _MOST_HOPS:
            return
        hops, depth, digest = asked.hops + 1, asked.kind.depth, _digest(target)
        if not _differ_by_scheme(asked.url, target):
            self.meet(target, depth, "", model, hops)
        elif digest not in self._depths:
            self._depths.meet(digest, depth)
            self.rule.redirected(target)
            self._put(target, depth, "", model, hops)
        fallen = self._depths.read(_digest(asked.url), (digest,), moved=True)
        self._take_glimpsed(fallen, deepest, model)

    def as_known_now(self, asked: Asked) -> Asked:
        """With its depth by the shortest known path."""
        depth = self._depths.get(_digest(asked.url), asked.kind.depth)
        if depth == asked.kind.depth:
            return asked
        return replace(asked, kind=asked.kind._replace(depth=depth))

    def take(self, model: PageValues) -> Asked:
        """The most promising page; of equals, the one found first."""
        return self.as_known_now(self.queue.take(model))

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
        kind = Kind(self.number, section_of(url), depth, word)
        self.queue.put(Asked(url, kind, words, hops))

    def _take_glimpsed(self, fallen: Iterable[int], deepest: int, model: PageValues) -> None:
        for digest in fallen:
            url = self._glimpsed.get(digest)
            if url is not None and self._depths[digest] <= deepest:
                self.meet(url, self._depths[digest], "", model)

    def _forget(self) -> None:
        self._depths = LinkDepths(_LINKS_PER_WAITING * self.most_waiting)

    @property
    def _most_met(self) -> int:
        return _REMEMBERED_PER_WAITING * self.most_waiting


def _digest(url: str) -> int:
    return xxh3_64_intdigest(url.encode())


def _differ_by_scheme(url: str, other: str) -> bool:
    return url != other and url.partition("://")[2] == other.partition("://")[2]
