"""The results of a survey: facts on each server, each link between hosts, and each depth.

Made by reading the log entry by entry, after the depths of its pages were found (`log_depths`).
Memory: some 500 bytes per server, 200 per pair of server and host it links to, and 200 per page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from headgate.model.fetch import TlsFacts
from headgate.reading.urls import host
from headgate.surveying.domains import is_internal, parents
from headgate.surveying.entries import Ending, RobotsStance, SurveyEntry
from headgate.surveying.log_depths import Log, LogDepths
from headgate.surveying.server_tree import ServerState, ServerTree

__all__ = ["DepthFacts", "LinkFacts", "ServerFacts", "SurveyFacts"]

_CAME = (Ending.PAGE, Ending.UNCHANGED)
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
    def of(cls, log: Log, trees: Iterable[ServerTree] = ()) -> SurveyFacts:
        facts = cls()
        depths = LogDepths(log)
        for entry in log():
            facts.add(entry, depths.of(entry))
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
        if entry.ending is Ending.FAILURE or entry.status >= 400:
            server.errors += entry.ending is not Ending.ROBOTS
        server.tls = server.tls or entry.tls
        server.tls_error = server.tls_error or entry.tls_error
        server.robots = server.robots or entry.robots
        server.crawl_delay = max(server.crawl_delay, entry.crawl_delay)
        if entry.status:
            self._answered(server, entry)
        if entry.ending in _CAME:
            level.pages += 1
            self.unchanged += entry.ending is Ending.UNCHANGED
            self._page(server, entry, depth)
        elif entry.ending is Ending.REDIRECT and entry.detail:
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
