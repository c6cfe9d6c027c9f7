"""Reads what a survey needs of a response: links with anchor texts, language, charset.

If page or server say nofollow, links to the page's own host are left out, since they would be
followed. Links to other hosts are kept as facts; they are not followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.crawling.page_reading import is_html
from headgate.model.fetch import Fetched
from headgate.reading.charset import decoded
from headgate.reading.content import decode_content
from headgate.reading.directives import x_robots_tag
from headgate.reading.links import LinkOptions, links_in
from headgate.reading.urls import host

__all__ = ["SurveyedPage", "read_surveyed"]

_MOST_DECODED_BYTES = 16_000_000
_MOST_LINKS = 20_000
_MOST_ANCHOR = 100
_OPTIONS = LinkOptions(texts=True, max_links=_MOST_LINKS)


@dataclass(frozen=True, slots=True)
class SurveyedPage:
    """Empty if it is not HTML."""

    links: Sequence[tuple[str, str]] = ()
    language: str = ""
    charset: str = ""


def read_surveyed(fetched: Fetched, body: bytes | None, agent: str) -> SurveyedPage:
    kind = fetched.header("content-type") or ""
    if body is None:
        body = decode_content(fetched.payload, fetched.coding, _MOST_DECODED_BYTES).data
    if not body or not is_html(kind, body):
        return SurveyedPage()
    text = decoded(body, kind)
    page = links_in(text.text, fetched.url, text.codec, _OPTIONS)
    values = [value for name, value in fetched.headers if name == "x-robots-tag"]
    allowed = page.robots & x_robots_tag(values, agent) if values else page.robots
    own = host(fetched.url)
    unwelcome = page.nofollow if allowed.follow else frozenset(page.urls)
    links = [
        (url, page.texts.get(url, "")[:_MOST_ANCHOR])
        for url in page.urls
        if url not in unwelcome or host(url) != own
    ]
    return SurveyedPage(links, page.lang, text.codec)
