"""An uncertain size."""

from __future__ import annotations

import msgspec

__all__ = ["SizeRange"]

_VAGUE = 1.3


class SizeRange(msgspec.Struct, frozen=True):
    """Wire bytes: about 80 % of true values lie between ``low`` and ``high``."""

    low: float
    likely: float
    high: float

    @classmethod
    def exactly(cls, bytes_: float) -> SizeRange:
        return cls(bytes_, bytes_, bytes_)

    def plus(self, bytes_: float) -> SizeRange:
        """The range shifted by a known number of bytes."""
        return SizeRange(self.low + bytes_, self.likely + bytes_, self.high + bytes_)

    @property
    def vague(self) -> bool:
        """Whether a single number would claim too much."""
        return self.high > _VAGUE * self.likely or self.likely > _VAGUE * self.low
