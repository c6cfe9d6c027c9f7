"""What a survey found and what it cost, for people and for programs; its tables have the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from headgate.model.run_report import GridReport

__all__ = ["DepthAhead", "SurveyDepth", "SurveyReport"]


class SurveyDepth(msgspec.Struct, frozen=True):
    """One depth level over all servers."""

    depth: int
    requests: int
    pages: int
    wire_bytes: int
    new_hosts: int
    """Hosts that no page less deep links to."""


class DepthAhead(msgspec.Struct, frozen=True):
    """What was not asked for at one depth, as far as can be foreseen."""

    depth: int
    requests: int
    wire_bytes: int
    new_hosts: float | None
    """None when no host was found, so that there is nothing to judge by."""


class SurveyReport(msgspec.Struct, frozen=True):
    """One survey."""

    stamp: str
    seconds: float
    ending: str
    """Why it ended: "finished", a share reached, too little to be found, interrupted."""
    interrupted: bool
    policy: str
    servers: int
    reachable: int
    hosts: int
    """External hosts found."""
    links: int
    """Pairs of a server and a host it links to."""
    requests: int
    pages: int
    wire_bytes: int
    unchanged: int
    """Pages that were as an earlier survey knows them."""
    most_requests: int
    """Of any server."""
    most_bytes: int
    share_found: float | None
    """Of all hosts that could be found this way, the part that was, as far as can be foreseen;
    None when no host was found, so that there is nothing to judge by."""
    next_yield: float | None
    """New hosts that one more page would bring; None when no host was found."""
    unreachable: Mapping[str, int]
    """Servers that gave no page, by reason."""
    depths: Sequence[SurveyDepth]
    ahead: Sequence[DepthAhead]
    """What going on would cost and bring: within the depth if it ended early, and on the next
    levels below. Servers at their cap are left out."""
    tls: Mapping[str, int] = {}
    """Servers by version of TLS, like "TLSv1.3"; those that answered in the clear alone: "none"."""
    issuers: Mapping[str, int] = {}
    """Servers by who signed their certificates, the most frequent first."""
    tls_errors: Mapping[str, int] = {}
    """Servers with a bad certificate or handshake, by what was wrong."""
    expiring: int = 0
    """Servers whose certificates expire within 30 days of the survey's end."""
    robots: Mapping[str, int] = {}
    """Servers by what their robots.txt says to us: `headgate.surveying.entries.RobotsStance`."""
    grid: GridReport | None = None
    """Of nodes that asked; None: one machine did."""
    version: int = 1
    """Of this document's form; a new number where a field changes its meaning or goes."""

    @property
    def nothing_fetched(self) -> bool:
        """Whether it came to its end so."""
        return not self.interrupted and self.servers > 0 and not self.pages
