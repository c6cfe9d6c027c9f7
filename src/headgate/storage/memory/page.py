"""What a collection knows of one page, and how a request for it changes that.

A page is known as soon as a run has found its URL, requested or not. It is *gone* after 404 or 410
in two looks without a good answer between: then it is requested again only if a link leads to it.
Nothing else makes it gone: no other error, no time-out, no robots.txt, no change of scope.

A look (one request for a page) is identified by its time. Applied twice it counts once, so that a
run can be merged again after a crash.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from msgspec.structs import replace

from headgate.model.look_history import with_look
from headgate.model.page import LINK_RULES, Earlier
from headgate.storage.safe_files import Amount, Count, Moment, Status

__all__ = ["PageLook", "PageMemory", "Sighting", "after", "earlier_of"]

_GONE = frozenset((HTTPStatus.NOT_FOUND, HTTPStatus.GONE))
_TELLING = frozenset((HTTPStatus.OK, HTTPStatus.NOT_MODIFIED))
_LOOKS_TO_BE_GONE = 2
_TIMES_TO_BE_UNHEEDED = 2


class PageMemory(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One entry of a site's memory. Fields may only be added at the end. Times are seconds since
    1970."""

    url: str
    depth: Count
    """Links from a seed, in the last run that found it."""
    first_known: Moment
    asked: Moment = 0.0
    """When it was last requested; 0: never."""
    status: Status = 0
    """Of the last response; 0: there was none."""
    error: str = ""
    """Why there was no response."""
    looks: Count = 0
    """Number of times it was requested."""
    missing: Count = 0
    """Looks with 404 or 410 since the last good answer."""
    changed: Moment = 0.0
    """When its newest content was first seen; 0: none was."""
    changes: Count = 0
    """Number of times the content differed from that of the look before."""
    size_bytes: Amount = 0
    """Bytes on the line when the page was last sent in full."""
    etag: str = ""
    last_modified: str = ""
    digest: bytes = b""
    """SHA-1 of the archived payload; empty: there is none, or none to rely on."""
    content: bytes = b""
    """Digest of the payload without its content coding."""
    original_url: str = ""
    """Where that payload was archived; empty: under the page's own URL."""
    original_at: Moment = 0.0
    file: Count = 0
    """Number of its WARC file in the memory's list."""
    offset: Amount = 0
    told: Moment = 0.0
    """When the content was last confirmed, by 200 or 304; 0: never, or not since this is
    recorded."""
    history: bytes = b""
    """The history of such looks: `headgate.model.look_history`."""
    failing: Count = 0
    """Looks since then without such an answer."""
    unheeded: Count = 0
    """Conditional requests in a row that were answered in full with unchanged content."""
    modified: Moment = 0.0
    """Newest date of change in a sitemap; 0: none."""
    link_rules: Count = 0
    """`LINK_RULES` by which the links of its content were last read; 0: before this is recorded, or
    the memory was rebuilt."""
    needed: bool = False
    """It was found because a page shows it, which lets it be on any host; False: by a link, or
    before this is recorded."""

    @property
    def never_asked(self) -> bool:
        return not self.looks

    @property
    def never_there(self) -> bool:
        """Whether every look at it was in vain: a link may name what does not exist."""
        return 0 < self.looks == self.missing

    @property
    def links_unknown(self) -> bool:
        """Whether the links of its content were read by older rules, and have to be read again even
        if it did not change."""
        return self.told_at > 0 and self.link_rules < LINK_RULES

    @property
    def gone(self) -> bool:
        return self.missing >= _LOOKS_TO_BE_GONE

    @property
    def revalidatable(self) -> bool:
        """Whether a conditional request is possible."""
        return bool(self.digest and (self.etag or self.last_modified))

    @property
    def heeds_conditions(self) -> bool:
        """Whether the server probably answers conditional requests with 304."""
        return self.revalidatable and self.unheeded < _TIMES_TO_BE_UNHEEDED

    def promised_change(self, by: float) -> bool:
        """Whether a sitemap says that it changed after its content was last confirmed and before
        ``by``."""
        return self.told_at < self.modified <= by

    @property
    def told_at(self) -> float:
        """When its content was last known to equal the archived one; 0: never."""
        if self.told:
            return self.told
        return self.asked if self.status in _TELLING else self.changed


