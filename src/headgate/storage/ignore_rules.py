"""``ignore.json``: which rules of the user's own say what is no change, by site.

Whoever fills a collection leaves them there, so that ``headgate changes`` goes by the same rules
later, without the site file. What is lost or damaged is as if there were none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.storage.own_files import opened
from headgate.storage.replacing import write_whole

__all__ = ["load_ignore_rules", "save_ignore_rules"]

_NAME = "ignore.json"
_MOST_BYTES = 100_000_000


def save_ignore_rules(collection: Path, sites: Iterable[Site]) -> None:
    """Those of these sites, in place of what they had; those of other sites stay."""
    known = load_ignore_rules(collection)
    rules = dict(known)
    for site in sites:
        rules.pop(site.name, None)
        if site.keeping.ignore:
            rules[site.name] = site.keeping.ignore
    if rules != known:
        write_whole(collection / _NAME, msgspec.json.encode(rules))


def load_ignore_rules(collection: Path) -> Mapping[str, tuple[str, ...]]:
    try:
        with opened(collection / _NAME) as file:
            return msgspec.json.decode(file.read(_MOST_BYTES), type=dict[str, tuple[str, ...]])
    except (OSError, UserMistake, msgspec.MsgspecError):
        return {}
