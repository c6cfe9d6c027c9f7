"""``retention.json``: which versions of a site's pages stay; read when volumes are sealed.

A keeper writes it to its collection. If it is lost or damaged, everything stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from headgate.model.errors import UserMistake
from headgate.model.keeping import ALL_VERSIONS, KeepVersions
from headgate.model.site import Site
from headgate.storage.own_files import opened
from headgate.storage.replacing import write_whole

__all__ = ["load_retention", "save_retention"]

_NAME = "retention.json"
_MOST_BYTES = 100_000_000


def save_retention(collection: Path, sites: Iterable[Site]) -> None:
    """Replace all rules: pages of sites that are no longer kept stay as they are."""
    rules = {
        site.name: site.keeping.keep_versions
        for site in sites
        if site.keeping.keep_versions != ALL_VERSIONS
    }
    if rules != load_retention(collection):
        write_whole(collection / _NAME, msgspec.json.encode(rules))


def load_retention(collection: Path) -> Mapping[str, KeepVersions]:
    try:
        with opened(collection / _NAME) as file:
            return msgspec.json.decode(file.read(_MOST_BYTES), type=dict[str, KeepVersions])
    except (OSError, UserMistake, msgspec.MsgspecError):
        return {}
