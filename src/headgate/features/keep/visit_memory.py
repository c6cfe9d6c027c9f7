"""Merges a keeper's visit into the memory of its site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from http import HTTPStatus

from headgate.features.keep.link_exchange import leave_links
from headgate.features.keep.notice_log import leave_news
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.journals.journal import Commit, Owner
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.merging import Files, merge
from headgate.storage.memory.page import PageLook, Sighting
from headgate.storage.memory.remembering import mend, sightings
from headgate.storage.memory.site import SiteMemory, VisitCounts

__all__ = ["remember_kept", "remember_visit", "tell_others"]


# Merges a keeper's visit into the site's memory.


def remember_kept(
    run: RunFolder,
    owner: Owner,
    site: Site,
    read: Callable[[], Iterable[Commit]],
    ended: float,
    *,
    believe: bool,
) -> None:
    """Merge a visit; changes and links to other sites are left in files for those who need them. A
    damaged memory is rebuilt from all runs, including this one."""
    beside = partial(tell_others, run, owner, site, read)
    try:
        remember_visit(run, owner, read, ended, believe=believe, beside=beside)
    except DamagedMemory:
        mend(Collection(run.collection), owner.site)


def tell_others(
    run: RunFolder,
    owner: Owner,
    site: Site,
    read: Callable[[], Iterable[Commit]],
    old: SiteMemory,
) -> None:
    """Leave a visit's changes and links in files, before it is merged into ``old``."""
    leave_news(run, owner, site, old, read)
    leave_links(run, owner, site, read)


_SUSPICIOUS_PART = 0.9
_SUSPICIOUS_LOOKS = 5
"""With fewer pages, the owner may have made them alike."""
_SERVER_ERROR = 500
LEFT_OUT = "left-out"
"""The error recorded for a page that was not requested."""


def remember_visit(
    run: RunFolder,
    owner: Owner,
    read: Callable[[], Iterable[Commit]],
    ended: float,
    *,
    believe: bool = False,
    beside: Callable[[SiteMemory], None] = lambda _: None,
) -> VisitCounts:
    """Merges a keeper's visit into the memory of its site.

    All or nothing: the memory is replaced in one durable step and records its last visit. Merging a
    visit again after a crash changes nothing.

    Beside single pages, two things are checked:

    - What a finished visit found, or was to fetch, and never settled was left out: by robots.txt,
      or because it is out of scope by now. Unless the site gave no answer, that counts as a look in
      vain, or the same pages would be chosen at once again.
    - Where nine in ten of a visit's looks show one new content, a server has begun to answer
    everything
      with the same text, most likely for an hour. Those looks are passed over, unless the visit is
      to be believed: it was repeated, and the same was found.

    Merge an ended visit, durably; ``read`` returns all that it stored, at each call.

    ``beside`` is called with the memory before the merge, unless the visit is doubted. Raises
    `DamagedMemory` if the memory must be repaired first. ``ended``: seconds since 1970.
    """
    site, visit = owner
    path = Collection(run.collection).memory(site)
    with SiteMemory.checked(path, site) as old:
        if visit <= old.summary.visit:
            return old.summary.visited
        doubted = b"" if believe else _one_for_all(old, read())
        if not doubted:
            beside(old)

        def met(files: Files) -> Iterator[Sighting]:
            for sighting in sightings(run, read(), files):
                look = sighting.look
                if look is None or not doubted or look.content != doubted:
                    yield sighting
            yield from _left_out(read, ended)

        made = merge(path, old, run.stamp, met, visit=visit, doubted=bool(doubted))
    return made.visited


def _left_out(read: Callable[[], Iterable[Commit]], ended: float) -> Iterator[Sighting]:
    """URLs that a finished visit found, or was to request, and did not deal with."""
    found: dict[str, int] = {}
    finished = answered = requested = False
    for group, rows, _ in read():
        finished = finished or group.finished
        answered = answered or any(0 < row.status < _SERVER_ERROR for row in rows)
        requested = requested or bool(rows)
        for entry in group.entries:
            found.update(dict.fromkeys((*entry.found, *entry.left), entry.depth))
    if not finished or (requested and not answered):
        return
    for group, rows, _ in read():
        for entry in group.entries:
            found.pop(entry.url, None)
        for row in rows:
            found.pop(row.url, None)
    nothing = PageLook(
        ended,
        0,
        error=LEFT_OUT,
        size_bytes=0,
        etag="",
        last_modified="",
        digest=b"",
        content=b"",
        original_url="",
        original_at=0.0,
        file=0,
        offset=0,
    )
    for url, depth in found.items():
        yield Sighting(url, depth, ended, nothing)


def _one_for_all(old: SiteMemory, commits: Iterable[Commit]) -> bytes:
    """The digest of a new content that nearly all known pages show; empty: there is none."""
    looks = 0
    new: Counter[bytes] = Counter()
    for group, rows, _ in commits:
        digests = {entry.url: entry.digest for entry in group.entries if entry.digest}
        for row in rows:
            unread = row.status == HTTPStatus.NOT_MODIFIED
            page = old.find(row.url) if unread or row.url in digests else None
            if page is None or not page.content:
                continue
            looks += 1
            if row.status == HTTPStatus.OK and digests[row.url] != page.content:
                new[digests[row.url]] += 1
    if looks < _SUSPICIOUS_LOOKS or not new:
        return b""
    content, pages = new.most_common(1)[0]
    return content if pages >= _SUSPICIOUS_PART * looks else b""
