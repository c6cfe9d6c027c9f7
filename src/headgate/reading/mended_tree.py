"""Repairs a page's tree where trafilatura would make ugly Markdown or text of it.

Documentation has permalink marks after headings, code without a language, and lines broken and
indented by editors.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

__all__ = ["apart_from_code", "as_article", "mend_tree"]

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_KEPT_AS_THEY_ARE = frozenset(("pre", "code", "textarea", "script", "style"))
_MARKS = frozenset(("", "¶", "#", "§", "🔗", "\uf0c1"))
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_WORDS = frozenset(
    ("a", "abbr", "b", "cite", "code", "em", "i", "kbd", "q", "samp", "small", "span", "strong",
     "sub", "sup", "tt", "u", "var")
)  # fmt: skip
_FENCE = "```"
_GAPS = re.compile(r"\n{3,}(?=```)|(?<=\n```)\n{3,}")


def mend_tree(tree: Any) -> None:
    """In place; linear in the tree's size."""
    for heading in list(tree.iter(*_HEADINGS)):
        for link in list(heading.iter("a")):
            if link.text_content().strip() in _MARKS and not len(link):
                link.drop_tree()
    for block in list(tree.iter("pre")):
        _as_code(block)
    for division in list(tree.iter("div")):
        if _is_sentence(division):
            division.tag = "p"
    _collapse(tree)


def as_article(tree: Any) -> Any:
    """A copy in which all of the body is one article; None: it has an article, or no heading.

    Where trafilatura finds no element that holds the main text, it gathers paragraphs from all over
    the page, without their headings."""
    body = tree.find("body")
    if body is None or next(tree.iter("article", "main"), None) is not None:
        return None
    if next(body.iter(*_HEADINGS), None) is None:
        return None
    whole = deepcopy(tree)
    body = whole.find("body")
    article = body.makeelement("article")
    article.text, body.text = body.text, None
    article.extend(list(body))
    body.append(article)
    return whole


def apart_from_code(markdown: str) -> str:
    """With blocks of code on lines of their own, and a blank line on either side.

    >>> print(apart_from_code("So: ```\\nx = 1\\n```\\nThat was it."))
    So:
    <BLANKLINE>
    ```
    x = 1
    ```
    <BLANKLINE>
    That was it.
    """
    lines: list[str] = []
    inside = False
    for line in markdown.split("\n"):
        if inside:
            inside = line.strip() != _FENCE
            lines += [line] if inside else [_FENCE, ""]
        elif line.endswith(_FENCE):
            inside = True
            lines += [line.removesuffix(_FENCE).rstrip(), "", _FENCE]
        else:
            lines.append(line.rstrip())
    return _GAPS.sub("\n\n", "\n".join(lines)) if _FENCE in markdown else markdown


def _as_code(block: Any) -> None:
    """One line more than it has, so that it is a block of its own and no word in a sentence."""
    text = block.text_content().strip("\n")
    if not text.strip():
        return
    tail = block.tail if block.tail and block.tail.strip() else None
    block.clear()
    block.tag = "code"
    block.text, block.tail = f"{text}\n", tail


def _is_sentence(division: Any) -> bool:
    """Text, and nothing but words inside it: a paragraph by another name, of which the library
    would keep the words inside alone."""
    texts = [division.text, *(child.tail for child in division)]
    return any(text and text.strip() for text in texts) and all(
        child.tag in _WORDS for child in division
    )


def _collapse(tree: Any) -> None:
    """Blanks and line ends, as browsers do."""
    kept = {node for name in _KEPT_AS_THEY_ARE for node in tree.iter(name)}
    inside = {node for top in kept for node in top.iter()}
    for node in tree.iter():
        if node.text and node not in inside:
            node.text = _BLANKS.sub(" ", node.text)
        if node.tail and (node in kept or node not in inside):
            node.tail = _BLANKS.sub(" ", node.tail)
