"""The value of ``--bandwidth``."""

from __future__ import annotations

from headgate.model.errors import UserMistake
from headgate.model.units import BytesPerSecond, parse_rate

__all__ = ["asked_bandwidth"]


def asked_bandwidth(text: str | None) -> BytesPerSecond | None:
    """None: it is not given.

    >>> asked_bandwidth("1.5 MB/s")
    1500000.0
    """
    rate = None if text is None else parse_rate(text)
    if rate is not None and rate <= 0:
        raise UserMistake("--bandwidth must be more than 0, like '1.5 MB/s', or 'unlimited'")
    return rate
