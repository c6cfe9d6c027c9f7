"""What a visit teaches of a site's pages.

Each look that found whether its page changed is fed to the page's likelihoods. Looks that tell
nothing (errors, 404) only count as asked. A page's first look tells nothing of its rate either:
there was no copy to compare.

**Soft 404.** Where at least nine tenths of a visit's looks show one and the same new content, the
server most likely says "not found" or "log in" with status 200. The visit is *suspicious*: rates
are not fed, and the pages are asked again after one hour, then six; the third time it is believed.

**Gone.** A page with 404 or 410 in two looks is asked again after 7 days, then 28, then every 112.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.recrawl import nutch
from headgate.recrawl.arrays import BoolArray, FloatArray
from headgate.recrawl.flapping import with_look
from headgate.recrawl.kept_site import DAY_SECONDS, HOUR_SECONDS, KeptSite
from headgate.recrawl.rate_posterior import FORGETTING, look_likelihood

__all__ = ["Look", "gone_until", "take_in"]

_ONE_CONTENT = 0.9
_FEWEST = 5
"""A visit of fewer looks is never suspicious."""
_RETRY_HOURS = (1.0, 6.0)
_SHORTLY = 4.0
"""Times ``min_interval``, where that is less than an hour."""
_LOWEST = -60_000.0
"""What a likelihood may be after the best of its row is set to 0: half precision holds it."""
_GONE_DAYS = (7.0, 28.0, 112.0)
_GONE_LOOKS = 2


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a page found."""

    page: int
    """Its number among the site's pages."""
    at: float
    changed: bool | None
    """Whether its content was another one than at the look before; None: that is not known."""
    size: float | None = None
    """Bytes of a whole answer on the line; None: none came."""
    validator: bool | None = None
    """Whether the next look can be made on condition; None: as before."""
    digest: bytes = b""
    """Of the content; of use where it changed."""


def take_in(site: KeptSite, looks: Sequence[Look]) -> bool:
    """Whether the visit is believed; the site's arrays are changed in place. A page counts once:
    its last look."""
    looks = list({look.page: look for look in looks}.values())
    if _suspicious(looks) and site.suspicions < len(_RETRY_HOURS):
        wait = _RETRY_HOURS[site.suspicions] * HOUR_SECONDS / site.terms.grid.speed
        site.suspicions += 1
        for look in looks:
            before = float(site.pages.not_before[look.page])
            site.pages.not_before[look.page] = max(before, look.at + wait)
        return False
    site.suspicions = 0
    _learn(site, [look for look in looks if look.changed is not None])
    for look in looks:
        site.pages.asked[look.page] = look.at
        if look.size is not None:
            site.pages.sizes[look.page] = look.size
        if look.validator is not None:
            site.pages.validators[look.page] = look.validator
    return True


def gone_until(asked: float, missing: int) -> float:
    """When a page is asked again that was missing in so many looks; 0: as any other.

    >>> [gone_until(0.0, missing) / 86_400 for missing in (1, 2, 3, 4, 5)]
    [0.0, 7.0, 28.0, 112.0, 112.0]
    """
    if missing < _GONE_LOOKS:
        return 0.0
    return asked + _GONE_DAYS[min(missing - _GONE_LOOKS, len(_GONE_DAYS) - 1)] * DAY_SECONDS


def _suspicious(looks: Sequence[Look]) -> bool:
    if len(looks) < _FEWEST:
        return False
    new = Counter(look.digest for look in looks if look.changed and look.digest)
    return bool(new) and new.most_common(1)[0][1] >= _ONE_CONTENT * len(looks)


def _learn(site: KeptSite, looks: Sequence[Look]) -> None:
    pages, grid = site.pages, site.terms.grid
    pages.likelihoods = grid.fitted(pages.likelihoods)
    numbers: npt.NDArray[np.int_] = np.array([look.page for look in looks], dtype=np.int_)
    numbers_known = pages.asked[numbers] > 0
    looks = [look for look, known in zip(looks, numbers_known, strict=True) if known]
    numbers = numbers[numbers_known]
    if not looks:
        return
    changed: BoolArray = np.array([bool(look.changed) for look in looks])
    at = np.array([look.at for look in looks])
    _judge_lastmod(site, numbers, at, changed)
    gaps = np.maximum(at - pages.asked[numbers], 0.0)
    shortly = gaps < min(HOUR_SECONDS, _SHORTLY * site.terms.min_interval)
    pages.recent[numbers] = with_look(pages.recent[numbers], changed, shortly)
    pages.intervals[numbers] = _nutch_intervals(site, pages.intervals[numbers], changed)
    seen = look_likelihood(grid.rates, gaps / DAY_SECONDS, changed)
    rows = FORGETTING * pages.likelihoods[numbers] + seen
    rows -= rows.max(axis=1, keepdims=True)
    pages.likelihoods[numbers] = np.maximum(rows, _LOWEST)


def _judge_lastmod(
    site: KeptSite, numbers: npt.NDArray[np.int_], at: FloatArray, changed: BoolArray
) -> None:
    told_at = site.pages.told_at[numbers]
    told = (told_at > site.pages.asked[numbers]) & (told_at <= at)
    right = int((told & changed).sum())
    site.trust = site.trust.after(changed=right, unchanged=int(told.sum()) - right)


def _nutch_intervals(site: KeptSite, intervals: FloatArray, changed: BoolArray) -> FloatArray:
    day = DAY_SECONDS / site.terms.grid.speed
    first = nutch.FIRST_INTERVAL * day
    days = np.where(intervals > 0, intervals, first) / day
    after = [
        nutch.next_interval(*pair) for pair in zip(days.tolist(), changed.tolist(), strict=True)
    ]
    return np.array(after) * day
