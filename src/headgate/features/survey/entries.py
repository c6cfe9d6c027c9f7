"""What a survey reads of a response, and what it writes into its log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from headgate.crawling.page_reader import is_html
from headgate.crawling.robots import RobotsFile
from headgate.features.survey.strategy.entries import RequestEnding, RobotsStance, SurveyEntry
from headgate.features.survey.strategy.events import Harvest
from headgate.features.survey.strategy.server_tree import ServerTree
from headgate.model.fetch import FailureKind, Fetched, FetchFailure
from headgate.reading.charset import decoded
from headgate.reading.content_coding import decode_content
from headgate.reading.links import LinkOptions, links_in
from headgate.reading.robots import x_robots_tag
from headgate.reading.urls import host

__all__ = [
    "SurveyedPage",
    "changed",
    "conditions",
    "entry_of",
    "page_entry",
    "read_surveyed",
    "robots_entry",
    "unchanged_entry",
]


# Entries of the survey's log, and conditional headers from those of an earlier survey.


def entry_of(
    tree: ServerTree, url: str, depth: int, outcome: Fetched | FetchFailure, ending: RequestEnding
) -> SurveyEntry:
    """The entry of a request, before its body is read."""
    plain = SurveyEntry(
        tree.domain,
        tree.start,
        round=tree.round,
        url=url,
        depth=depth,
        ending=ending,
        wall_time=outcome.wall_time,
        wire_bytes=outcome.wire_bytes,
        seconds=outcome.seconds,
    )
    if isinstance(outcome, FetchFailure):
        tls_error = outcome.detail if outcome.kind is FailureKind.TLS else ""
        return changed(plain, detail=outcome.kind.value, tls_error=tls_error)
    return changed(
        plain,
        status=outcome.status,
        address=outcome.address,
        payload_bytes=len(outcome.payload),
        first_byte_seconds=outcome.first_byte_seconds,
        software=(outcome.header("server") or "")[:200],
        content_type=(outcome.header("content-type") or "")[:200],
        etag=(outcome.header("etag") or "")[:1000],
        last_modified=(outcome.header("last-modified") or "")[:100],
        tls=outcome.tls if host(outcome.url) == host(url) else None,
    )


def changed(entry: SurveyEntry, **changes: object) -> SurveyEntry:
    return msgspec.structs.replace(entry, **changes)


def robots_entry(tree: ServerTree, origin: str, found: RobotsFile) -> SurveyEntry:
    """One entry for all requests that redirects took."""
    entry = entry_of(tree, f"{origin}/robots.txt", 0, found.outcomes[-1], RequestEnding.ROBOTS)
    return changed(
        entry,
        requests=len(found.outcomes),
        wire_bytes=sum(outcome.wire_bytes for outcome in found.outcomes),
        robots=_stance(found, origin),
        crawl_delay=found.rules.crawl_delay or 0.0,
    )


def _stance(found: RobotsFile, origin: str) -> RobotsStance:
    last = found.outcomes[-1]
    if found.rules.unreachable or isinstance(last, FetchFailure):
        return RobotsStance.UNAVAILABLE
    if last.status >= 300:
        return RobotsStance.ABSENT
    if not found.rules.paths:
        return RobotsStance.OPEN
    home = found.rules.allows(f"{origin}/")
    return RobotsStance.PARTIAL if home else RobotsStance.CLOSED


def page_entry(entry: SurveyEntry, page: SurveyedPage, harvest: Harvest) -> SurveyEntry:
    """The entry of a page, without unwanted links."""
    links = page.links
    if harvest.unwanted:
        links = [link for link in links if host(link[0]) not in harvest.unwanted]
    return changed(
        entry,
        links=links,
        language=page.language,
        charset=page.charset,
        new_hosts=harvest.new_hosts,
    )


def unchanged_entry(entry: SurveyEntry, earlier: SurveyEntry, harvest: Harvest) -> SurveyEntry:
    """The entry of a 304 response, with the page's earlier contents."""
    return changed(
        entry,
        status=earlier.status,
        content_type=earlier.content_type,
        charset=earlier.charset,
        language=earlier.language,
        etag=entry.etag or earlier.etag,
        last_modified=entry.last_modified or earlier.last_modified,
        links=earlier.links,
        new_hosts=harvest.new_hosts,
    )


def conditions(earlier: SurveyEntry | None) -> tuple[tuple[str, str], ...]:
    """The headers of a conditional request."""
    if earlier is None or earlier.ending not in (RequestEnding.PAGE, RequestEnding.UNCHANGED):
        return ()
    pairs = (("If-None-Match", earlier.etag), ("If-Modified-Since", earlier.last_modified))
    return tuple((name, value) for name, value in pairs if value)


_MOST_DECODED_BYTES = 16_000_000
_MOST_LINKS = 20_000
_MOST_ANCHOR = 100
_OPTIONS = LinkOptions(texts=True, max_links=_MOST_LINKS)


@dataclass(frozen=True, slots=True)
class SurveyedPage:
    """Reads what a survey needs of a response: links with anchor texts, language, charset.

    If page or server say nofollow, links to the page's own host are left out, since they would be
    followed. Links to other hosts are kept as facts; they are not followed.

    Empty if it is not HTML.
    """

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
