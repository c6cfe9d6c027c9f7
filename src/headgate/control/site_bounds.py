"""Limits a site's estimated size to the user's own bounds."""

from __future__ import annotations

import math

from headgate.model.site import Site
from headgate.model.size_range import SizeRange

__all__ = ["within_bounds"]


def within_bounds(
    size: SizeRange, site: Site, page_bytes: float, *, came: float = 0.0, pages: int = 0
) -> SizeRange:
    """The bytes still to come after ``came`` bytes and ``pages``, with pages of about this size.

    >>> within_bounds(SizeRange(1e6, 2e6, 9e6), Site("a", max_pages=100), 3e4, pages=50)
    SizeRange(low=1000000.0, likely=1500000.0, high=1500000.0)
    """
    most = math.inf
    if site.max_bytes is not None:
        most = site.max_bytes - came
    if site.max_pages is not None:
        most = min(most, (site.max_pages - pages) * page_bytes)
    if most >= size.high:
        return size
    most = max(most, 0.0)
    return SizeRange(min(size.low, most), min(size.likely, most), most)
