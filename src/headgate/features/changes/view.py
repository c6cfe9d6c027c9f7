"""What changed: as an Atom feed, as a page, and for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby
from operator import attrgetter

from headgate.model.page import Change, PageChange
from headgate.report.html_page import document, section
from headgate.report.markup import Markup, element, joined, raw
from headgate.report.phrases import plural

__all__ = ["change_lines", "changes_feed", "changes_in_words", "changes_page", "moment"]


def changes_feed(changes: Sequence[PageChange], collection: str, now: float) -> Iterator[str]:
    """What changed, as an Atom feed (RFC 4287) that readers can follow.

    Entries are identified by their ids: the same change always has the same id, so a reader shows
    it once.

    The newest first; ``collection`` names where they were seen, ``now`` stands for an empty
    feed's time.
    """
    newest = sorted(changes, key=lambda change: -change.seen_at)
    yield '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
    yield _line(element("title", f"Changes in {collection}"))
    yield _line(element("id", f"urn:sha256:{_digest(collection)}"))
    yield _line(element("updated", _moment(newest[0].seen_at if newest else now)))
    yield _line(element("generator", "Headgate"))
    for change in newest:
        yield _line(_entry(change, collection))
    yield "</feed>\n"


def _entry(change: PageChange, collection: str) -> Markup:
    what = change.title or change.url
    lines = change.difference or (f"{change.change}: {change.url}",)
    return element(
        "entry",
        element("title", f"{change.change}: {what}"),
        element("id", f"urn:sha256:{_digest(f'{collection} {change.url} {change.seen_at:.3f}')}"),
        raw(str(element("link", href=change.url)).replace("></link>", "/>")),
        element("updated", _moment(change.seen_at)),
        element("author", element("name", change.site)),
        element("content", joined(lines, "\n"), type="text"),
    )


def _line(markup: Markup) -> str:
    return f"{joined([markup])}\n"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_LINE_END = raw("\n")
"""As markup: in text it would be replaced as a control character."""
_CLASSES = {"-": "went", "+": "came", " ": "around"}


def changes_page(changes: Sequence[PageChange], title: str, summary: str) -> str:
    """What changed, as one HTML page that needs nothing else.

    Pages with a difference, one below the other, and lists of new and gone ones.
    """
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


# What changed, for a terminal: pages by site, with removed and added lines.


_SIGNS = {Change.NEW: "+", Change.CHANGED: "~", Change.GONE: "-"}


def change_lines(changes: Iterable[PageChange]) -> Iterator[str]:
    """In the given order: a heading per site, a line per change, and its difference; with the time
    if a page has several."""
    for site, of_site in groupby(changes, key=attrgetter("site")):
        yield f"{site}"
        for _, of_page in groupby(of_site, key=attrgetter("url")):
            versions = list(of_page)
            for change in versions:
                yield from _change(change, at=moment(change.seen_at) if versions[1:] else "")


def _change(change: PageChange, at: str) -> Iterator[str]:
    words = [change.url, change.title, at]
    yield f"  {_SIGNS[change.change]} {'  '.join(filter(None, words))}"
    yield from (f"      {line}" for line in change.difference)
    if change.more_lines:
        yield f"      … {plural(change.more_lines, 'more line')}"


def changes_in_words(counts: Counter[Change], unremarkable: int) -> str:
    """A summary.

    >>> changes_in_words(Counter({Change.NEW: 2, Change.GONE: 1}), 3)
    '2 pages new, 0 changed, 1 gone; 3 differ only in markup, dates, counters or tokens.'
    """
    said = (
        f"{plural(counts[Change.NEW], 'page')} new, {counts[Change.CHANGED]} changed,"
        f" {counts[Change.GONE]} gone"
    )
    if unremarkable:
        differ = "differs" if unremarkable == 1 else "differ"
        said += f"; {unremarkable} {differ} only in markup, dates, counters or tokens"
    return f"{said}."


def moment(seconds: float) -> str:
    """A time as text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
