"""Which versions of a page stay: a time for each URL, before which everything is removed.

A version is the same content over consecutive looks; the newest always stays. It need not be the
one that the site's memory has (`removing` spares that, too). A rule keeps a number of newest
versions, or those replaced no longer ago than some time. Everything before the first look at the
oldest version that stays may go, errors included.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from headgate.model.keeping import KeepVersions

__all__ = ["Told", "add_looks", "cut_of"]

Told = tuple[float, str]
"""Time and digest of a look with content."""


def add_looks(begins: list[Told], looks: Iterable[Told]) -> None:
    """Add to a page's looks, oldest first, those of a further run that show another content than
    the one before. Where the clock was set back some may be missed, so that more versions stay.

    >>> begins = [(1.0, "a")]
    >>> add_looks(begins, [(3.0, "b"), (2.0, "a"), (4.0, "b"), (5.0, "a")])
    >>> begins
    [(1.0, 'a'), (3.0, 'b'), (5.0, 'a')]
    """
    for at, digest in sorted(looks):
        if not begins or begins[-1][1] != digest:
            begins.append((at, digest))


def cut_of(looks: Iterable[Told], rule: KeepVersions, now: float) -> float:
    """For one URL; ``looks`` are times and digests of looks with content, in any order. Minus
    infinity: everything stays.

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