class PageLook(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One request for a page."""

    at: float
    status: int
    error: str
    size_bytes: int
    etag: str
    last_modified: str
    digest: bytes
    """Empty unless the payload is complete and in the archive, of this run or an earlier one."""
    content: bytes
    original_url: str
    original_at: float
    file: int
    offset: int
    link_rules: int = 0
    """As in `PageMemory`; 0: the links were not read."""


class Sighting(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A URL found by a run, with the look at it if there was one."""

    url: str
    depth: int
    at: float
    """The start of its run."""
    look: PageLook | None = None
    visit: int = 0
    """The number of the visit; 0: the only one of its run."""
    modified: float = 0.0
    """As in `PageMemory`; then the other fields are empty."""
    needed: bool = False
    """As in `PageMemory`, where there is no look."""


def after(known: PageMemory | None, met: Sighting) -> PageMemory:
    """What is known of a page after a sighting; ``known``: what was known before, if anything."""
    before = known or PageMemory(met.url, met.depth, met.at)
    look = met.look
    if met.modified:
        return replace(before, modified=max(before.modified, met.modified))
    if look is None:
        return replace(before, depth=met.depth, needed=met.needed)
    if look.at == before.asked:
        return before
    looked = replace(
        before,
        depth=met.depth,
        asked=look.at,
        status=look.status,
        error=look.error,
        looks=before.looks + 1,
        missing=_missing(before, look),
    )
    if look.status == HTTPStatus.OK:
        changed = not _same(before, look)
        unheeded = before.unheeded + (before.revalidatable and not changed)
        told = replace(_told(looked, before, look.at, changed=changed), unheeded=unheeded)
        return _with_content(told, look, changed=changed)
    if look.status == HTTPStatus.NOT_MODIFIED and look.digest:
        same = replace(
            look,
            size_bytes=before.size_bytes,
            content=look.content or before.content,
            link_rules=look.link_rules or before.link_rules,
        )
        told = replace(_told(looked, before, look.at, changed=False), unheeded=0)
        return _with_content(told, same, changed=False)
    return replace(looked, failing=before.failing + 1)


def earlier_of(page: PageMemory, file: str) -> Earlier | None:
    """The archived response for a conditional request; None: there is none."""
    if not page.digest:
        return None
    return Earlier(
        page.original_url or page.url,
        page.original_at,
        digest=page.digest,
        etag=page.etag,
        last_modified=page.last_modified,
        file=file,
        offset=page.offset,
    )


def _told(looked: PageMemory, before: PageMemory, at: float, *, changed: bool) -> PageMemory:
    """The history with a further look: whether the page changed since the last look that confirmed
    its content. If the clock was set back, the interval is short, not negative."""
    history = before.history
    if before.changed:
        history = with_look(history, at - before.told_at, changed)
    return replace(looked, told=at, history=history, failing=0)


def _missing(before: PageMemory, look: PageLook) -> int:
    """Other errors do not say whether the page exists."""
    if look.status in _GONE:
        return before.missing + 1
    if 0 < look.status < HTTPStatus.BAD_REQUEST:
        return 0
    return before.missing


def _with_content(page: PageMemory, look: PageLook, *, changed: bool) -> PageMemory:
    first = not page.changed
    return replace(
        page,
        changed=look.at if changed or first else page.changed,
        changes=page.changes + (changed and not first),
        size_bytes=look.size_bytes,
        etag=look.etag,
        last_modified=look.last_modified,
        digest=look.digest,
        content=look.content,
        original_url="" if look.original_url == page.url else look.original_url,
        original_at=look.original_at,
        file=look.file,
        offset=look.offset,
        link_rules=look.link_rules,
    )


def _same(page: PageMemory, look: PageLook) -> bool:
    """Compares the visible text if the bytes differ: a page may be sent in several codings, and
    with other noise."""
    if page.digest and page.digest == look.digest:
        return True
    if page.content and look.content:
        return page.content == look.content
    return page.digest == look.digest
