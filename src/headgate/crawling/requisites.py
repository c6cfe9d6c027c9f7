"""What a page needs to be shown: pictures, style sheets, scripts, fonts, media.

They are found like links, at the depth of their page, and fetched whatever ``include`` and
``depth`` say, for they are part of a page that was wanted; ``exclude`` holds, and so do robots.txt
and the pace of each host. With "page" they may be on any host, with "same-site" on the site's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.frontier.scope import Scope

__all__ = ["Requisites"]


@dataclass(frozen=True, slots=True)
class Requisites:
    """Of one site run."""

    scope: Scope
    anywhere: bool

    def wanted(self, urls: Sequence[str]) -> Sequence[str]:
        """Those among these that are let in; the scope has them from now on."""
        return self.scope.needs(urls, anywhere=self.anywhere)
