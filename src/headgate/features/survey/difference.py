"""What has changed between two surveys: servers gone, new and moved, links gone and new.

Neither survey requested every page, so a link may be missing because its page was not requested. A
link between a server and a host is *gone* when every page that had it was requested again and none
has it. It is *new* when a page has it that had not, or a page that is new itself: linked to from a
page that did not link to it before, or from a new page. All other links found by one survey only
are *unsure*.

Memory: the URLs of both surveys, some 200 bytes each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from headgate.features.survey.strategy.entries import RequestEnding, SurveyEntry
from headgate.features.survey.strategy.facts import ServerFacts, SurveyFacts
from headgate.features.survey.strategy.rules import is_internal
from headgate.reading.urls import host

__all__ = ["LinkChange", "ServerMove", "SurveyDifference", "difference"]


class LinkChange(msgspec.Struct, frozen=True):
    """A link from a server to a host."""

    server: str
    host: str


class ServerMove(msgspec.Struct, frozen=True):
    """A server that has moved."""

    server: str
    before: str
    after: str


class SurveyDifference(msgspec.Struct, frozen=True):
    """From the first survey to the second; all in the order of names."""

    servers_gone: Sequence[str]
    """Answered then, not now."""
    servers_new: Sequence[str]
    """Answer now, not then."""
    servers_moved: Sequence[ServerMove]
    """Another address, or a redirect to another server."""
    servers_not_asked: Sequence[str]
    """Answered then and were not requested now: nothing is known of them."""
    links_gone: Sequence[LinkChange]
    """Of servers that answer in both."""
    links_new: Sequence[LinkChange]
    links_unsure: int
    """Found by one survey only, on pages that the other did not request."""
    version: int = 1
    """Version of this format; raised when a field changes its meaning or is removed."""


class _Pages:
    """What one survey knows of pages."""

    def __init__(self) -> None:
        self.facts = SurveyFacts()
        self.asked: set[str] = set()
        self.met: set[str] = set()
        """Linked to from the same server, requested or not."""
        self.new: set[str] = set()
        """Pages that were not there when the earlier survey looked."""
        self.carriers: defaultdict[LinkChange, set[str]] = defaultdict(set)

    @classmethod
    def from_entries(cls, entries: Iterable[SurveyEntry], earlier: _Pages | None = None) -> _Pages:
        """In the order of the log, in which a page comes after one that links to it."""
        pages = cls()
        for entry in entries:
            pages.facts.add(entry, entry.depth)  # depths are not needed here
            if entry.ending not in (RequestEnding.ROBOTS, RequestEnding.FAILURE):
                pages._add(entry, earlier)
        return pages

    def knows(self, page: str) -> bool:
        return page in self.asked or page in self.met

    def _add(self, entry: SurveyEntry, earlier: _Pages | None) -> None:
        self.asked.add(entry.url)
        known = earlier is not None and (entry.url in earlier.asked or entry.url in self.new)
        targets = [url for url, _ in entry.links]
        if entry.ending is RequestEnding.REDIRECT and entry.detail:
            targets.append(entry.detail)
        for url in targets:
            name = host(url)
            if is_internal(name, entry.domain):
                self.met.add(url)
                if known and earlier is not None and not earlier.knows(url):
                    self.new.add(url)
            else:
                self.carriers[LinkChange(entry.domain, name)].add(entry.url)


def difference(before: Iterable[SurveyEntry], after: Iterable[SurveyEntry]) -> SurveyDifference:
    """Compare two logs."""
    then = _Pages.from_entries(before)
    now = _Pages.from_entries(after, then)
    answered, answers = _reachable(then.facts), _reachable(now.facts)
    asked = now.facts.servers.keys()
    both = answered & answers
    lost = {link for link in then.carriers.keys() - now.carriers.keys() if link.server in both}
    found = {link for link in now.carriers.keys() - then.carriers.keys() if link.server in both}
    gone = {link for link in lost if then.carriers[link] <= now.asked}
    telling = then.asked | now.new
    new = {link for link in found if now.carriers[link] & telling}
    return SurveyDifference(
        servers_gone=sorted((answered - answers) & asked),
        servers_new=sorted(answers - answered),
        servers_moved=[
            ServerMove(name, place_then, place_now)
            for name in sorted(both)
            if (place_then := _place(then.facts.servers[name]))
            != (place_now := _place(now.facts.servers[name]))
        ],
        servers_not_asked=sorted(answered - asked),
        links_gone=_sorted(gone),
        links_new=_sorted(new),
        links_unsure=len(lost) + len(found) - len(gone) - len(new),
    )


def _reachable(facts: SurveyFacts) -> set[str]:
    return {name for name, server in facts.servers.items() if server.reachable}


def _sorted(links: Iterable[LinkChange]) -> list[LinkChange]:
    return sorted(links, key=lambda link: (link.server, link.host))


def _place(server: ServerFacts) -> str:
    return server.moved_to or server.address
