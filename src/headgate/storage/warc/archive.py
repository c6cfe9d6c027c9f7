"""Turns a finished fetch into its WARC records and its row.

Payloads seen before in the same site run are archived as revisits of the first one. The memory for
that is bounded: the oldest entry is dropped first, and its later duplicates are stored in full.
Payloads below `_WORTH_BYTES` are not looked up, since a revisit record would not be smaller.
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import LINK_RULES, Earlier, Page, payload_digest
from headgate.reading.urls import MAX_LENGTH
from headgate.storage.page import PageRow
from headgate.storage.warc import records
from headgate.storage.warc.writer import Position, WarcWriter

__all__ = ["SiteArchive"]

_WORTH_BYTES = 1024
_REMEMBERED = 50_000
_LONGEST_TEXT = 1000


class SiteArchive:
    """Stores pages of one site run; durable after its writer's `sync`."""

    __slots__ = ("_originals", "_remembered", "_visit", "_writer")

    def __init__(self, writer: WarcWriter, visit: int = 0, remembered: int = _REMEMBERED) -> None:
        self._writer = writer
        self._visit = visit
        self._remembered = remembered
        self._originals: dict[bytes, tuple[str, float, str, int]] = {}
        """Digest of a payload: URL, time, file and offset of the record that holds it; oldest
        first."""

    def write_to(self, writer: WarcWriter) -> None:
        """The site gets its own files."""
        self._writer = writer

    def store(self, page: Page) -> PageRow:
        """Append the page's records."""
        if isinstance(page.outcome, FetchFailure):
            return self._store_failure(page, page.outcome)
        fetched = page.outcome
        digest = payload_digest(fetched.payload)
        earlier = self._earlier(page, fetched, digest)
        identity = self._writer.warcinfo_id(fetched.wall_time)
        position = self._writer.write(*records.exchange(fetched, digest, earlier, identity))
        row = _row(
            page, fetched, digest=digest, earlier=earlier, position=position, visit=self._visit
        )
        self.remember((row,))
        return row

    def add_note(self, url: str, wall_time: float, fields: Iterable[tuple[str, str]]) -> None:
        """Append a metadata record about a URL."""
        identity = self._writer.warcinfo_id(wall_time)
        self._writer.write(records.note(url, wall_time, fields, identity))

    def remember(self, rows: Iterable[PageRow]) -> None:
        """Later payloads equal to one of these become revisits."""
        for row in rows:
            if row.payload_bytes >= _WORTH_BYTES and not (row.original_url or row.truncated):
                place = (f"{self._writer.shelf}/{row.warc_file}", row.warc_offset)
                self._originals[row.digest] = (row.url, row.fetched_at, *place)
        while len(self._originals) > self._remembered:
            del self._originals[next(iter(self._originals))]

    def _earlier(self, page: Page, fetched: Fetched, digest: bytes) -> Earlier | None:
        """The record this one is a revisit of, if it is one."""
        if records.revisit_profile(fetched, digest, page.earlier):
            return page.earlier
        original = self._originals.get(digest)
        if original is None or fetched.truncated or len(fetched.payload) < _WORTH_BYTES:
            return None
        url, wall_time, file, offset = original
        return Earlier(url, wall_time, digest, file=file, offset=offset)

    def _store_failure(self, page: Page, failed: FetchFailure) -> PageRow:
        identity = self._writer.warcinfo_id(failed.wall_time)
        position = self._writer.write(records.failure(failed, identity))
        return PageRow(
            url=_writable(failed.url),
            role=page.role.value,
            status=0,
            content_type="",
            depth=page.depth,
            payload_bytes=0,
            wire_bytes=failed.wire_bytes,
            first_byte_seconds=0.0,
            seconds=failed.seconds,
            fetched_at=failed.wall_time,
            digest=b"",
            warc_file=position.file,
            warc_offset=position.offset,
            warc_length=position.length,
            error=failed.kind.value,
            error_detail=_bounded(failed.detail),
            visit=self._visit,
        )


def _row(
    page: Page,
    fetched: Fetched,
    digest: bytes,
    earlier: Earlier | None,
    position: Position,
    visit: int,
) -> PageRow:
    headers = dict(reversed(fetched.headers))
    etag = _short(headers.get("etag", ""))
    last_modified = _short(headers.get("last-modified", ""))
    unchanged = earlier is not None and earlier is page.earlier
    if earlier is not None and unchanged:
        digest = earlier.digest
        etag, last_modified = etag or earlier.etag, last_modified or earlier.last_modified
    return PageRow(
        url=fetched.url,
        role=page.role.value,
        status=fetched.status,
        content_type=_bounded(headers.get("content-type", "")),
        depth=page.depth,
        payload_bytes=len(fetched.payload),
        wire_bytes=fetched.wire_bytes,
        first_byte_seconds=fetched.first_byte_seconds,
        seconds=fetched.seconds,
        fetched_at=fetched.wall_time,
        digest=digest,
        title=_bounded(page.title),
        language=_bounded(page.language),
        location=headers.get("location", "")[:MAX_LENGTH],
        etag=etag,
        last_modified=last_modified,
        original_url=earlier.url if earlier else "",
        original_at=earlier.wall_time if earlier else 0.0,
        truncated=fetched.truncated,
        warc_file=position.file,
        warc_offset=position.offset,
        warc_length=position.length,
        relevance=page.relevance,
        original_file=earlier.file if earlier else "",
        original_offset=earlier.offset if earlier else 0,
        visit=visit,
        unchanged=unchanged,
        link_rules=0 if page.links is None else LINK_RULES,
    )


def _bounded(text: str) -> str:
    """Text from a page, cut to a length that cannot flood the tables."""
    return _writable(text[:_LONGEST_TEXT])


def _short(validator: str) -> str:
    """A validator must be sent back unchanged: too long ones are dropped."""
    return validator if len(validator) <= _LONGEST_TEXT else ""


def _writable(text: str) -> str:
    """A lone surrogate, as a hostile page may contain, has no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
