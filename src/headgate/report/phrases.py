"""Phrases that texts and pages share."""

from __future__ import annotations

import math

from headgate.model.plan import Foreseen
from headgate.model.units import format_duration

__all__ = ["duration_at_least", "foreseen_end", "plural"]


_CLOSE = 1e-6
"""Figures that differ by less, relatively, are shown as equal."""


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration_at_least(seconds: float) -> str:
    """A duration for people, never less than it is.

    >>> duration_at_least(12.01), duration_at_least(183.2), duration_at_least(7201)
    ('12.1s', '3m 04s', '2h 01m')
    """
    step = (
        0.1 if seconds < 59.9 else 1.0 if seconds < 3600 else 60.0 if seconds < 172800 else 3600.0
    )
    return format_duration(math.ceil(seconds / step - _CLOSE) * step)


def foreseen_end(foreseen: Foreseen | None) -> str:
    """A time if known, else a range.

    >>> foreseen_end(Foreseen(590.0, 600.0, 620.0)), foreseen_end(Foreseen(60.0, 600.0, 1800.0))
    ('10m 00s', '1m 00s – 30m 00s')
    """
    if foreseen is None:
        return ""
    if not foreseen.vague:
        return format_duration(foreseen.likely)
    return f"{format_duration(foreseen.earliest)} – {format_duration(foreseen.latest)}"
