"""Round moments for a time axis, labelled the way people say them."""

from __future__ import annotations

__all__ = ["ticks"]

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 7, 14, 28, 91, 182, 364)),
)


def ticks(span: float, most: int) -> list[tuple[float, str]]:
    """Moments from 0 to ``span`` with labels, about ``most`` of them or fewer.

    >>> ticks(200, 5)
    [(0.0, '0'), (60.0, '1m'), (120.0, '2m'), (180.0, '3m')]
    >>> [label for _, label in ticks(7 * 3600, 5)]
    ['0', '2h', '4h', '6h']
    """
    step = next((step for step in _STEPS if span / step <= most), span / most)
    count = int(span / step + 1e-9)
    return [(index * step, _label(index * step)) for index in range(count + 1)]


def _label(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:g}s" if seconds else "0"
    parts = []
    for unit, length in (("d", _DAY), ("h", _HOUR), ("m", _MINUTE), ("s", 1.0)):
        amount, seconds = divmod(round(seconds), length)
        if amount:
            parts.append(f"{amount:.0f}{unit}")
    return " ".join(parts[:2])
