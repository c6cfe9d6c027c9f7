"""The visible text of a page in lines, broken where blocks begin and end."""

from __future__ import annotations

import re
from html import unescape

from headgate.reading.tags import BLANK, attributes
from headgate.reading.urls import UrlJoiner, without_fragment

__all__ = ["LinkWords", "page_lines", "page_text", "page_words"]

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


# The text of a page, and the words around each of its links.
#
# A separate pass, made only if there is a focus. It is rougher than the one for links: a tag ends
# at its first ``>``, and text is words with blanks in between. Time grows with the page's length:
# every part of a pattern that can run on to the end of the page takes what it ran over.


_MOST_WORD_CHARACTERS = 500_000
"""Only so much of a page is read."""
_MOST_LINKS = 5_000
_LONGEST_ANCHOR = 2_000
_AROUND = 250
"""Characters of markup on either side of an anchor."""
_MOST_ANCHOR_TEXT = 500

_WORDLESS = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|<(script|style|template)\b[\s\S]*?(?:</\1[^>]*+>?|\Z)", re.IGNORECASE
)
_ANY_TAG = re.compile(r"<[^>]*+(?:>|\Z)")
_ANCHOR = re.compile(rf"<[aA](?=[{BLANK}])([^>]*+)(?:>|\Z)")
_ANCHOR_EDGE = re.compile(rf"</?[aA](?=[{BLANK}/>])")

LinkWords = dict[str, tuple[str, str]]
"""By URL: the text of the anchors that lead there, and the text beside the first of them."""


def page_text(page: str) -> str:
    """All visible text.

    >>> page_text("<title>Food</title><style>a</style><p>is <b>safe</b> &amp; sound").split()
    ['Food', 'is', 'safe', '&', 'sound']
    """
    return _shown(_WORDLESS.sub(" ", page[:_MOST_WORD_CHARACTERS]))


def page_words(page: str, base: str, codec: str = "utf-8") -> tuple[str, LinkWords]:
    """The page's text, and the words of its links; ``base``: base URL of references."""
    seen = _WORDLESS.sub(" ", page[:_MOST_WORD_CHARACTERS])
    resolver = UrlJoiner(base, codec)
    links: LinkWords = {}
    for anchor in _ANCHOR.finditer(seen):
        url = _target(anchor[1], resolver)
        if url is None or (url not in links and len(links) >= _MOST_LINKS):
            continue
        limit = anchor.end() + _LONGEST_ANCHOR
        edge = _ANCHOR_EDGE.search(seen, anchor.end(), limit)
        end = anchor.end() if edge is None else edge.start()
        text = _shown(seen[anchor.end() : end])
        if url not in links:
            links[url] = (text, _around(seen, anchor.start(), end))
        elif text not in links[url][0] and len(links[url][0]) < _MOST_ANCHOR_TEXT:
            links[url] = (f"{links[url][0]} {text}", links[url][1])
    return _shown(seen), links


def _target(attribute_text: str, resolver: UrlJoiner) -> str | None:
    href = attributes(attribute_text).get("href")
    if href and "#" in href:
        href = without_fragment(href)
    return resolver.join(href) if href else None


def _around(page: str, start: int, end: int) -> str:
    """The text before and behind, without the halves of tags that the cut leaves."""
    before = page[max(start - _AROUND, 0) : start]
    close, opening = before.find(">"), before.find("<")
    if close >= 0 and (opening < 0 or close < opening):
        before = before[close + 1 :]
    return _shown(f"{before} {page[end : end + _AROUND]}")


def _shown(markup: str) -> str:
    text = _ANY_TAG.sub(" ", markup)
    return " ".join((unescape(text) if "&" in text else text).split())
