"""The summary in a site's memory: totals, and what the last visit found."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from headgate.storage.memory.page_memory import Look, PageMemory

__all__ = ["MemorySummary", "VisitCounts"]


class VisitCounts(msgspec.Struct):
    """Results of the last merged visit, compared with what was known before."""

    asked: int = 0
    """Pages requested."""
    changed: int = 0
    same: int = 0
    """Unchanged: not modified, or sent with the same content."""
    new: int = 0
    """Seen for the first time."""
    gone: int = 0
    """Newly found to be gone."""
    failed: int = 0
    """Without an answer about the content: errors, time-outs, robots.txt."""
    not_modified: int = 0
    """Of the unchanged: answered with 304, ..."""
    not_modified_bytes: int = 0
    """... with so many bytes on the line in all, ..."""
    saved_bytes: int = 0
    """... and so many saved."""
    dates_right: int = 0
    """Pages that had changed since the date in a sitemap, as it said, ..."""
    dates_wrong: int = 0
    """... and pages that had not."""
    doubted: bool = False
    """Nearly all pages showed one new content; those looks were ignored."""

    def count(self, before: PageMemory | None, page: PageMemory, look: Look) -> None:
        self.asked += 1
        if before is not None and not page.failing and before.promised_change(look.at):
            right = page.changes > before.changes
            self.dates_right += right
            self.dates_wrong += not right
        if page.gone and not (before is not None and before.gone):
            self.gone += 1
        elif page.failing:
            self.failed += 1
        elif before is None or not before.changed:
            self.new += 1
        elif page.changes > before.changes:
            self.changed += 1
        else:
            self.same += 1
            if look.status == HTTPStatus.NOT_MODIFIED:
                self.not_modified += 1
                self.not_modified_bytes += look.size_bytes
                self.saved_bytes += page.size_bytes


class MemorySummary(msgspec.Struct, frozen=True):
    """Totals of a site."""

    site: str
    run: str = ""
    """The last run that was merged."""
    pages: int = 0
    """Pages known and not gone."""
    never_asked: int = 0
    """Of them."""
    sized: int = 0
    """Of them: sent in full at least once, ..."""
    sized_bytes: int = 0
    """... with so many bytes on the line in all, when last sent."""
    revalidatable: int = 0
    """Of them: can be requested conditionally."""
    gone: int = 0
    """Further entries, of pages that are gone."""
    files: list[str] = []
    """WARC files with payloads, by their path in the collection; entries refer to them by
    number."""
    visit: int = 0
    """The last merged visit of a keeper; 0: there is none."""
    visited: VisitCounts = msgspec.field(default_factory=VisitCounts)
    dates_right: int = 0
    """As in `VisitCounts`, over all visits."""
    dates_wrong: int = 0
