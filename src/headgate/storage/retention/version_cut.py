"""Which versions of a page stay: one moment for each URL, before which everything goes.

A version is what one look after the other found the same; the newest always stays. By number, so
many of the newest do. By time, one stays that was not replaced longer ago. Whatever was seen before
the first look at the oldest version that stays, errors too, may go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from headgate.model.keeping import KeepVersions

__all__ = ["cut_of"]


def cut_of(looks: Iterable[tuple[float, str]], rule: KeepVersions, now: float) -> float:
    """Of one URL: ``looks`` are moments and digests of those that showed a content, in any order.
    Minus infinity: all stays.

    >>> looks = [(1.0, "a"), (2.0, "a"), (3.0, "b"), (4.0, "c"), (5.0, "c")]
    >>> cut_of(looks, KeepVersions(newest=2), 9.0), cut_of(looks, KeepVersions(newest=3), 9.0)
    (3.0, 1.0)
    >>> cut_of(looks, KeepVersions(seconds=5.5), 9.0), cut_of(looks, KeepVersions(seconds=4), 9.0)
    (3.0, 4.0)
    """
    begins: list[float] = []
    last = None
    for at, digest in sorted(looks):
        if digest != last:
            begins.append(at)
            last = digest
    if not begins:
        return -math.inf
    if rule.newest is not None:
        return begins[-rule.newest] if len(begins) >= rule.newest else begins[0]
    if rule.seconds is None:
        return -math.inf
    replaced = [at for at in begins[1:] if at < now - rule.seconds]
    return replaced[-1] if replaced else begins[0]
