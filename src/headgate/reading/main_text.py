"""The main text of a page, without menus and margins, by trafilatura.

If trafilatura finds none, as on short pages, all visible text is taken. The language is the one
that the page declares, or else detected by py3langid.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from headgate.model.extras import extra
from headgate.reading.mended_tree import apart_from_code, as_article, mend_tree
from headgate.reading.page_lines import page_lines

__all__ = ["FORMS", "MainText", "check_main_text", "main_text"]

FORMS = ("text", "markdown")
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
