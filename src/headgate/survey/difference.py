"""What has changed between two surveys: servers gone, new and moved, links gone and new."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headgate.survey.facts import ServerFacts, SurveyFacts

__all__ = ["LinkChange", "ServerMove", "SurveyDifference", "difference"]


class LinkChange(msgspec.Struct, frozen=True):
    """A link from a server to a host."""

    server: str
    host: str


class ServerMove(msgspec.Struct, frozen=True):
    """A server that answers elsewhere now."""

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
    """Answered then and were not asked now: nothing can be said of them."""
    links_gone: Sequence[LinkChange]
    """Of servers that answer in both."""
    links_new: Sequence[LinkChange]
    hosts_gone: Sequence[str]
    """Hosts that nobody links to any more."""
    hosts_new: Sequence[str]


def difference(before: SurveyFacts, after: SurveyFacts) -> SurveyDifference:
    """Compare what both know."""
    then = {name for name, server in before.servers.items() if server.reachable}
    now = {name for name, server in after.servers.items() if server.reachable}
    asked = after.servers.keys()
    both = then & now
    links_then, links_now = _links(before, both), _links(after, both)
    return SurveyDifference(
        servers_gone=sorted((then - now) & asked),
        servers_new=sorted(now - then),
        servers_moved=[
            ServerMove(name, place_then, place_now)
            for name in sorted(both)
            if (place_then := _place(before.servers[name]))
            != (place_now := _place(after.servers[name]))
        ],
        servers_not_asked=sorted(then - asked),
        links_gone=[LinkChange(*pair) for pair in sorted(links_then - links_now)],
        links_new=[LinkChange(*pair) for pair in sorted(links_now - links_then)],
        hosts_gone=sorted(before.hosts - after.hosts),
        hosts_new=sorted(after.hosts - before.hosts),
    )


def _links(facts: SurveyFacts, servers: set[str]) -> set[tuple[str, str]]:
    return {(name, host) for name in servers for host in facts.servers[name].links}


def _place(server: ServerFacts) -> str:
    return server.moved_to or server.address
