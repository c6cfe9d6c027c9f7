"""Expected freshness of a whole collection, in one pass over the board's arrays.

Each site's outlook has two curves: mean freshness and age of its pages if none is fetched. They are
linear between their knots and constant after the last. Sites that were never visited, or none of
whose pages may be fetched, are left out.
"""

from __future__ import annotations

import numpy as np

from headgate.model.keep_status import Fresh
from headgate.recrawl.arrays import FloatArray, as_floats
from headgate.recrawl.site_rows import SiteRows
from headgate.recrawl.value_curve import KNOTS_SECONDS

__all__ = ["collection_freshness"]


def collection_freshness(rows: SiteRows, now: float) -> Fresh | None:
    """None: nothing is known of any page."""
    known = np.flatnonzero(rows.known & (rows.pages > 0) & np.isfinite(rows.begins))
    if not len(known):
        return None
    pages = rows.pages[known]
    since = np.maximum(now - rows.begins[known], 0.0) * rows.speed[known]
    fresh, age = _at(since, rows.fresh[known]), _at(since, rows.ages[known])
    order = np.argsort(age)
    passed = np.cumsum(pages[order]) / pages.sum()
    return Fresh(
        float(np.average(fresh, weights=pages)),
        float(np.average(fresh, weights=pages * rows.importance[known])),
        float(np.average(age, weights=pages)),
        float(age[order][int(np.searchsorted(passed, 0.95))]),
    )


def _at(since: FloatArray, curves: FloatArray) -> FloatArray:
    """The value of each row's curve at its own time, as by `numpy.interp`."""
    rows, last = np.arange(len(curves)), len(KNOTS_SECONDS) - 2
    left = np.minimum(np.searchsorted(KNOTS_SECONDS, since, side="right") - 1, last)
    width = KNOTS_SECONDS[left + 1] - KNOTS_SECONDS[left]
    place = np.minimum((since - KNOTS_SECONDS[left]) / width, 1.0)
    low, high = curves[rows, left], curves[rows, left + 1]
    return as_floats(low + place * (high - low))
