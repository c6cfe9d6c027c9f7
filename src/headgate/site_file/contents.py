"""What a site file says, apart from how it is written: a crawl of URLs has no file to parse."""

from __future__ import annotations

import msgspec

from headgate.model.budget import Budget
from headgate.model.grid import GridTerms
from headgate.model.site import Site

__all__ = ["SiteFile"]


class SiteFile(msgspec.Struct, frozen=True):
    """It has at least one site; names are distinct."""

    budget: Budget
    sites: tuple[Site, ...]
    grid: GridTerms = GridTerms()
