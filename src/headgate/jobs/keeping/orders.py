"""Instructions of the user to a running keeper: a changed site file, and wishes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headgate.crawling.ports import Clock
from headgate.jobs.keeping.desk import Desk
from headgate.jobs.keeping.state import KeepState
from headgate.jobs.keeping.visits import KeepVisits
from headgate.model.errors import HeadgateError
from headgate.site_file.contents import SiteFile
from headgate.storage.collection import Collection
from headgate.storage.keep_wishes import Wish, WishKind, take_wishes
from headgate.storage.memory.remembering import mend

__all__ = ["KeepOrders"]

_FILE_SECONDS = 2.0
_FILE_TROUBLE = "file"


@dataclass(slots=True)
class KeepOrders:
    collection: Collection
    desk: Desk
    visits: KeepVisits
    state: KeepState
    clock: Clock
    tell: Callable[[Sequence[str]], None]
    interrupt: Callable[[str], None]
    """Ends visits with what they have; others begin."""
    _looked: float = -math.inf
    _told_to_look: bool = False

    def look_again(self) -> None:
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
            self.tell([words])
            return None
        if contents is not None:
            self.state.settled(_FILE_TROUBLE)
            self.tell([f"the site file was read again: {len(contents.sites)} sites"])
        return contents

    def obey(self) -> bool:
        """Carry out the user's wishes; True if there were any."""
        wishes = take_wishes(self.collection.path)
        for wish in wishes:
            if wish.site not in self.desk.sites:
                self.tell([f"{wish.site}: no such site is kept"])
            elif wish.kind is WishKind.PAUSE:
                self._pause(wish)
            elif wish.kind is WishKind.VISIT:
                self.desk.board.want(wish.site)
            elif wish.site in self.visits:
                self.tell([f"{wish.site} is being visited; try again later"])
            else:
                self._rebuild(wish)
        return bool(wishes)

    def _pause(self, wish: Wish) -> None:
        self.desk.pause(wish.site, wish.until)
        if wish.site in self.visits and wish.until > self.clock.wall():
            self.interrupt("a pause")

    def _rebuild(self, wish: Wish) -> None:
        self.tell(mend(self.collection, wish.site))
        self.desk.refresh(wish.site, self.clock.wall())
