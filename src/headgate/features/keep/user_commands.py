"""What the user tells a running keeper: a changed site file, and wishes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path

import msgspec

from headgate.crawling.ports import Clock
from headgate.features.keep.status_log import KeeperStatus
from headgate.features.keep.visit_planner import VisitPlanner
from headgate.features.keep.visits import KeepVisits
from headgate.model.errors import HeadgateError, UserMistake
from headgate.site_file.parsing import SiteFile
from headgate.storage.atomic_write import write_whole
from headgate.storage.collection import Collection
from headgate.storage.memory.remembering import mend
from headgate.storage.safe_files import (
    NameOf,
    make_own_folder,
    opened,
    own_files,
    writing,
)

__all__ = ["UserCommands", "Wish", "WishKind", "leave_wish"]

_FILE_SECONDS = 2.0
_FILE_TROUBLE = "file"


@dataclass(slots=True)
class UserCommands:
    """Instructions of the user to a running keeper: a changed site file, and wishes."""

    collection: Collection
    planner: VisitPlanner
    visits: KeepVisits
    state: KeeperStatus
    clock: Clock
    notify: Callable[[Sequence[str]], None]
    interrupt: Callable[[str], None]
    """Ends visits with what they have; others begin."""
    _looked: float = -math.inf
    _told_to_look: bool = False

    def reread_site_file(self) -> None:
        """Read the site file next time, even if it seems unchanged."""
        self._told_to_look = True

    def new_file(self, reread: Callable[[bool], SiteFile | None]) -> SiteFile | None:
        """The site file, if it has changed. An invalid one is reported as a trouble and ignored."""
        now, told = self.clock.now(), self._told_to_look
        if now - self._looked < _FILE_SECONDS and not told:
            return None
        self._looked, self._told_to_look = now, False
        try:
            contents = reread(told)
        except (HeadgateError, OSError) as fault:
            words = f"{fault}; the sites stay as they were"
            self.state.troubled(_FILE_TROUBLE, words, "correct the site file")
            self.notify([words])
            return None
        if contents is not None:
            self.state.settled(_FILE_TROUBLE)
            self.notify([f"the site file was read again: {len(contents.sites)} sites"])
        return contents

    def obey(self) -> bool:
        """Carry out the user's wishes; True if there were any."""
        wishes = take_wishes(self.collection.path)
        for wish in wishes:
            if wish.site not in self.planner.sites:
                self.notify([f"{wish.site}: no such site is kept"])
            elif wish.kind is WishKind.PAUSE:
                self._pause(wish)
            elif wish.kind is WishKind.VISIT:
                self.planner.board.want(wish.site)
            elif wish.site in self.visits:
                self.notify([f"{wish.site} is being visited; try again later"])
            else:
                self._rebuild(wish)
        return bool(wishes)

    def _pause(self, wish: Wish) -> None:
        self.planner.pause(wish.site, wish.until)
        if wish.site in self.visits and wish.until > self.clock.wall():
            self.interrupt("a pause")

    def _rebuild(self, wish: Wish) -> None:
        self.notify(mend(self.collection, wish.site))
        self.planner.refresh(wish.site, self.clock.wall())


# Orders for a running keeper: files in its collection that it picks up within seconds.
#
# One file per order, complete or not there; the keeper deletes it. If no keeper runs, it waits for
# the next start.


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
        make_own_folder(folder)
    names = (folder / f"{number}.json" for number in count(1))
    write_whole(next(path for path in names if not path.exists()), msgspec.json.encode(wish))


def take_wishes(collection: Path) -> list[Wish]:
    """Oldest first; files that cannot be read are deleted."""
    paths = own_files(collection / _FOLDER, NameOf.WISH)
    paths.sort(key=lambda path: (len(path.name), path.name))
    wishes = []
    for path in paths[:_MOST_AT_ONCE]:
        try:
            with opened(path) as file:
                wishes.append(msgspec.json.decode(file.read(_MOST_BYTES), type=Wish))
        except (OSError, UserMistake, msgspec.MsgspecError, ValueError, RecursionError):
            pass
        path.unlink(missing_ok=True)
    return wishes
