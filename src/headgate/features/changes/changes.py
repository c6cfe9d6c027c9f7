"""Changes of pages: new, changed or gone, with the difference of their text.

A page may have been fetched any number of times; every change from one fetch to the next is
reported.

Memory: some 400 bytes for each fetch of a page in the largest run, and for each version that is
reported. Two bodies are read from the archive for each page whose bytes differ.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headgate.features.changes.difference import changed_page
from headgate.model.page import Change, PageChange
from headgate.reading.change_detection import Noise
from headgate.storage.collection import RunFolder
from headgate.storage.page_states import PageState, page_states

__all__ = ["Comparison", "Noises"]

Page = tuple[str, str]
"""Site and URL."""


@dataclass(frozen=True, slots=True)
class Noises:
    """Noise rules by site."""

    others: Noise
    """For sites without rules of their own."""
    by_site: Mapping[str, Noise] = field(default_factory=dict)

    def for_site(self, site: str) -> Noise:
        return self.by_site.get(site, self.others)


@dataclass(slots=True)
class Comparison:
    """Compares the pages as of the ``before`` runs with those of the ``after`` runs; oldest
    first."""

    collection: Path
    before: Sequence[RunFolder]
    after: Sequence[RunFolder]
    noises: Noises
    site: str | None = None
    since: float = -math.inf
    """Fetches of the ``after`` runs before this time, in seconds since 1970, count as before."""
    unremarkable: int = field(default=0, init=False)
    """Versions in which only noise changed; complete once all changes were iterated."""

    def changes(self) -> Iterator[PageChange]:
        """Sorted by site and URL, then by time."""
        known: dict[Page, PageState] = {}
        versions: dict[Page, list[PageState]] = defaultdict(list)
        for run in self.before:
            for page, looks in self._looks(run):
                known[page] = looks[-1]
        for run in self.after:
            for page, looks in self._looks(run):
                _add_versions(known, versions, page, looks, self.since)
        for page in sorted(versions):
            yield from self._of_page(page, versions[page])

    def _looks(self, run: RunFolder) -> Iterator[tuple[Page, list[PageState]]]:
        """The fetches of each page of a run, in order of time."""
        found: dict[Page, list[PageState]] = defaultdict(list)
        for site, url, state in page_states(run, self.site):
            found[site, url].append(state)
        for page, looks in found.items():
            looks.sort(key=lambda look: look.seen_at)
            yield page, looks

    def _of_page(self, page: Page, versions: Sequence[PageState]) -> Iterator[PageChange]:
        """``versions``: the state before (`_NEVER` if there was none), then the new ones."""
        old = versions[0]
        for new in versions[1:]:
            change = self._change(page, old, new)
            if change is not None:
                yield change
            old = new

    def _change(self, page: Page, old: PageState, new: PageState) -> PageChange | None:
        site, url = page
        before = old.seen_at if old.seen_at > -math.inf else None
        if not new.there:
            return PageChange(
                Change.GONE, site, url=url, title=old.title, seen_at=new.seen_at, before_at=before
            )
        if not old.there:
            return PageChange(
                Change.NEW, site, url=url, title=new.title, seen_at=new.seen_at, before_at=before
            )
        found = changed_page(self.collection, page, old, new, self.noises.for_site(site))
        self.unremarkable += found is None
        return found


_NEVER = PageState(-math.inf, "", content_type="", digest=b"", file="", offset=0, record_url="")


def _add_versions(
    known: dict[Page, PageState],
    versions: dict[Page, list[PageState]],
    page: Page,
    looks: Sequence[PageState],
    since: float,
) -> None:
    """Add the fetches that found a version different from the one before, which gets the time of
    the last fetch that found it."""
    for look in looks:
        last = known.get(page, _NEVER)
        if look.seen_at >= since and look.digest != last.digest:
            if page in versions:
                versions[page][-1] = last
            else:
                versions[page].append(last)
            versions[page].append(look)
        known[page] = look
