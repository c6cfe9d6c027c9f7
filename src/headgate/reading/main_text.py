"""The main text of a page, without menus and margins, by trafilatura.

If trafilatura finds none, as on short pages, all visible text is taken. The language is the one
that the page declares, or else detected by py3langid.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import msgspec

from headgate.model.errors import extra
from headgate.reading.page_text import page_lines

__all__ = ["TEXT_FORMS", "check_main_text", "main_text"]

TEXT_FORMS = ("text", "markdown")
_LANGUAGE_CHARACTERS = 2_000
_LEAST_CHARACTERS = 60
"""With less text, the language is not detected."""
_DATES = {"extensive_search": False, "original_date": True}
"""Only dates that the page declares, not those in its text."""
_FEATURES = "main text and Markdown"
_HEADING = re.compile(r"^#+ .*\n*", re.MULTILINE)
_LITTLE_MORE = 1.1
_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")


class MainText(msgspec.Struct, frozen=True):
    """Fields are empty if unknown."""

    text: str
    language: str = ""
    published: str = ""
    """A date like 2026-11-15, as the page declares it."""


def check_main_text() -> None:
    """Raises `MissingExtra` where the packages are not installed."""
    extra("trafilatura", _FEATURES, "text")
    extra("py3langid", _FEATURES, "text")


def main_text(page: str, url: str, form: str = "text", language: str = "") -> MainText:
    """The main text of HTML as "text" or "markdown"; ``language``: as the page declares it."""
    trafilatura = extra("trafilatura", _FEATURES, "text")
    tree = trafilatura.load_html(page)
    if tree is None:
        return MainText("\n".join(page_lines(page)))
    about = trafilatura.extract_metadata(tree, default_url=url, date_config=_DATES)
    # By default trafilatura resolves references against the host, ignoring the page's folder.
    tree.make_links_absolute(url, handle_failures="ignore")
    mend_tree(tree)
    whole = as_article(tree) if form == "markdown" else None
    text = _extracted(trafilatura, tree, url, form)
    if text and form == "markdown":
        if whole is not None and not _HEADING.search(text):
            text = _with_headings(text, _extracted(trafilatura, whole, url, form))
        text = apart_from_code(text)
    text = text or "\n".join(page_lines(page))
    return MainText(
        text,
        _language(text, language),
        (about and about.date) or "",
    )


def _extracted(trafilatura: Any, tree: Any, url: str, form: str) -> str:
    text: str | None = trafilatura.extract(
        tree,
        url=url,
        fast=True,
        include_comments=False,
        include_links=form == "markdown",
        output_format="txt" if form == "text" else "markdown",
    )
    return text or ""


def _with_headings(text: str, whole: str) -> str:
    """The page as one article, unless that brings its margins along."""
    headings = sum(len(heading) for heading in _HEADING.findall(whole))
    return whole if headings and len(whole) - headings <= _LITTLE_MORE * len(text) else text


def _language(text: str, stated: str) -> str:
    found = _TAG.match(stated.strip())
    if found is not None:
        return found[0].lower()
    if len(text) < _LEAST_CHARACTERS:
        return ""
    return str(extra("py3langid", _FEATURES, "text").classify(text[:_LANGUAGE_CHARACTERS])[0])


# Repairs a page's tree where trafilatura would make ugly Markdown or text of it.
#
# Documentation has permalink marks after headings, code without a language, and lines broken and
# indented by editors.


_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_KEPT_AS_THEY_ARE = frozenset(("pre", "code", "textarea", "script", "style"))
_MARKS = frozenset(("", "¶", "#", "§", "🔗", "\uf0c1"))
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_WORDS = frozenset(
    ("a", "abbr", "b", "cite", "code", "em", "i", "kbd", "q", "samp", "small", "span", "strong",
     "sub", "sup", "tt", "u", "var")
)  # fmt: skip
_FENCE = "```"
_GAPS = re.compile(r"(?<!\n)\n{3,}+(?=```)|(?<=\n```)\n{3,}+")


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
