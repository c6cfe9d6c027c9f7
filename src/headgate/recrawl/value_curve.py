"""The value of a site's next visit as a function of time, in nine numbers.

The knots are when the visit may first be made, and 1 h, 6 h, 1, 3, 10, 30, 100 and 300 days later.
Values are interpolated linearly in log-log, between the first two knots in plain terms, and
extrapolated with the last slope. So the board compares sites without reading their pages: 100,000
sites are one pass over an array.
"""

from __future__ import annotations

import numpy as np

from headgate.recrawl.arrays import FloatArray, as_floats

__all__ = ["KNOTS_SECONDS", "interpolated"]

KNOTS_SECONDS: FloatArray = (
    np.array([0.0, 1 / 24, 0.25, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]) * 86_400.0
)
_LOG_KNOTS = np.log(KNOTS_SECONDS[1:])
_LAST_PIECE = len(KNOTS_SECONDS) - 2
_LEAST = 1e-300


def interpolated(curves: FloatArray, since: FloatArray) -> FloatArray:
    """The value of each row of ``curves``, ``since`` seconds after it begins; not negative.

    >>> cubic = (KNOTS_SECONDS[None, :] / 86_400) ** 3
    >>> interpolated(cubic, np.array([5 * 86_400.0])).round(6).tolist()
    [125.0]
    """
    rows = np.arange(len(curves))
    piece = np.clip(np.searchsorted(KNOTS_SECONDS, since, side="right") - 1, 1, _LAST_PIECE)
    left, right = curves[rows, piece], curves[rows, piece + 1]
    width = _LOG_KNOTS[piece] - _LOG_KNOTS[piece - 1]
    place = (np.log(np.maximum(since, KNOTS_SECONDS[1])) - _LOG_KNOTS[piece - 1]) / width
    low = np.log(np.maximum(left, _LEAST))
    later = np.exp(low + place * (np.log(np.maximum(right, _LEAST)) - low))
    first = curves[:, 0] + (curves[:, 1] - curves[:, 0]) * (since / KNOTS_SECONDS[1])
    return as_floats(np.where(since < KNOTS_SECONDS[1], np.maximum(first, 0.0), later))
