"""The lines of a page as a reader sees them: its text, broken where its blocks begin and end."""

from __future__ import annotations

import re
from html import unescape

__all__ = ["page_lines"]

_MOST_CHARACTERS = 1_000_000
_MOST_LINES = 20_000
_UNSEEN = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|<(script|style|template|noscript)\b[\s\S]*?(?:</\1[^>]*+>?|\Z)",
    re.IGNORECASE,
)
_BLOCK = re.compile(
    r"</?(?:address|article|aside|blockquote|body|br|caption|dd|div|dl|dt|fieldset|figcaption|figure"
    r"|footer|form|h[1-6]|head|header|hr|li|main|nav|ol|option|p|pre|section|table|tbody|td|tfoot|th"
    r"|thead|title|tr|ul)\b[^>]*+(?:>|\Z)",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^>]*+(?:>|\Z)")


def page_lines(page: str) -> list[str]:
    """Without blank ones; of a very long page, the first.

    >>> page_lines("<title>Food</title><p>is <b>safe</b> &amp;\\n sound<li>one<script>x</script>")
    ['Food', 'is safe & sound', 'one']
    """
    seen = _UNSEEN.sub(" ", page[:_MOST_CHARACTERS])
    # Line ends of the source mean nothing to a reader; those of blocks do.
    text = _BLOCK.sub("\n", seen.replace("\n", " ").replace("\r", " "))
    lines = (" ".join(unescape(_TAG.sub(" ", line)).split()) for line in text.split("\n"))
    return [line for line in lines if line][:_MOST_LINES]
