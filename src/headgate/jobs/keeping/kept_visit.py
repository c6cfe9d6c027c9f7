"""A visit of a keeper, before and after: what was planned, what came of it, what it says of its
site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import structs

from headgate.control.catalog import KeptPromise, SiteState, Visit
from headgate.crawling.progress import Progress, TaskState
from headgate.frontier.scope import host_of
from headgate.model.site import Site
from headgate.recrawl.site_board import Why
from headgate.recrawl.site_order import VisitOf
from headgate.storage.memory.summary import VisitCounts

__all__ = [
    "PlannedVisit",
    "VisitEnd",
    "is_down",
    "learned_costs",
    "visit_of",
    "why_down",
    "with_trouble",
]

_LEARNING = 0.3
"""Of what a visit says of a site's costs."""
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
    """Of the pages, the probability that they have changed."""
    began: float
    """Seconds since 1970."""
    oldest_look: float
    of: VisitOf = VisitOf.ALL
    """If it goes well, of its site's turn."""


@dataclass(frozen=True, slots=True)
class VisitEnd:
    """What came of one."""

    visit: Visit
    counts: VisitCounts
    state: SiteState
    promise: KeptPromise | None
    checked: tuple[tuple[float, bool], ...]
    """Of pages whose looks told: what had been said, and whether they had changed."""
    of: VisitOf
    """Of its site's turn."""


def is_down(progress: Progress, counts: VisitCounts) -> bool:
    """Nobody answered: neither a page nor an error status came."""
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
    """A site that had a trouble before has had it since then, whatever it is called now."""
    if not trouble:
        return state
    since = before.trouble_since if before.trouble else now
    return structs.replace(state, trouble=trouble, trouble_since=since)


def learned_costs(
    planned: PlannedVisit, before: SiteState, progress: Progress, counts: VisitCounts
) -> tuple[float, float, float]:
    """What connections, requests and looks cost at this site, by this visit and those before."""
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
