"""Links of one kept site to another, given to the one that they belong to while both are kept.

As channels do in SARSS: a visit tells of outside links that none before it told of, and each
becomes a further page of its site, due at once. What a site must not be asked for (robots.txt, its
own ``exclude``) is not asked for such a link either.
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
        """Sites that were given links which are not in their memories yet."""

    def take_sites(self, sites: Sequence[Site]) -> None:
        """From now on these; links may have waited since an earlier time."""
        self._sites = tuple(site.name for site in sites)
        self._channels = Channels(sites)
        self._waiting = set(self._sites)

    def pass_on(self, may_take: Callable[[str], bool], now: float) -> list[str]:
        """Give out what visits left; sites that have pages now which nobody knew. ``may_take``:
        whether a site was visited, and is not being visited."""
        for found in take_links(self._collection.path):
            given = self._channels.given_out(found.urls, found.site)
            for site, urls in given.items():
                give(self._collection, site, urls)
                self._waiting.add(site)
        return [site for site in sorted(self._waiting) if may_take(site) and self._put(site, now)]

    def _put(self, site: str, now: float) -> int:
        """How many are new to it."""
        self._waiting.discard(site)
        try:
            return put_given(self._collection, site, now)
        except DamagedMemory:
            return 0  # it is mended at the site's next visit, and they wait for the next start
