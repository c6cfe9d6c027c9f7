"""Repairs the memories of sites before a crawl relies on them."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.control.catalog import Catalog
from headgate.model.site import Site
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.memory.remembering import mend_memories

__all__ = ["mend_crawl_memories"]


def mend_crawl_memories(
    collection: Collection, run: RunFolder, catalog: Catalog, sites: Sequence[Site]
) -> list[str]:
    """What was repaired, a sentence each. Without a catalog, any site may have been visited."""
    known = any(known.stamp != run.stamp for known in catalog.runs())
    others = len(collection.runs()) > 1

    def visited(site: str) -> bool:
        visits = catalog.history(site, limit=2)
        return any(visit.run != run.stamp for visit in visits) if known else others

    return mend_memories(collection, [site.name for site in sites], visited)
