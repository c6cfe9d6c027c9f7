"""Which site a request belongs to: as it says itself, as the site file says, or by its domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from headgate.frontier.scope import Scope
from headgate.jobs.surveys.registrable import registrable_domain
from headgate.model.site import Site
from headgate.reading.urls import normalise

__all__ = ["META_KEY", "SiteNames"]

META_KEY = "headgate_site"
_REMEMBERED = 4096


class SiteNames:
    """By the sites of a file, of which there may be none."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._scopes = [(site.name, Scope.of(site)) for site in sites]
        self._registered = registrable_domain()
        self._of_url: Callable[[str], str] = lru_cache(_REMEMBERED)(self._find)

    def of(self, url: str, meta: Mapping[str, Any]) -> str:
        """``meta`` is the request's.

        >>> names = SiteNames([Site("docs", seeds=("https://docs.example.org/",))])
        >>> names.of("https://docs.example.org/a", {}), names.of("https://www.example.org/", {})
        ('docs', 'example.org')
        >>> names.of("https://docs.example.org/a", {"headgate_site": "mine"})
        'mine'
        """
        named = meta.get(META_KEY)
        return str(named) if named else self._of_url(url)

    def _find(self, url: str) -> str:
        normal = [normalise(url) or url]
        for name, scope in self._scopes:
            if scope.inside(scope.candidates(normal)):
                return name
        return self._registered(urlsplit(url).hostname or "")
