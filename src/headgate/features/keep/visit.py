"""A visit of a keeper: its plan, its result, and what is learned from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from headgate.control.catalog import KeptPromise, SiteState, Visit
from headgate.crawling.progress import Progress, TaskState
from headgate.features.keep.kept_memory import KnownSite
from headgate.features.keep.recrawl.scheduler import Why
from headgate.features.keep.recrawl.site_order import VisitOf
from headgate.frontier.scope import host_of
from headgate.model.run_report import Reason
from headgate.model.site import Site
from headgate.report.phrases import plural
from headgate.storage.memory.page import PageMemory
from headgate.storage.memory.site import VisitCounts

__all__ = [
    "ONE_TEXT",
    "PlannedVisit",
    "VisitEnd",
    "is_down",
    "learned_costs",
    "remedy_of",
    "standing_trouble",
    "visit_of",
    "why_down",
    "with_trouble",
]

_LEARNING = 0.3
"""Weight of the latest visit in a site's costs."""
_PLAIN_CONNECTION_BYTES = 300.0
"""Without TLS."""
_SECURE_CONNECTION_BYTES = 6_000.0
_REQUEST_BYTES, _LOOK_SECONDS = 600.0, 0.5


@dataclass(frozen=True, slots=True)
class PlannedVisit:
    """A visit that should be made now."""

    site: Site
    visit: int
    why: Why
    asks: tuple[str, ...] | None
    """None: nothing is known of the site."""
    expected_bytes: float
    expected_seconds: float
    due: float | None
    """When its promise would be broken."""
    believe: bool
    said: Mapping[str, float]
    """Predicted probability that each page has changed."""
    began: float
    """Seconds since 1970."""
    oldest_look: float
    of: VisitOf = VisitOf.ALL
    """How much of the site's turn it does if it succeeds."""


@dataclass(frozen=True, slots=True)
class VisitEnd:
    """The result of a visit."""

    visit: Visit
    counts: VisitCounts
    state: SiteState
    promise: KeptPromise | None
    checked: tuple[tuple[float, bool], ...]
    """For pages that were compared: predicted probability of a change, and whether they had
    changed."""
    of: VisitOf
    """How much of the site's turn it did."""


def is_down(progress: Progress, counts: VisitCounts) -> bool:
    """True if there was no answer: neither a page nor an error status."""
    told = counts.changed + counts.same + counts.new + counts.gone
    if told or counts.doubted:
        return False
    statuses = any(kind.isdigit() for kind in progress.errors)
    return bool(progress.given_up) or (bool(progress.errors) and not statuses)


def why_down(site: Site, progress: Progress) -> str:
    if progress.given_up:
        host, why = next(iter(progress.given_up.items()))
        return f"{host}: {why}"
    return f"{host_of(site.seeds[0])}: {next(iter(progress.errors))}"


def with_trouble(state: SiteState, before: SiteState, trouble: str, now: float) -> SiteState:
    """Set the trouble of a site; if it had one before, even another, it counts since then."""
    if not trouble:
        return state
    since = before.trouble_since if before.trouble else now
    return structs.replace(state, trouble=trouble, trouble_since=since)


def learned_costs(
    planned: PlannedVisit, before: SiteState, progress: Progress, counts: VisitCounts
) -> tuple[float, float, float]:
    """Bytes of a connection and a request, and seconds of a look, by this visit and earlier
    ones."""
    secure = planned.site.seeds[0].startswith("https:")
    connection = _SECURE_CONNECTION_BYTES if secure else _PLAIN_CONNECTION_BYTES
    connection, request, seconds = before.costs or (connection, _REQUEST_BYTES, _LOOK_SECONDS)
    if counts.not_modified:
        seen = counts.not_modified_bytes / counts.not_modified
        request += _LEARNING * (seen - request)
    if counts.asked and progress.started is not None and progress.ended is not None:
        seen = (progress.ended - progress.started) / counts.asked
        seconds += _LEARNING * (seen - seconds)
    return connection, request, seconds


def visit_of(
    planned: PlannedVisit, volume: str, progress: Progress, counts: VisitCounts, now: float
) -> Visit:
    started, ended = progress.started or 0.0, progress.ended or 0.0
    return Visit(
        site=planned.site.name,
        run=volume,
        started=planned.began,
        finished=max(now, planned.began),
        seconds=max(ended - started, 0.0),
        pages=progress.pages,
        payload_bytes=progress.payload_bytes,
        wire_bytes=progress.wire_bytes,
        complete=progress.state is TaskState.DONE and not progress.given_up,
        errors=dict(progress.errors),
        visit=planned.visit,
        why=planned.why,
        asked=counts.asked,
        changed=counts.changed,
        same=counts.same,
        new=counts.new,
        gone=counts.gone,
        saved_bytes=counts.saved_bytes,
    )


# Troubles of a kept site, and their remedies.
#
# A site has one trouble at a time, the most serious, stored as text in the catalog
# (`SiteState.trouble`); its remedy is found by the beginning of the text.


ONE_TEXT = "nearly all pages now have the same text"
_FORBIDDEN = "robots.txt now forbids"
_FLAPPING = "never the same at two looks"
_NOTHING = "no page of it could be fetched"
_REMEDIES = {
    ONE_TEXT: "look at the site; if it is meant to be so, the third visit accepts it",
    _FORBIDDEN: "ask its owner, or remove it from the file; what is stored stays, and robots.txt"
    " is read again every day",
    _FLAPPING: "name what changes in the site's ignore; until then it counts as changed once a day",
    _NOTHING: "correct its seeds in the site file; if one redirects elsewhere, use that URL. If"
    " they are right there is nothing to do: it is tried again after increasing pauses",
    "": "nothing to do if the site is down; it is tried again after increasing pauses",
}


def remedy_of(trouble: str) -> str:
    return next(words for start, words in _REMEDIES.items() if trouble.startswith(start))


def standing_trouble(known: KnownSite, progress: Progress, before: str) -> str:
    """The trouble of a site that answers; empty: none. ``before`` is its trouble before this visit,
    which may not have fetched the pages concerned."""
    forbids = Reason.ROBOTS in progress.left_out
    if known.left_out and (forbids or before.startswith(_FORBIDDEN)):
        return f"{_FORBIDDEN} {_named(known.left_out)}"
    if known.in_vain is not None:
        return f"{_NOTHING}: {_what_came(known.in_vain, forbids=forbids)}"
    return f"{_FLAPPING}: {_named(known.flapping)}" if known.flapping else ""


def _what_came(page: PageMemory, *, forbids: bool) -> str:
    if page.status:
        return f"{page.url} answered {page.status}"
    return f"robots.txt forbids {page.url}" if forbids else f"{page.url}: {page.error}"


def _named(urls: Sequence[str]) -> str:
    if len(urls) == 1:
        return urls[0]
    shortest = min(urls, key=lambda url: (len(url), url))
    return f"{plural(len(urls), 'page')}, {shortest} for one"
