"""All bounds of a site run, beside its scope. Each room's own rules say what their numbers mean."""

from __future__ import annotations

import msgspec

from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.retries import RetryRules
from headgate.frontier.traps import TrapRules

__all__ = ["FrontierRules"]


class FrontierRules(msgspec.Struct, frozen=True):
    """The year is the least that must be said: ``FrontierRules(TrapRules(this_year=2026))``."""

    traps: TrapRules
    dispatch: DispatchRules = msgspec.field(default_factory=DispatchRules)
    retries: RetryRules = msgspec.field(default_factory=RetryRules)
    hops: int = 10
    """Redirects followed in a chain."""
    max_pages: int | None = None
    """The site ends with so many pages, duplicates among them."""
    copies_followed: int = 16
    """Addresses of one content whose links are followed."""
