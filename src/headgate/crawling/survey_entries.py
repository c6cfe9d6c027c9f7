"""Entries of the survey's log, and conditional headers from those of an earlier survey."""

from __future__ import annotations

import msgspec

from headgate.crawling.robots import RobotsFile
from headgate.crawling.survey_reading import SurveyedPage
from headgate.model.fetch import FailureKind, Fetched, FetchFailure
from headgate.reading.urls import host
from headgate.surveying.answers import Harvest
from headgate.surveying.entries import Ending, RobotsStance, SurveyEntry
from headgate.surveying.server_tree import ServerTree

__all__ = [
    "changed",
    "conditions",
    "entry_of",
    "page_entry",
    "robots_entry",
    "unchanged_entry",
]


def entry_of(
    tree: ServerTree, url: str, depth: int, outcome: Fetched | FetchFailure, ending: Ending
) -> SurveyEntry:
    """The entry of a request, before its body is read."""
    plain = SurveyEntry(
        tree.domain, tree.start, tree.round, url, depth, ending, outcome.wall_time,
        wire_bytes=outcome.wire_bytes, seconds=outcome.seconds,
    )  # fmt: skip
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
    entry = entry_of(tree, f"{origin}/robots.txt", 0, found.outcomes[-1], Ending.ROBOTS)
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
    if earlier is None or earlier.ending not in (Ending.PAGE, Ending.UNCHANGED):
        return ()
    pairs = (("If-None-Match", earlier.etag), ("If-Modified-Since", earlier.last_modified))
    return tuple((name, value) for name, value in pairs if value)
