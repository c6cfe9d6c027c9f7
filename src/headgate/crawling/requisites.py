"""Page requisites: images, style sheets, scripts, fonts, media.

They are found like links, at the depth of their page, and fetched regardless of ``include`` and
``depth``, because they are part of a wanted page; ``exclude``, robots.txt and the pace of each host
hold. With "page" they may be on any host, with "same-site" only on the site's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headgate.frontier.scope import Scope

__all__ = ["Requisites"]


class Requisites(msgspec.Struct, frozen=True):
    """Of one site run."""

    scope: Scope
    anywhere: bool

    def wanted(self, urls: Sequence[str]) -> Sequence[str]:
        """Those that are to be fetched; they are in scope from now on."""
        return self.scope.needs(urls, anywhere=self.anywhere)
