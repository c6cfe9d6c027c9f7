"""Reads a site's memory into arrays, for a decision about the site.

Freed after the decision; takes some 30 µs and 600 bytes per page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from headgate.control.catalog import SiteState
from headgate.features.keep.recrawl.kept_site import (
    DAY_SECONDS,
    KeptSite,
    LastmodTrust,
    LookCosts,
    SitePages,
    SiteTerms,
)
from headgate.features.keep.recrawl.page_histories import histories_of, is_flapping
from headgate.features.keep.recrawl.page_policies import PagePolicy
from headgate.features.keep.recrawl.rates import RatePrior
from headgate.features.keep.recrawl.site_outlook import Outlook
from headgate.features.keep.visit_memory import LEFT_OUT
from headgate.frontier.retries import pause_after
from headgate.frontier.scope import host_of
from headgate.model.page import LINK_RULES
from headgate.model.site import Site
from headgate.storage.memory.page import PageMemory
from headgate.storage.memory.site import MemorySummary, SiteMemory

__all__ = [
    "KnownSite",
    "basis_of",
    "decode_outlook",
    "encode_outlook",
    "read_known_site",
    "terms_of",
]

_USUAL_BYTES = 20_000.0
_AHEAD_SECONDS = 300.0
"""Times further in the future are due to a wrong clock."""


@dataclass(frozen=True, slots=True)
class KnownSite:
    """What is known of a site before or after a visit."""

    kept: KeptSite
    urls: Sequence[str]
    """Of the pages, in the order of the arrays."""
    summary: MemorySummary
    left_out: Sequence[str] = ()
    """URLs of archived pages that the last visit for them left out, as robots.txt forbids them."""
    flapping: Sequence[str] = ()
    """URLs of flapping pages (`features.keep.recrawl.page_histories`)."""
    in_vain: PageMemory | None = None
    """If pages were fetched and none is archived, the one nearest to a seed."""


def terms_of(site: Site) -> SiteTerms:
    keeping = site.keeping
    return SiteTerms(
        keeping.importance,
        keeping.fresh_within,
        keeping.min_interval,
        tuple(sorted({host_of(seed) for seed in site.seeds})),
    )


def read_known_site(
    memory: SiteMemory, site: Site, prior: RatePrior, state: SiteState | None, now: float
) -> KnownSite:
    """As of ``now``, seconds since 1970."""
    terms = terms_of(site)
    pages = list(memory)
    arrays = SitePages.unasked(len(pages))
    sizes = np.array([page.size_bytes for page in pages], dtype=float)
    known_sizes = sizes[sizes > 0]
    usual = float(np.median(known_sizes)) if len(known_sizes) else _USUAL_BYTES
    arrays.sizes = np.where(sizes > 0, sizes, usual)
    arrays.asked = np.array([_believable(page.asked, now) for page in pages], dtype=float)
    arrays.known_at = np.array([_believable(page.told_at, now) for page in pages], dtype=float)
    arrays.validators = np.array([page.heeds_conditions for page in pages], dtype=bool)
    arrays.not_before = np.array([_waits(page, terms, now) for page in pages], dtype=float)
    arrays.told_at = np.array([page.modified for page in pages], dtype=float)
    arrays.links_unknown = np.array([page.links_unknown for page in pages], dtype=bool)
    arrays.histories = histories_of([page.history for page in pages])
    summary = memory.summary
    costs = LookCosts() if state is None or state.costs is None else LookCosts(*state.costs)
    trust = LastmodTrust(summary.dates_right, summary.dates_wrong)
    kept = KeptSite(terms, arrays, prior.probabilities(terms.grid), costs, trust)
    flapping = np.flatnonzero(is_flapping(arrays.histories, terms.shortly))
    return KnownSite(
        kept,
        [page.url for page in pages],
        summary=summary,
        left_out=[page.url for page in pages if page.error == LEFT_OUT and page.digest],
        flapping=[pages[number].url for number in flapping.tolist()],
        in_vain=_in_vain(pages),
    )


def basis_of(policy: PagePolicy, site: Site) -> str:
    """What an outlook depends on beside the pages: one made on another basis cannot be compared
    with those of other sites."""
    keeping = site.keeping
    terms = f"{keeping.importance} {keeping.fresh_within} {keeping.min_interval}"
    return f"{policy} {terms} {LINK_RULES}"


def encode_outlook(outlook: Outlook, basis: str) -> bytes:
    return msgspec.msgpack.encode((basis, outlook))


def decode_outlook(data: bytes, basis: str) -> Outlook | None:
    """None: there is none, or it was made by another version or on another basis."""
    try:
        before, outlook = msgspec.msgpack.decode(data, type=tuple[str, Outlook])
    except msgspec.MsgspecError:
        return None
    return outlook if before == basis else None


def _in_vain(pages: Sequence[PageMemory]) -> PageMemory | None:
    if any(page.told_at for page in pages):
        return None
    asked = (page for page in pages if page.looks)
    return min(asked, key=lambda page: page.depth, default=None)


def _believable(moment: float, now: float) -> float:
    """A time in the future is due to a wrong clock that was set back since; it is taken for a day
    ago."""
    return moment if moment <= now + _AHEAD_SECONDS else now - DAY_SECONDS


def _waits(page: PageMemory, terms: SiteTerms, now: float) -> float:
    if page.asked > now + _AHEAD_SECONDS:
        return 0.0
    return not_before(
        page.asked,
        missing=page.missing,
        failing=page.failing,
        redirects=300 <= page.status < 400,
        left_out=page.error == LEFT_OUT,
        shortest=terms.min_interval,
    )


_LONGER = 4.0
_LONGEST = 3 * DAY_SECONDS
_REDIRECT = 7 * DAY_SECONDS


def not_before(
    asked: float, *, missing: int, failing: int, redirects: bool, left_out: bool, shortest: float
) -> float:
    """When a page is fetched again that failed, redirects or is gone.

    When a page is fetched again that failed, redirects or is gone.

    A failed page is retried with exponential backoff, by a factor of four: from the shortest
    interval of its site up to three days. A page that was left out, as by robots.txt, is retried
    after a day, when that is fetched again; a redirect after a week; a page that is gone after 7,
    28 and 112 days (`gone_until`).

    Seconds since 1970; 0: at any time. ``missing``, ``failing``: looks in a row.

    >>> not_before(0.0, missing=0, failing=2, redirects=False, left_out=False, shortest=60.0)
    240.0
    """
    if gone := gone_until(asked, missing):
        return gone
    if not failing:
        return 0.0
    if redirects:
        return asked + _REDIRECT
    if left_out:
        return asked + DAY_SECONDS
    return asked + pause_after(failing, first=shortest, growth=_LONGER, longest=_LONGEST)


_GONE_DAYS = (7.0, 28.0, 112.0)
_GONE_LOOKS = 2


def gone_until(asked: float, missing: int) -> float:
    """When a page that is gone is fetched again: after 7 days, then 28, then every 112.

    A page is gone after two looks in a row with 404 or 410.

    When to fetch a page again that was missing in this many looks; 0: as any other.

    >>> [gone_until(0.0, missing) / 86_400 for missing in (1, 2, 3, 4, 5)]
    [0.0, 7.0, 28.0, 112.0, 112.0]
    """
    if missing < _GONE_LOOKS:
        return 0.0
    return asked + _GONE_DAYS[min(missing - _GONE_LOOKS, len(_GONE_DAYS) - 1)] * DAY_SECONDS
