"""``ignore.json``: the user's rules for text that does not count as a change, by site.

Crawls save them in the collection, so that ``headgate changes`` can apply them later, without the
site file. If the file is lost or damaged, there are no rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.storage.atomic_write import write_whole
from headgate.storage.safe_files import opened

__all__ = ["load_ignore_rules", "save_ignore_rules"]

_NAME = "ignore.json"
_MOST_BYTES = 100_000_000


def save_ignore_rules(collection: Path, sites: Iterable[Site]) -> None:
    """Replace the rules of these sites; those of other sites stay."""
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
