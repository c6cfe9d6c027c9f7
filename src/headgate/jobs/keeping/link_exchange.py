"""Passes links from one kept site to another to the site that they belong to.

As channels in SARSS: a visit reports new links to other sites, and each becomes a further page of
its site, due at once. robots.txt and the site's ``exclude`` apply to such links, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.frontier.inter_site import Channels
from headgate.model.site import Site
from headgate.storage.collection import Collection
from headgate.storage.memory.file import DamagedMemory
from headgate.storage.memory.outside_links import give, put_given, take_links

__all__ = ["LinkExchange"]


class LinkExchange:
    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._sites: tuple[str, ...] = ()
        self._channels = Channels(())
        self._waiting: set[str] = set()
        """Sites with links that are not in their memories yet."""

    def take_sites(self, sites: Sequence[Site]) -> None:
        """Use these sites from now on; links may be waiting from before."""
        self._sites = tuple(site.name for site in sites)
        self._channels = Channels(sites)
        self._waiting = set(self._sites)

    def pass_on(self, may_take: Callable[[str], bool], now: float) -> list[str]:
        """Distribute the links that visits have left; return sites with new pages. ``may_take``:
        whether a site was visited before and is not being visited now."""
        for found in take_links(self._collection.path):
            given = self._channels.given_out(found.urls, found.site)
            for site, urls in given.items():
                give(self._collection, site, urls)
                self._waiting.add(site)
        return [site for site in sorted(self._waiting) if may_take(site) and self._put(site, now)]

    def _put(self, site: str, now: float) -> int:
        """Merge waiting links into a site's memory; return how many are new."""
        self._waiting.discard(site)
        try:
            return put_given(self._collection, site, now)
        except DamagedMemory:
            return 0  # repaired at the site's next visit; the links wait for the next start
