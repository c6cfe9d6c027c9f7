"""One finished fetch: as the crawler hands it over, and as the journal and the tables keep it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from headgate.model.fetch import Fetched, FetchFailure

__all__ = ["Earlier", "Links", "Page", "PageRow", "Role"]


class Role(StrEnum):
    """Why a URL was fetched."""

    PAGE = "page"
    """It stood in the frontier."""
    ROBOTS = "robots"
    SITEMAP = "sitemap"


class Earlier(msgspec.Struct, frozen=True, array_like=True):
    """An archived response whose payload may be the same, of this run or of an earlier one."""

    url: str
    wall_time: float
    """When it was fetched: of the record that holds the payload, not of a revisit between."""
    digest: bytes
    """SHA-1 of the payload; empty: unknown."""
    etag: str = ""
    last_modified: str = ""


class Links(msgspec.Struct, frozen=True, array_like=True):
    """The links of one page, in the page's order."""

    targets: Sequence[str]
    rels: Sequence[str] = ()
    """``rel`` of each target, in the same order; empty when no link has one."""

    def __post_init__(self) -> None:
        if self.rels and len(self.rels) != len(self.targets):
            raise ValueError(f"{len(self.targets)} targets have {len(self.rels)} rels")


@dataclass(frozen=True, slots=True)
class Page:
    """What the crawler hands over once nothing more will be asked of a URL."""

    outcome: Fetched | FetchFailure
    depth: int
    """Links followed from a seed; 0 for a seed."""
    title: str = ""
    language: str = ""
    links: Links | None = None
    earlier: Earlier | None = None
    """What the conditional request was based on. A 304, or a payload with its digest, becomes a
    revisit record; anything else is archived in full."""
    role: Role = Role.PAGE


class PageRow(msgspec.Struct, frozen=True, array_like=True):
    """One row of pages.parquet; the site is the journal's. Fields may only be added at the end."""

    url: str
    role: str
    status: int
    """0: there was no response, see ``error``."""
    content_type: str
    depth: int
    payload_bytes: int
    """Of the payload as received: without transfer coding, still in its content coding."""
    wire_bytes: int
    first_byte_seconds: float
    seconds: float
    fetched_at: float
    """Seconds since 1970 when the request left."""
    digest: bytes
    """SHA-1 of the payload, of the earlier one for a 304; empty without a response."""
    title: str = ""
    language: str = ""
    location: str = ""
    etag: str = ""
    last_modified: str = ""
    original_url: str = ""
    """For a revisit: the URL and time of the record that holds the payload."""
    original_at: float = 0.0
    truncated: str = ""
    warc_file: str = ""
    """Name within the run's ``warc`` folder."""
    warc_offset: int = 0
    warc_length: int = 0
    error: str = ""
    """`FailureKind`, or empty."""
    error_detail: str = ""
