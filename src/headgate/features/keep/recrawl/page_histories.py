"""Histories of many pages in one array, and what is computed from them.

`look_history` stores a page's last 32 looks as two bytes each; here a page is a row of 32 such
numbers, the newest last, 0 for no look. Computed are

- the probabilities of change rates, look by look as in `rates`, with likelihoods from a
  table of all values of two bytes;
- which pages are *flapping*: changed in at least 29 of the last 30 looks, most of them made shortly
  after the one before, as by counters, tokens and adverts;
- the interval of Nutch's schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from headgate.features.keep.recrawl.arrays import BoolArray, FloatArray, as_floats
from headgate.features.keep.recrawl.rates import RateGrid, look_likelihood, transition
from headgate.model.look_history import CHANGED, MOST_LOOKS, STEPS

__all__ = [
    "FIRST_INTERVAL",
    "Histories",
    "histories_of",
    "is_flapping",
    "next_interval",
    "next_look",
    "no_histories",
    "nutch_intervals",
    "rate_probabilities",
    "with_looks",
]

Histories = npt.NDArray[np.uint16]

_GAP = CHANGED - 1
_GAP_DAYS = 2.0 ** (np.arange(CHANGED) / STEPS) / 86_400.0
_FLAPPING_LOOKS, _FLAPPING_CHANGES = 30, 29


def no_histories(pages: int) -> Histories:
    return np.zeros((pages, MOST_LOOKS), np.uint16)


def histories_of(packed: Sequence[bytes]) -> Histories:
    """From the packed histories of `look_history`."""
    width = 2 * MOST_LOOKS
    joined = b"".join(history[-width:].rjust(width, b"\0") for history in packed)
    return np.frombuffer(joined, "<u2").reshape(len(packed), MOST_LOOKS).astype(np.uint16)


def with_looks(histories: Histories, gaps_seconds: FloatArray, changed: BoolArray) -> Histories:
    """Append a look at each page, as `look_history.with_look`."""
    longest = (CHANGED - 1) / STEPS
    codes = np.rint(np.clip(np.log2(np.maximum(gaps_seconds, 1.0)), 0.0, longest) * STEPS)
    newest = np.maximum(codes, 1).astype(np.uint16) | np.where(changed, CHANGED, 0).astype(
        np.uint16
    )
    return np.concatenate((histories[:, 1:], newest[:, None]), axis=1)


def rate_probabilities(grid: RateGrid, histories: Histories, prior: FloatArray) -> FloatArray:
    """A row per page, a column per rate; without a look, those of the prior.

    >>> from headgate.model.look_history import with_look
    >>> grid = RateGrid()
    >>> histories = histories_of([with_look(b"", 86_400.0, True), b""])
    >>> changed, unseen = rate_probabilities(grid, histories, grid.usual)
    >>> bool(changed @ grid.rates > 5 * unseen @ grid.rates), np.allclose(unseen, grid.usual)
    (True, True)
    """
    found = np.tile(prior, (len(histories), 1))
    table, becomes = _told_by(grid), transition(prior)
    looked = histories.any(axis=0)
    for looks in histories.T[int(looked.argmax()) :] if looked.any() else ():
        found = (found * table[looks]) @ becomes
    return as_floats(found / found.sum(axis=1, keepdims=True))


def is_flapping(histories: Histories, shortly_seconds: float) -> BoolArray:
    """Which pages are flapping; *shortly* is within ``shortly_seconds`` after the look before."""
    last = histories[:, -_FLAPPING_LOOKS:]
    changed = (last >= CHANGED).sum(axis=1)
    shortly = (last > 0) & (_GAP_DAYS[last & _GAP] * 86_400.0 < shortly_seconds)
    found = (changed >= _FLAPPING_CHANGES) & (2 * shortly.sum(axis=1) > _FLAPPING_LOOKS)
    return np.asarray(found, dtype=np.bool_)


def nutch_intervals(histories: Histories, speed: float) -> FloatArray:
    """Days until the next look by Nutch's schedule, ``speed`` times as fast. For a page with more
    looks than are stored, it starts from the gap before the oldest of them."""
    oldest = np.where(histories[:, 0] > 0, _GAP_DAYS[histories[:, 0] & _GAP] * speed, np.inf)
    days = np.minimum(oldest, FIRST_INTERVAL)
    for look in histories.T:
        after = next_intervals(days, look >= CHANGED)
        days = np.where(look > 0, after, days)
    return as_floats(days / speed)


@lru_cache(64)
def _told_by(grid: RateGrid) -> npt.NDArray[np.float32]:
    """The likelihoods of every possible look, by its code; 1 for no look, which changes nothing."""
    looks = [look_likelihood(grid.rates, _GAP_DAYS, changed) for changed in (False, True)]
    table = np.concatenate(looks).astype(np.float32)
    table[0] = 1.0
    return table


# Nutch's adaptive schedule: sooner if a page changed, later if not.
#
#     interval ← interval · (1 − 0.2) if changed, · (1 + 0.2) if not, within [60 s, 365 days]
#
# and if the time of the change is known (``sync_delta``), δ = look − change:
#
#     interval ← max(interval, δ),   next look = this look − 0.2·δ + interval
#
# (Apache Nutch, AdaptiveFetchSchedule, with its defaults). In equilibrium 45 % of the looks see a
# change, since q ln 0.8 + (1 − q) ln 1.2 = 0: looks in proportion to changes, whatever the
# capacity.


FIRST_INTERVAL = 30.0
"""Days."""
_SHORTEST, _LONGEST = 60 / 86_400, 365.0
_LESS, _MORE, _SYNC = 0.2, 0.2, 0.2


def next_interval(interval: float, changed: bool) -> float:
    """Days until the next look.

    >>> next_interval(10.0, changed=True), next_interval(10.0, changed=False)
    (8.0, 12.0)
    """
    interval *= 1 - _LESS if changed else 1 + _MORE
    return min(max(interval, _SHORTEST), _LONGEST)


def next_intervals(intervals: FloatArray, changed: BoolArray) -> FloatArray:
    """The same of many pages."""
    after = intervals * np.where(changed, 1 - _LESS, 1 + _MORE)
    return as_floats(np.clip(after, _SHORTEST, _LONGEST))


def next_look(look: float, changed_at: float, interval: float) -> float:
    """When to look again, if the server said when the page changed.

    >>> next_look(look=100.0, changed_at=80.0, interval=8.0)
    116.0
    """
    delta = look - changed_at
    return look - _SYNC * delta + max(interval, delta)
