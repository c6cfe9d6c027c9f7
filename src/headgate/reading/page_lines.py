"""The visible text of a page in lines, broken where blocks begin and end."""

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
_BLOCKS = frozenset(
    ("address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "div", "dl",
     "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5",
     "h6", "head", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre", "section",
     "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul")
)  # fmt: skip
_TAG = re.compile(r"<(?:/?([a-zA-Z][a-zA-Z0-9]*+)|[/!?])[^>]*+(?:>|\Z)")


def page_lines(page: str) -> list[str]:
    """Without blank ones; of a very long page, the first.

    >>> page_lines("<title>Food</title><p>is <b>safe</b> &amp;\\n sound<li>one<script>x</script>")
    ['Food', 'is safe & sound', 'one']
    """
    seen = _UNSEEN.sub(" ", page[:_MOST_CHARACTERS])
    # Line ends of the source are not visible; those of blocks are.
    pieces = _TAG.split(seen.replace("\n", " ").replace("\r", " "))
    breaks = {name: _break(name) for name in {*pieces[1::2]}}
    pieces[1::2] = [breaks[name] for name in pieces[1::2]]
    lines = (" ".join(line.split()) for line in unescape("".join(pieces)).split("\n"))
    return [line for line in lines if line][:_MOST_LINES]


def _break(name: str | None) -> str:
    """What a tag of this name stands for; None: it is a comment or the like."""
    return "\n" if name is not None and name.lower() in _BLOCKS else " "
