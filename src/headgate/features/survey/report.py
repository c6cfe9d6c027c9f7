"""What a survey found and what it cost; details are in its tables."""

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
    """Hosts that no page at a lower depth links to."""


class DepthAhead(msgspec.Struct, frozen=True):
    """An estimate of what was left unfetched at one depth."""

    depth: int
    requests: int
    wire_bytes: int
    new_hosts: float | None
    """None: no host was found, so there is nothing to estimate from."""


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
    """Pages that have not changed since an earlier survey."""
    most_requests: int
    """Maximum over all servers, like ``most_bytes``."""
    most_bytes: int
    share_found: float | None
    """Estimated share of the hosts found among all that could be found this way; None: no host was
    found, so there is nothing to estimate from."""
    next_yield: float | None
    """Estimated new hosts per further page; None: no host was found."""
    unreachable: Mapping[str, int]
    """Servers that gave no page, by reason."""
    depths: Sequence[SurveyDepth]
    ahead: Sequence[DepthAhead]
    """What continuing would cost and bring: within the depth if the survey ended early, and on the
    next levels below. Servers at their cap are left out."""
    tls: Mapping[str, int] = {}
    """Servers by version of TLS, like "TLSv1.3"; those that answered in the clear alone: "none"."""
    issuers: Mapping[str, int] = {}
    """Servers by who signed their certificates, the most frequent first."""
    tls_errors: Mapping[str, int] = {}
    """Servers with a bad certificate or handshake, by what was wrong."""
    expiring: int = 0
    """Servers whose certificates expire within 30 days of the survey's end."""
    robots: Mapping[str, int] = {}
    """Servers by what their robots.txt says to us:
    `headgate.features.survey.strategy.entries.RobotsStance`."""
    grid: GridReport | None = None
    """None: a single machine did the survey."""
    version: int = 1
    """Of this document's form; a new number where a field changes its meaning or goes."""

    @property
    def nothing_fetched(self) -> bool:
        """Whether the survey finished without a single page."""
        return not self.interrupted and self.servers > 0 and not self.pages
