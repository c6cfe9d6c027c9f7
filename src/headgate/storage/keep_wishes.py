"""Orders for a running keeper: files in its collection that it picks up within seconds.

One file per order, complete or not there; the keeper deletes it. If no keeper runs, it waits for
the next start.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import count
from pathlib import Path

import msgspec

from headgate.storage.faults import writing
from headgate.storage.own_files import opened
from headgate.storage.replacing import write_whole

__all__ = ["Wish", "WishKind", "leave_wish", "take_wishes"]

_FOLDER = "keep-wishes"
_MOST_BYTES = 100_000
_MOST_AT_ONCE = 1000


class WishKind(StrEnum):
    PAUSE = "pause"
    VISIT = "visit"
    REBUILD = "rebuild"


class Wish(msgspec.Struct, frozen=True):
    kind: WishKind
    site: str
    until: float = 0.0
    """Of a pause: seconds since 1970."""


def leave_wish(collection: Path, wish: Wish) -> None:
    folder = collection / _FOLDER
    with writing(folder):
        folder.mkdir(exist_ok=True)
    names = (folder / f"{number}.json" for number in count(1))
    write_whole(next(path for path in names if not path.exists()), msgspec.json.encode(wish))


def take_wishes(collection: Path) -> list[Wish]:
    """Oldest first; files that cannot be read are deleted."""
    folder = collection / _FOLDER
    try:
        paths = sorted(folder.glob("*.json"), key=lambda path: (len(path.name), path.name))
    except OSError:
        return []
    wishes = []
    for path in paths[:_MOST_AT_ONCE]:
        try:
            with opened(path) as file:
                wishes.append(msgspec.json.decode(file.read(_MOST_BYTES), type=Wish))
        except (OSError, msgspec.MsgspecError, ValueError):
            pass
        path.unlink(missing_ok=True)
    return wishes
