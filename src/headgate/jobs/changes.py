"""What changed between runs: pages that are new, changed or gone, with what of their text changed.

Memory: some 400 bytes for each page of the runs compared. Two bodies are read from the archive for
each page whose bytes differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headgate.model.fetch import Fetched
from headgate.model.page_change import Change, PageChange
from headgate.reading.charset import decode
from headgate.reading.content import decode_content
from headgate.reading.line_difference import line_difference
from headgate.reading.noise import Noise
from headgate.reading.page_lines import page_lines
from headgate.storage.collection import RunFolder
from headgate.storage.page_states import PageState, page_states, read_body

__all__ = ["Comparison"]

_MOST_BYTES = 4_000_000
_MOST_DIFFERENCE = 200
"""Lines told of one page."""

Pages = dict[tuple[str, str], PageState]
"""By site and URL."""


@dataclass(slots=True)
class Comparison:
    """Of the pages as ``before`` runs left them with what ``after`` runs found; oldest first."""

    collection: Path
    before: Sequence[RunFolder]
    after: Sequence[RunFolder]
    noise: Noise
    site: str | None = None
    unremarkable: int = field(default=0, init=False)
    """Pages whose bytes changed, and nothing that counts; known when all changes were taken."""

    def changes(self) -> Iterator[PageChange]:
        """In the order of sites and URLs."""
        old, new = self._pages(self.before), self._pages(self.after)
        for (site, url), state in sorted(new.items()):
            found = self._change(site, url, old.get((site, url)), state)
            if found is not None:
                yield found

    def _pages(self, runs: Iterable[RunFolder]) -> Pages:
        """As the last look of these runs found them."""
        return {
            (site, url): state for run in runs for site, url, state in page_states(run, self.site)
        }

    def _change(
        self, site: str, url: str, old: PageState | None, new: PageState
    ) -> PageChange | None:
        was = old is not None and old.there
        if not new.there:
            if not was or old is None:
                return None
            return PageChange(Change.GONE, site, url, old.title, new.seen_at, old.seen_at)
        if not was or old is None:
            before = None if old is None else old.seen_at
            return PageChange(Change.NEW, site, url, new.title, new.seen_at, before)
        if old.digest == new.digest:
            return None
        return self._changed(site, url, old, new)

    def _changed(self, site: str, url: str, old: PageState, new: PageState) -> PageChange | None:
        lines = [self._lines(url, state) for state in (old, new)]
        difference: list[str] = []
        if lines[0] is not None and lines[1] is not None:
            difference = line_difference(lines[0], lines[1], self.noise)
            if not difference:
                self.unremarkable += 1
                return None
        return PageChange(
            Change.CHANGED,
            site,
            url,
            new.title or old.title,
            new.seen_at,
            old.seen_at,
            tuple(difference[:_MOST_DIFFERENCE]),
            max(len(difference) - _MOST_DIFFERENCE, 0),
        )

    def _lines(self, url: str, state: PageState) -> list[str] | None:
        """None: it is no text, or the archive's copy cannot be read."""
        response = read_body(self.collection, url, state)
        if response is None or not _is_text(response):
            return None
        content = decode_content(
            response.payload, response.header("content-encoding") or "", _MOST_BYTES
        )
        text = decode(content.data, response.header("content-type") or "")
        if "html" in (response.header("content-type") or "html"):
            return page_lines(text)
        return [line.strip() for line in text.splitlines() if line.strip()]


def _is_text(response: Fetched) -> bool:
    kind = (response.header("content-type") or "text/html").lower()
    return kind.startswith("text/") or "html" in kind or "xml" in kind or "json" in kind
