"""One finished fetch, as stored in journals and tables."""

from __future__ import annotations

from typing import Annotated

import msgspec

from headgate.storage.safe_files import Amount, Count, Moment, Span, Status

__all__ = ["PageRow"]


class PageRow(msgspec.Struct, frozen=True, array_like=True):
    """One row of pages.parquet; the site is the journal's. Fields may only be added at the end."""

    url: str
    role: str
    status: Status
    """0: there was no response, see ``error``."""
    content_type: str
    depth: Count
    payload_bytes: Amount
    """The payload as received: without transfer coding, with content coding."""
    wire_bytes: Amount
    first_byte_seconds: Span
    seconds: Span
    fetched_at: Moment
    """Seconds since 1970 when the request left."""
    digest: bytes
    """SHA-1 of the payload (for a 304, of the earlier one); empty without a response."""
    title: str = ""
    language: str = ""
    location: str = ""
    etag: str = ""
    last_modified: str = ""
    original_url: str = ""
    """For a revisit: the URL and time of the record that holds the payload."""
    original_at: Moment = 0.0
    truncated: str = ""
    warc_file: str = ""
    """Name within the run's ``warc`` folder."""
    warc_offset: Amount = 0
    warc_length: Amount = 0
    error: str = ""
    """`FailureKind`, or empty."""
    error_detail: str = ""
    relevance: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """To the site's topic; None: not judged."""
    original_file: str = ""
    """For a revisit: the WARC file with the payload, and its offset."""
    original_offset: Amount = 0
    visit: Count = 0
    """Number of the visit; 0: the only one of its run."""
    unchanged: bool = False
    """The same as an earlier run or visit archived."""
    link_rules: Count = 0
    """`LINK_RULES` by which its links were read; 0: they were not, or before this is recorded."""
