"""The log entries of a survey, one per request, and what can be known again from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import msgspec

from headgate.model.fetch import TlsFacts

__all__ = ["NO_MEMORY", "Memory", "RequestEnding", "RobotsStance", "ServerRecord", "SurveyEntry"]


# The log entry for each request of a survey: enough to resume after a crash, to make conditional
# requests next time, and to make all tables.


class RequestEnding(StrEnum):
    """How a request ended."""

    PAGE = "page"
    UNCHANGED = "unchanged"
    """As an earlier survey found it; its links are repeated here."""
    REDIRECT = "redirect"
    STATUS = "status"
    FAILURE = "failure"
    ROBOTS = "robots"


class RobotsStance(StrEnum):
    """What an origin's robots.txt says to us."""

    ABSENT = "absent"
    """There is none."""
    OPEN = "open"
    """It has no rule for us."""
    PARTIAL = "partial"
    CLOSED = "closed"
    """Not even the home page may be requested."""
    UNAVAILABLE = "unavailable"
    """It is unavailable, so nothing may be requested."""


class SurveyEntry(msgspec.Struct, frozen=True, array_like=True):
    """One request and its answer."""

    domain: str
    """Of the server asked."""
    start: str
    round: int
    url: str
    depth: int
    ending: RequestEnding
    wall_time: float
    status: int = 0
    detail: str = ""
    """The kind of a failure, or where a redirect leads."""
    address: str = ""
    requests: int = 1
    wire_bytes: int = 0
    payload_bytes: int = 0
    first_byte_seconds: float = 0.0
    seconds: float = 0.0
    software: str = ""
    """The Server header."""
    content_type: str = ""
    charset: str = ""
    language: str = ""
    etag: str = ""
    last_modified: str = ""
    links: Sequence[tuple[str, str]] = ()
    """All links of the page with their anchor texts, internal and external."""
    new_hosts: Sequence[str] = ()
    """External hosts that no page of this survey had linked to before."""
    tls: TlsFacts | None = None
    """Of the server asked; None: no TLS, or robots.txt was another server's."""
    tls_error: str = ""
    """What was wrong with the certificate or the handshake."""
    robots: RobotsStance | None = None
    """None: this was no request for robots.txt."""
    crawl_delay: float = 0.0


@dataclass(slots=True)
class ServerRecord:
    """Requests to a server."""

    requests: int = 0
    wire_bytes: int = 0
    silent: str = ""
    """Why it never answered; empty: it did."""


class Memory(Protocol):
    """What a survey reads from a log: its own, if it was interrupted, or that of an earlier
    survey."""

    def find(self, url: str) -> SurveyEntry | None:
        """The latest entry of a page."""
        ...

    def server(self, domain: str) -> ServerRecord | None: ...


class _NoMemory:
    def find(self, url: str) -> SurveyEntry | None:  # noqa: ARG002 - whatever it is
        return None

    def server(self, domain: str) -> ServerRecord | None:  # noqa: ARG002
        return None


NO_MEMORY: Memory = _NoMemory()
"""For a first survey."""
