"""Zhu 2020, Eq. 17: a visit takes alpha times as long as its bytes at its rate would.

    t_i = alpha_i D_i / v_i

alpha_i is a property of the site (round trips, pauses, retries). It is fitted over past visits by
least squares through the origin, t v on D, and planning then takes alpha_i D_i for D_i.

v changes during a visit, so t v is a sum here: what the server could have sent in the intervals in
which our rate was not the limit. Pauses leave the line to others, so if many sites share one
budget, the site's cap is taken to be alpha times lower instead of its bytes alpha times more: both
take the same time if the cap binds, and only the second would keep others from the line.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

__all__ = ["Offered", "fit_alpha"]

_LEAST, _MOST = 0.5, 1000.0
"""Values beyond these are measurement errors."""


class Offered(msgspec.Struct):
    """What one visit could have taken, and what it took, over the same intervals."""

    bytes: float = 0.0
    came: float = 0.0

    def add(self, seconds: float, rate: float, came: float) -> None:
        self.bytes += seconds * rate
        self.came += came

    @property
    def alpha(self) -> float | None:
        return self.bytes / self.came if self.bytes > 0 and self.came > 0 else None


def fit_alpha(bytes_: Sequence[float], offered: Sequence[float]) -> float:
    """alpha from past visits: their bytes D, and t v, the bytes that they could have taken.

    >>> fit_alpha([100.0, 200.0], [110.0, 220.0])
    1.1
    """
    weight = sum(size * size for size in bytes_)
    product = sum(size * could for size, could in zip(bytes_, offered, strict=True))
    fitted = product / weight if weight > 0 else 1.0
    return min(max(fitted, _LEAST), _MOST)
