"""Updates a simulation's arrays of pages from looks, as the memory of a site does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headgate.features.keep.recrawl.kept_site import KeptSite
from headgate.features.keep.recrawl.page_histories import with_looks

__all__ = ["Look", "take_in"]


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a page found."""

    page: int
    """Its number among the site's pages."""
    at: float
    changed: bool | None
    """Whether its content was another one than at the look before; None: that is not known."""


def take_in(site: KeptSite, looks: Sequence[Look]) -> None:
    """Update the site's arrays in place. A first look says nothing about the rate: there was no
    copy to compare."""
    pages = site.pages
    numbers = np.array([look.page for look in looks], np.int_)
    at = np.array([look.at for look in looks])
    pages.asked[numbers] = at
    telling = np.array([look.changed is not None for look in looks], bool)
    numbers, at = numbers[telling], at[telling]
    changed = np.array([bool(look.changed) for look in looks], bool)[telling]
    known = pages.known_at[numbers] > 0
    seen = numbers[known]
    site.trust = site.trust.after_looks(
        told=pages.told_at[seen] > pages.known_at[seen], changed=changed[known]
    )
    gaps = at[known] - pages.known_at[seen]
    pages.histories[seen] = with_looks(pages.histories[seen], gaps, changed[known])
    pages.known_at[numbers] = at
