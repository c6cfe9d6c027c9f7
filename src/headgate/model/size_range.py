"""A size that is not known for certain."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SizeRange"]

_VAGUE = 1.3


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Bytes on the line: about four of five true values lie within ``low`` and ``high``."""

    low: float
    likely: float
    high: float

    @classmethod
    def exactly(cls, bytes_: float) -> SizeRange:
        return cls(bytes_, bytes_, bytes_)

    def plus(self, bytes_: float) -> SizeRange:
        """The same with bytes that are certain on top."""
        return SizeRange(self.low + bytes_, self.likely + bytes_, self.high + bytes_)

    @property
    def vague(self) -> bool:
        """Whether one number would promise too much."""
        return self.high > _VAGUE * self.likely or self.likely > _VAGUE * self.low
