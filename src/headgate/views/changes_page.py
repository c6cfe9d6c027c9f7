"""What changed, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from headgate.model.page_change import Change, PageChange
from headgate.views.changes_text import moment
from headgate.views.html_page import document, section
from headgate.views.markup import Markup, element, joined

__all__ = ["changes_page"]

_CLASSES = {"-": "went", "+": "came", " ": "around"}


def changes_page(changes: Sequence[PageChange], title: str, summary: str) -> str:
    parts = [element("h1", title), element("p", summary, class_="amounts")]
    for site, of_site in groupby(changes, key=attrgetter("site")):
        parts.append(section(site, joined(_page(change) for change in of_site)))
    return document(title, joined(parts))


def _page(change: PageChange) -> Markup:
    times = f"seen {moment(change.seen_at)}"
    if change.before_at is not None:
        times = f"between {moment(change.before_at)} and {moment(change.seen_at)}"
    parts = [
        element("h3", f"{change.change}: ", _link(change)),
        element("p", times, class_="note"),
    ]
    if change.difference:
        parts.append(element("pre", *_lines(change), class_="difference"))
    return element("article", *parts)


def _link(change: PageChange) -> Markup:
    name = change.title or change.url
    if change.change is Change.GONE or not change.url.startswith(("http://", "https://")):
        return element("span", name, title=change.url)
    return element("a", name, href=change.url, title=change.url, rel="noreferrer")


def _lines(change: PageChange) -> Iterable[Markup]:
    for line in change.difference:
        yield element("span", f"{line}\n", class_=_CLASSES[line[0]])
    if change.more_lines:
        yield element("span", f"  … {change.more_lines} more lines\n", class_="around")
