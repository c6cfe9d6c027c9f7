"""What pages' histories say of their change rates: the likelihoods that `rate_posterior` takes.

Older looks count less, as there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headgate.recrawl.arrays import FloatArray, as_floats
from headgate.recrawl.look_history import MOST_LOOKS, gaps_of

__all__ = ["history_likelihoods"]

_DAY_SECONDS = 86_400.0
_LEAST = 1e-300


def history_likelihoods(
    histories: Sequence[bytes], rates: FloatArray, forgetting: float
) -> FloatArray:
    """Logarithms: a row per page, a column per rate (per day). O(pages · looks · rates).

    >>> from headgate.recrawl.look_history import with_look
    >>> day = with_look(b"", 86_400.0, True)
    >>> history_likelihoods([day, b""], np.array([1.0]), 0.9).round(2).tolist()
    [[-0.46], [0.0]]
    """
    gaps = np.zeros((len(histories), MOST_LOOKS))
    changed = np.zeros((len(histories), MOST_LOOKS), dtype=bool)
    for row, history in enumerate(histories):
        if looks := gaps_of(history):
            gaps[row, -len(looks) :], changed[row, -len(looks) :] = zip(*looks, strict=True)
    total = np.zeros((len(histories), len(rates)))
    for column in range(MOST_LOOKS):
        rows = np.flatnonzero(gaps[:, column])
        if len(rows):
            seen = _seen(gaps[rows, column] / _DAY_SECONDS, changed[rows, column], rates)
            total[rows] = forgetting * total[rows] + seen
    return as_floats(total)


def _seen(gaps: FloatArray, changed: npt.NDArray[np.bool_], rates: FloatArray) -> FloatArray:
    same = -rates * gaps[:, None]
    other = np.log(np.maximum(-np.expm1(same), _LEAST))
    return as_floats(np.where(changed[:, None], other, same))
