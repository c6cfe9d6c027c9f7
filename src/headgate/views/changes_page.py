"""What changed, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from headgate.model.page_change import Change, PageChange
from headgate.views.changes_text import moment
from headgate.views.html_page import document, section
from headgate.views.markup import Markup, element, joined, raw
from headgate.views.plan_words import plural

__all__ = ["changes_page"]

_LINE_END = raw("\n")
"""As markup: in text it would be replaced as a control character."""
_CLASSES = {"-": "went", "+": "came", " ": "around"}


def changes_page(changes: Sequence[PageChange], title: str, summary: str) -> str:
    """Pages with a difference, one below the other, and lists of new and gone ones."""
    parts = [element("h1", title), element("p", summary, class_="amounts")]
    for site, of_site in groupby(changes, key=attrgetter("site")):
        parts.append(section(site, joined(_of_site(list(of_site)))))
    return document(title, joined(parts))


def _of_site(changes: Sequence[PageChange]) -> Iterable[Markup]:
    yield from (_differing(change) for change in changes if change.difference)
    for kind in Change:
        bare = [change for change in changes if change.change is kind and not change.difference]
        if bare:
            heading = f"{kind.capitalize()}: {plural(len(bare), 'page')}"
            yield element("h3", heading)
            yield element("ul", *map(_listed, bare), class_="changes")


def _differing(change: PageChange) -> Markup:
    return element(
        "div",
        element("h3", f"{change.change}: ", _link(change)),
        element("p", _times(change), class_="note"),
        element("pre", *_lines(change), class_="difference"),
        class_="change",
    )


def _listed(change: PageChange) -> Markup:
    return element("li", _link(change), " ", element("span", _times(change), class_="note"))


def _times(change: PageChange) -> str:
    if change.before_at is None:
        return f"seen {moment(change.seen_at)}"
    return f"between {moment(change.before_at)} and {moment(change.seen_at)}"


def _link(change: PageChange) -> Markup:
    name = change.title or change.url
    if change.change is Change.GONE or not change.url.startswith(("http://", "https://")):
        return element("span", name, title=change.url)
    return element("a", name, href=change.url, title=change.url, rel="noreferrer")


def _lines(change: PageChange) -> Iterable[Markup]:
    for line in change.difference:
        yield element("span", line, _LINE_END, class_=_CLASSES[line[0]])
    if change.more_lines:
        yield element("span", f"  … {change.more_lines} more lines", _LINE_END, class_="around")
