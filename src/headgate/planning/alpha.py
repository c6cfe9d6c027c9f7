"""Zhu 2020, Eq. 17: a visit takes alpha times as long as its bytes at its rate would.

    t_i = alpha_i D_i / v_i

alpha_i is a property of the site (round trips, pauses, retries). It is fitted over past visits by
least squares through the origin, t v on D, and planning then takes alpha_i D_i for D_i.
"""

from __future__ import annotations

from headgate.planning.arrays import FloatArray

__all__ = ["fit_alpha"]


def fit_alpha(bytes_: FloatArray, seconds: FloatArray, rates: FloatArray) -> float:
    """alpha from past visits: their bytes, seconds and the rates they were given.

    >>> import numpy as np
    >>> fit_alpha(np.array([100.0, 200.0]), np.array([11.0, 22.0]), np.array([10.0, 10.0]))
    1.1
    """
    weight = float(bytes_ @ bytes_)
    return float(bytes_ @ (seconds * rates)) / weight if weight > 0 else 1.0
