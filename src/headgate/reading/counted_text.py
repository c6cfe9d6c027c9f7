"""The part of a page that counts when deciding whether it has changed.

For text, the visible lines without noise; for anything else, and for pages without visible text,
every byte. Two copies of a page with text have the same `counted_digest` if `line_difference` is
empty.
"""

from __future__ import annotations

from headgate.reading.charset import decode
from headgate.reading.digests import content_digest
from headgate.reading.noise import Noise
from headgate.reading.page_lines import page_lines

__all__ = ["counted_digest", "text_lines"]

_MOST_BYTES = 4_000_000
"""Only the beginning of a page is read."""


def counted_digest(body: bytes, content_type: str, noise: Noise) -> bytes:
    """Sixteen bytes that change when the page does; ``body`` is the decoded content.

    >>> noise = Noise.of()
    >>> old = counted_digest(b"<p>5 EUR<p>7 views", "text/html", noise)
    >>> old == counted_digest(b"<div>5 <b>EUR</b></div>8 views", "text/html", noise)
    True
    >>> old == counted_digest(b"<p>6 EUR<p>7 views", "text/html", noise)
    False
    """
    lines = text_lines(body, content_type, noise)
    if not lines:
        return content_digest(body)
    counted = (noise.without(line) for line in lines)
    text = "\n".join(line for line in counted if line)
    return content_digest(text.encode("utf-8", "surrogatepass"))


def text_lines(body: bytes, content_type: str, noise: Noise) -> list[str] | None:
    """The lines of a page without ignored elements, but with all other noise; None: it is no
    text."""
    kind = (content_type or "text/html").lower()
    if not _is_text(kind):
        return None
    text = decode(body[:_MOST_BYTES], content_type)
    if "html" in kind:
        return page_lines(noise.without_elements(text))
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or "html" in kind or "xml" in kind or "json" in kind
