"""What earlier runs know of a site's pages: the adapter of `headgate.crawling.ports.Known`."""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from http import HTTPStatus
from itertools import islice

from msgspec.structs import replace

from headgate.frontier.seen_urls import Hashes
from headgate.model.fetch import Fetched
from headgate.model.page import Earlier
from headgate.storage.collection import Collection
from headgate.storage.memory.page import PageMemory, earlier_of
from headgate.storage.memory.site import SiteMemory
from headgate.storage.safe_files import archived_file
from headgate.storage.warc.records import read_response

__all__ = ["KnownPages", "LentPages", "VisitedPages"]

_BATCH_PAGES = 1000
_GZIP_MAGIC = b"\x1f\x8b"


class KnownPages:
    """One site's memory and the archive it refers to; RAM use does not depend on the number of
    pages."""

    def __init__(self, collection: Collection, site: str) -> None:
        self._folder = collection.path
        self._memory = SiteMemory(collection.memory(site), site)
        self._there: dict[str, bool] = {}
        """Whether WARC files exist: an archive may have been moved away."""

    def asked(self, url: str) -> bool:
        page = self._memory.find(url)
        return page is not None and not page.never_asked

    def find(self, url: str) -> Earlier | None:
        page = self._memory.find(url)
        if page is None or not page.digest:
            return None
        file = self._memory.file(page)
        if file not in self._there:
            self._there[file] = self._is_there(file)
        return earlier_of(page, file) if self._there[file] else None

    def _links_unknown(self, url: str) -> bool:
        page = self._memory.find(url)
        return page is not None and page.links_unknown

    def _is_there(self, file: str) -> bool:
        """Nothing outside the collection is read as part of its archive."""
        path = archived_file(self._folder, file)
        return path is not None and path.is_file()

    def stored(self, url: str, earlier: Earlier) -> Fetched | None:
        return read_response(self._folder / earlier.file, earlier.offset, url, earlier.digest)

    def left_to_do(self) -> Iterator[tuple[int, Sequence[str]]]:
        if self._memory.summary.never_asked:
            yield from _by_depth(self._memory, lambda page: page.never_asked)

    def pages(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Without what was never there: if a link still leads to it, that link is followed."""
        return _by_depth(self._memory, lambda page: not (page.gone or page.never_there))

    def by_depth(self, urls: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
        found = (page for url in urls if (page := self._memory.find(url)) is not None)
        return _by_depth(found, lambda _: True)

    def needed(self, urls: Sequence[str]) -> list[str]:
        pages = ((url, self._memory.find(url)) for url in urls)
        return [url for url, page in pages if page is not None and page.needed]

    def hashes(self) -> Hashes:
        """The keys of the memory are the hashes of URLseen; it cannot hold 0 and uses 1 instead."""
        keys = self._memory.keys
        return array("Q", [key or 1 for key in keys[:1]]) + array("Q", keys[1:])

    def close(self) -> None:
        self._memory.close()


class VisitedPages(KnownPages):
    """The same for a visit to some pages. Unchanged pages need not be read, if their content and
    links are known; then only the existence of their records is checked."""

    def stored(self, url: str, earlier: Earlier) -> Fetched | None:
        if self._links_unknown(url):
            return super().stored(url, earlier)
        try:
            with (self._folder / earlier.file).open("rb") as file:
                is_there = os.pread(file.fileno(), len(_GZIP_MAGIC), earlier.offset) == _GZIP_MAGIC
        except OSError:
            return None
        return _unread(url) if is_there else None


class LentPages(KnownPages):
    """The same on another machine, without the archive. A page whose links are unknown has to be
    sent in full."""

    def find(self, url: str) -> Earlier | None:
        page = self._memory.find(url)
        earlier = None if page is None else earlier_of(page, self._memory.file(page))
        if earlier is None or page is None or not page.links_unknown:
            return earlier
        return replace(earlier, etag="", last_modified="")

    def pages(self) -> Iterator[tuple[int, Sequence[str]]]:
        """With what was never there: unchanged pages may link to it, and nobody reads them."""
        return _by_depth(self._memory, lambda page: not page.gone)

    def stored(self, url: str, earlier: Earlier) -> Fetched | None:  # noqa: ARG002 - the port's
        return _unread(url)


def _unread(url: str) -> Fetched:
    """Of a page that did not change, nothing is read."""
    return Fetched(
        url,
        HTTPStatus.NOT_MODIFIED,
        headers=(),
        request_head=b"",
        response_head=b"",
        payload=b"",
        address="",
        wall_time=0.0,
        first_byte_seconds=0.0,
        seconds=0.0,
        wire_bytes=0,
    )


def _by_depth(
    pages: Iterable[PageMemory], wanted: Callable[[PageMemory], bool]
) -> Iterator[tuple[int, Sequence[str]]]:
    """Batches of bounded work, however few pages are wanted; batches may be empty."""
    remaining = iter(pages)
    while batch := list(islice(remaining, _BATCH_PAGES)):
        by_depth: dict[int, list[str]] = defaultdict(list)
        for page in batch:
            if wanted(page):
                by_depth[page.depth].append(page.url)
        yield from sorted(by_depth.items()) or [(0, [])]
