"""From a response to what a survey wants of it: links with anchor texts, language, charset.

Where page or server say nofollow, links to the page's own host are left out: they would be walked.
Links to other hosts stay, because they are facts and nobody follows them from here.
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
    """Empty for what is no page of HTML."""

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
