"""The results of a survey: facts on each server, each link between hosts, and each depth.

Made by reading the log entry by entry, after the depths of its pages were found (`LogDepths`).
Memory: some 500 bytes per server, 200 per pair of server and host it links to, and 200 per page.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from xxhash import xxh3_64_intdigest

from headgate.features.survey.strategy.entries import RequestEnding, RobotsStance, SurveyEntry
from headgate.features.survey.strategy.rules import is_internal, parents
from headgate.features.survey.strategy.server_tree import ServerState, ServerTree
from headgate.model.fetch import TlsFacts
from headgate.reading.urls import host

__all__ = ["DepthFacts", "LogDepths", "ServerFacts", "SurveyFacts"]

_CAME = (RequestEnding.PAGE, RequestEnding.UNCHANGED)
_SCRIPTS_NAMED = 20
_MOST_POINTS = 400
_SENT_AT_ONCE_BYTES = 14_600
"""A server sends ten packets before it waits for an acknowledgement (RFC 6928): the time for such a
body says nothing about the server's speed."""


@dataclass(slots=True)
class LinkFacts:
    """Links from one server to one host."""

    links: int = 0
    pages: int = 0
    source: str = ""
    """A page that has one."""
    target: str = ""


@dataclass(slots=True)
class ServerFacts:
    """One server."""

    domain: str
    start: str
    round: int
    state: str = ServerState.WAITING.value
    reason: str = ""
    """Why it is unreachable, or why no more was requested."""
    address: str = ""
    moved_to: str = ""
    """Where its first page redirects to, if that is another server."""
    https: bool = False
    tls: TlsFacts | None = None
    """Of the first connection by https."""
    tls_error: str = ""
    """Of the first handshake that failed."""
    robots: RobotsStance | None = None
    """Of the first origin asked."""
    crawl_delay: float = 0.0
    """Seconds; the longest that an origin of it asks for."""
    software: str = ""
    requests: int = 0
    wire_bytes: int = 0
    errors: int = 0
    answers: int = 0
    first_byte_seconds: float = 0.0
    """Sum over answers."""
    body_bytes: int = 0
    """Of bodies that are longer than what a server sends at once."""
    body_seconds: float = 0.0
    """Of these, from the first byte to the last, summed."""
    pages_by_depth: list[int] = field(default_factory=list)
    languages: Counter[str] = field(default_factory=Counter)
    charsets: Counter[str] = field(default_factory=Counter)
    links: dict[str, LinkFacts] = field(default_factory=dict)
    scripts: list[tuple[str, int]] = field(default_factory=list)
    """Scripts found, with the number of their URLs; only those with the most."""
    script_count: int = 0
    cut: int = 0

    @property
    def reachable(self) -> bool:
        return self.answers > 0

    @property
    def pages(self) -> int:
        return sum(self.pages_by_depth)

    @property
    def response_seconds(self) -> float | None:
        """None when it never answered."""
        return self.first_byte_seconds / self.answers if self.answers else None

    @property
    def transfer_rate(self) -> float | None:
        """Bytes per second during long bodies; None: there were none."""
        return self.body_bytes / self.body_seconds if self.body_seconds > 0 else None


@dataclass(slots=True)
class DepthFacts:
    """One depth level over all servers."""

    requests: int = 0
    pages: int = 0
    wire_bytes: int = 0
    new_hosts: int = 0
    """Hosts that no page less deep links to."""


