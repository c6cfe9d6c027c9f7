"""Which nodes of a grid came and went, and what a user said of them by another command."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from headgate.grid.desk import Desk
from headgate.storage.collection import RunFolder

__all__ = ["DRAIN", "DoorKeeper", "NodeWatch"]

DRAIN = "drain"
"""Name of the state file by which a user stops giving out tasks."""
_CATALOG_SECONDS = 2.0


class DoorKeeper(Protocol):
    """Where nodes come in."""

    def revoke(self, tokens: Mapping[str, float]) -> None:
        """Keys of tokens that are good no longer, and since when."""
        ...


@dataclass(slots=True)
class NodeWatch:
    desk: Desk
    run: RunFolder
    _here: set[str] = field(default_factory=set)
    """At the last look."""
    _looked: float = -math.inf
    """Into the catalog."""

    def begin(self) -> None:
        """A wish that was for the manager before is none for this one."""
        self.run.state_file(DRAIN).unlink(missing_ok=True)

    def look(self, door: DoorKeeper) -> list[str]:
        """What there is to say; who was revoked is shown out, and a wish to drain obeyed."""
        now = self.desk.clock.now()
        here = set(self.desk.roll.here(now, self.desk.board.terms.lease_seconds))
        came = [f"{name} is here" for name in sorted(here - self._here)]
        gone = [f"{name} is gone" for name in sorted(self._here - here)]
        self._here = here
        if now - self._looked < _CATALOG_SECONDS:
            return [*came, *gone]
        self._looked = now
        self.desk.board.draining = self.run.load(DRAIN) is not None
        revoked = self.desk.take_rows(self.desk.store.nodes())
        if revoked:
            wall = self.desk.clock.wall()
            door.revoke({key: wall for key in revoked.values() if key})
        return [*came, *gone, *(f"{name} is revoked" for name in revoked)]
