"""All limits of a site run except its scope."""

from __future__ import annotations

import msgspec

from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.retries import RetryRules
from headgate.frontier.traps import TrapRules

__all__ = ["FrontierRules"]


class FrontierRules(msgspec.Struct, frozen=True):
    """All have defaults but the year: ``FrontierRules(TrapRules(this_year=2026))``."""

    traps: TrapRules
    dispatch: DispatchRules = msgspec.field(default_factory=DispatchRules)
    retries: RetryRules = msgspec.field(default_factory=RetryRules)
    hops: int = 10
    """Redirects followed in a chain."""
    max_pages: int | None = None
    """The site ends after this many pages, duplicates included."""
    copies_followed: int = 16
    """URLs with the same content whose links are followed."""