@dataclass(slots=True)
class SurveyFacts:
    """All of it."""

    servers: dict[str, ServerFacts] = field(default_factory=dict)
    depths: list[DepthFacts] = field(default_factory=list)
    curve: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    """(requests so far, hosts found by then), some hundred points."""
    unchanged: int = 0
    """Pages unchanged since an earlier survey."""
    _requests: int = 0
    _step: int = 1
    _least_depth: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_log(cls, log: Log, trees: Iterable[ServerTree] = ()) -> SurveyFacts:
        facts = cls()
        depths = LogDepths(log)
        for entry in log():
            facts.add(entry, depths.depth(entry))
        if facts.curve[-1][0] < facts._requests:
            facts.curve.append((facts._requests, len(facts._least_depth)))
        for tree in trees:
            facts._close(tree)
        for depth in facts._least_depth.values():
            facts._level(depth).new_hosts += 1
        return facts

    @property
    def hosts(self) -> set[str]:
        """External hosts found."""
        return set(self._least_depth)

    def node_of(self, name: str) -> str:
        """The node of a host in the graph: its server if that was surveyed, else the host
        itself."""
        return next((domain for domain in parents(name) if domain in self.servers), name)

    def add(self, entry: SurveyEntry, depth: int) -> None:
        """Add a request. ``depth``: the page's depth, which may not have been known when the entry
        was written."""
        server = self._server(entry.domain, entry.start, entry.round)
        server.requests += entry.requests
        server.wire_bytes += entry.wire_bytes
        level = self._level(depth)
        level.requests += entry.requests
        level.wire_bytes += entry.wire_bytes
        if entry.ending is RequestEnding.FAILURE or entry.status >= 400:
            server.errors += entry.ending is not RequestEnding.ROBOTS
        server.tls = server.tls or entry.tls
        server.tls_error = server.tls_error or entry.tls_error
        server.robots = server.robots or entry.robots
        server.crawl_delay = max(server.crawl_delay, entry.crawl_delay)
        if entry.status:
            self._answered(server, entry)
        if entry.ending in _CAME:
            level.pages += 1
            self.unchanged += entry.ending is RequestEnding.UNCHANGED
            self._page(server, entry, depth)
        elif entry.ending is RequestEnding.REDIRECT and entry.detail:
            self._redirect(server, entry, depth)
        self._requests += entry.requests
        if self._requests >= self.curve[-1][0] + self._step:
            self.curve.append((self._requests, len(self._least_depth)))
            if len(self.curve) > _MOST_POINTS:
                self.curve = self.curve[::2]
                self._step *= 2

    def _server(self, domain: str, start: str, round_: int) -> ServerFacts:
        found = self.servers.get(domain)
        if found is None:
            found = self.servers[domain] = ServerFacts(domain, start, round_)
        return found

    def _level(self, depth: int) -> DepthFacts:
        while len(self.depths) <= depth:
            self.depths.append(DepthFacts())
        return self.depths[depth]

    def _answered(self, server: ServerFacts, entry: SurveyEntry) -> None:
        server.answers += 1
        server.first_byte_seconds += entry.first_byte_seconds
        if entry.payload_bytes > _SENT_AT_ONCE_BYTES:
            server.body_bytes += entry.payload_bytes
            server.body_seconds += max(entry.seconds - entry.first_byte_seconds, 0.0)
        server.address = server.address or entry.address
        server.software = server.software or entry.software
        server.https |= entry.url.startswith("https:")

    def _page(self, server: ServerFacts, entry: SurveyEntry, depth: int) -> None:
        while len(server.pages_by_depth) <= depth:
            server.pages_by_depth.append(0)
        server.pages_by_depth[depth] += 1
        if entry.language:
            server.languages[entry.language.lower()] += 1
        if entry.charset:
            server.charsets[entry.charset] += 1
        on_page: set[str] = set()
        for url, _ in entry.links:
            name = host(url)
            if not is_internal(name, entry.domain):
                self._link(server, entry, url, depth).pages += name not in on_page
                on_page.add(name)

    def _redirect(self, server: ServerFacts, entry: SurveyEntry, depth: int) -> None:
        if not is_internal(host(entry.detail), entry.domain):
            self._link(server, entry, entry.detail, depth).pages += 1
            if depth == 0 and not server.pages:
                server.moved_to = entry.detail

    def _link(self, server: ServerFacts, entry: SurveyEntry, url: str, depth: int) -> LinkFacts:
        name = host(url)
        facts = server.links.get(name)
        if facts is None:
            facts = server.links[name] = LinkFacts(source=entry.url, target=url)
        facts.links += 1
        self._least_depth[name] = min(depth, self._least_depth.get(name, depth))
        return facts

    def _close(self, tree: ServerTree) -> None:
        server = self._server(tree.domain, tree.start, tree.round)
        server.state, server.reason = tree.state.value, tree.reason
        server.cut = tree.cut
        by_count = sorted(tree.rule.scripts.items(), key=lambda item: -item[1])
        server.scripts = by_count[:_SCRIPTS_NAMED]
        server.script_count = len(by_count)


Log = Callable[[], Iterable[SurveyEntry]]
"""Returns a survey's entries, at each call."""


class LogDepths:
    """The depth of each page that a survey requested, by the links it found.

    During a survey, a page may be requested before the shortest path to it is known, and the log
    has the depth of the path taken. When the log is complete, a breadth-first search from the
    starts gives each page its depth. Pages known from an earlier survey that no link leads to keep
    their depth.

    Memory: some 200 bytes for each page asked for, and 4 for each link between two of one server.

    Reads the log twice: pages first, since only links between requested pages matter.
    """

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
            if entry.ending is RequestEnding.REDIRECT:
                moved.add(number)
        self._depths = _breadth_first(asked, links, moved)

    def depth(self, entry: SurveyEntry) -> int:
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
    return (entry for entry in log() if entry.ending is not RequestEnding.ROBOTS)


def _targets(entry: SurveyEntry) -> Iterator[str]:
    if entry.ending is RequestEnding.REDIRECT:
        yield entry.detail
    for url, _ in entry.links:
        yield url


def _digest(domain: str, url: str) -> int:
    return xxh3_64_intdigest(f"{domain} {url}".encode())
