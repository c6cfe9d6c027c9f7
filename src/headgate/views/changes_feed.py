"""What changed, as an Atom feed (RFC 4287) that readers can follow.

Entries are identified by their ids: the same change always has the same id, so a reader shows it
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from headgate.model.page_change import PageChange
from headgate.views.markup import Markup, element, joined, raw

__all__ = ["changes_feed"]


def changes_feed(changes: Sequence[PageChange], collection: str, now: float) -> Iterator[str]:
    """The newest first; ``collection`` names where they were seen, ``now`` stands for an empty
    feed's time."""
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
    text = "\n".join(change.difference) or f"{change.change}: {change.url}"
    return element(
        "entry",
        element("title", f"{change.change}: {what}"),
        element("id", f"urn:sha256:{_digest(f'{collection} {change.url} {change.seen_at:.3f}')}"),
        raw(str(element("link", href=change.url)).replace("></link>", "/>")),
        element("updated", _moment(change.seen_at)),
        element("author", element("name", change.site)),
        element("content", text, type="text"),
    )


def _line(markup: Markup) -> str:
    return f"{joined([markup])}\n"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
