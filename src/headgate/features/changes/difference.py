"""The difference between two versions of a page, line by line, from their archived bodies."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from headgate.model.page import Change, PageChange
from headgate.reading.change_detection import Noise, text_lines
from headgate.reading.content_coding import decode_content
from headgate.storage.page_states import PageState, read_body

__all__ = ["changed_page", "line_difference"]

_MOST_BYTES = 4_000_000
_MOST_DIFFERENCE = 200
"""Most lines shown of one page."""


def changed_page(
    collection: Path, page: tuple[str, str], old: PageState, new: PageState, noise: Noise
) -> PageChange | None:
    """The difference between two versions of a page, from their archived bodies.

    ``page`` is its site and URL; None: nothing that counts has changed.
    """
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
        url=url,
        title=new.title or old.title,
        seen_at=new.seen_at,
        before_at=old.seen_at,
        difference=tuple(difference[:_MOST_DIFFERENCE]),
        more_lines=max(len(difference) - _MOST_DIFFERENCE, 0),
    )


def _lines(collection: Path, url: str, state: PageState, noise: Noise) -> list[str] | None:
    """None: it is not text, or the archived copy cannot be read."""
    response = read_body(collection, url, state)
    if response is None:
        return None
    coding = response.header("content-encoding") or ""
    content = decode_content(response.payload, coding, _MOST_BYTES)
    return text_lines(content.data, response.header("content-type") or "", noise)


_AROUND = 1
_MOST_COMPARED = 2_000
"""Lines of each text; beyond that, everything between a common start and end is reported."""
_GAP = "  …"


def line_difference(before: Sequence[str], after: Sequence[str], noise: Noise) -> list[str]:
    """The difference of two texts, line by line, without noise.

    Removed and added lines, with one line of context; empty: nothing that counts has changed.

    >>> from headgate.reading.change_detection import Noise
    >>> old, new = ["Rates", "5 EUR", "as of 3 May 2026"], ["Rates", "6 EUR", "as of 4 May 2026"]
    >>> line_difference(old, new, Noise.from_rules())
    ['  Rates', '- 5 EUR', '+ 6 EUR', '  as of 4 May 2026']
    """
    old, old_lines = _counted(before, noise)
    new, new_lines = _counted(after, noise)
    found: list[str] = []
    shown = 0
    for first, last, start, end in _changes(old, new) if old != new else ():
        lead = max(start - _AROUND, shown)
        if found and lead > shown:
            found.append(_GAP)
        found += [f"  {line}" for line in new_lines[lead:start]]
        found += [f"- {line}" for line in old_lines[first:last]]
        found += [f"+ {line}" for line in new_lines[start:end]]
        shown = min(end + _AROUND, len(new))
        found += [f"  {line}" for line in new_lines[end:shown]]
    return found


def _counted(lines: Sequence[str], noise: Noise) -> tuple[list[str], list[str]]:
    """The lines that are not only noise, without noise and as they are."""
    both = [(counted, line) for line in lines if (counted := noise.without(line))]
    return [counted for counted, _ in both], [line for _, line in both]


def _changes(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """Pieces of both that differ. Time grows with the product of the lengths, so they are
    bounded."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(middle_old), len(middle_new)) > _MOST_COMPARED:
        return [(start, len(old) - end, start, len(new) - end)]
    matcher = SequenceMatcher(None, middle_old, middle_new)
    return [
        (first + start, last + start, begin + start, stop + start)
        for tag, first, last, begin, stop in matcher.get_opcodes()
        if tag != "equal"
    ]
