"""One finished fetch as the journal and the tables keep it."""

from __future__ import annotations

import msgspec

__all__ = ["PageRow"]


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
    relevance: float | None = None
    """To the site's topic; None: not judged."""
