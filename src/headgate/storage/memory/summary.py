"""What a site's memory says of itself: the site at a glance, and what the last visit found."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from headgate.storage.memory.page_memory import Look, PageMemory

__all__ = ["MemorySummary", "VisitCounts"]


class VisitCounts(msgspec.Struct):
    """What the last visit that was merged found, beside what was known before it."""

    asked: int = 0
    """Looks at pages, whatever came of them."""
    changed: int = 0
    same: int = 0
    """Not modified, or sent with the same content."""
    new: int = 0
    """Seen for the first time."""
    gone: int = 0
    """Found gone, which they were not."""
    failed: int = 0
    """Told nothing: errors, silence, robots.txt."""
    not_modified: int = 0
    """Of the same: without their bytes, ..."""
    not_modified_bytes: int = 0
    """... with so many on the line all together, ..."""
    saved_bytes: int = 0
    """... instead of so many."""
    dates_right: int = 0
    """Looks at pages that a sitemap said had changed, where that was so, ..."""
    dates_wrong: int = 0
    """... and where it was not."""
    doubted: bool = False
    """One new content stood for nearly all pages; those looks were passed over."""

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
    """A site at a glance."""

    site: str
    run: str = ""
    """The last that was merged."""
    pages: int = 0
    """Known and not gone."""
    never_asked: int = 0
    """Of them."""
    sized: int = 0
    """Of them: sent whole at least once, ..."""
    sized_bytes: int = 0
    """... with so many bytes on the line when last sent, all together."""
    revalidatable: int = 0
    """Of them: can be asked for on condition that they changed."""
    gone: int = 0
    """Beside them: entries of pages that are gone."""
    files: list[str] = []
    """WARC files that hold payloads, within the collection; entries name them by number."""
    visit: int = 0
    """The last that was merged, of a site that is visited again and again; 0: it is not."""
    visited: VisitCounts = msgspec.field(default_factory=VisitCounts)
    dates_right: int = 0
    """Of all visits: `VisitCounts`."""
    dates_wrong: int = 0
