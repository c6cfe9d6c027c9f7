"""The difference between two versions of a page, from their archived bodies."""

from __future__ import annotations

from pathlib import Path

from headgate.model.page_change import Change, PageChange
from headgate.reading.content import decode_content
from headgate.reading.counted_text import text_lines
from headgate.reading.line_difference import line_difference
from headgate.reading.noise import Noise
from headgate.storage.page_state import PageState, read_body

__all__ = ["changed_page"]

_MOST_BYTES = 4_000_000
_MOST_DIFFERENCE = 200
"""Most lines shown of one page."""


def changed_page(
    collection: Path, page: tuple[str, str], old: PageState, new: PageState, noise: Noise
) -> PageChange | None:
    """``page`` is its site and URL; None: nothing that counts has changed."""
    site, url = page
    lines = [_lines(collection, url, state, noise) for state in (old, new)]
    difference: list[str] = []
    if lines[0] is not None and lines[1] is not None:
        difference = line_difference(lines[0], lines[1], noise)
        if not difference:
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


def _lines(collection: Path, url: str, state: PageState, noise: Noise) -> list[str] | None:
    """None: it is not text, or the archived copy cannot be read."""
    response = read_body(collection, url, state)
    if response is None:
        return None
    coding = response.header("content-encoding") or ""
    content = decode_content(response.payload, coding, _MOST_BYTES)
    return text_lines(content.data, response.header("content-type") or "", noise)
