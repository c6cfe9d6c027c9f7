"""Watches which nodes connect and disconnect, and applies revocations and ``drain`` by the user."""

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
    """The server that nodes connect to."""

    def revoke(self, tokens: Mapping[str, float]) -> None:
        """Revoke tokens, given by key, as of the given times."""
        ...


@dataclass(slots=True)
class NodeWatch:
    desk: Desk
    run: RunFolder
    _here: set[str] = field(default_factory=set)
    """Connected nodes at the last look."""
    _looked: float = -math.inf
    """When the catalog was last read."""

    def begin(self) -> None:
        """Remove a wish to drain that was meant for an earlier manager."""
        self.run.state_file(DRAIN).unlink(missing_ok=True)

    def look(self, door: DoorKeeper) -> list[str]:
        """Disconnect revoked nodes, and apply a wish to drain; return messages for the user."""
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
            door.revoke(dict.fromkeys(self.desk.roll.revoked_keys(), wall))
        return [*came, *gone, *(f"{name} is revoked" for name in revoked)]
