"""The nodes of a grid: who is connected, what the user said of them, what they did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from headgate.features.grid.coordinator.requests import RequestDesk
from headgate.features.grid.scheduler.records import BoardStore, NodeFigures
from headgate.model.grid import NodeListing
from headgate.model.run_report import AuditReport, GridReport, NodeReport
from headgate.storage.collection import RunFolder

__all__ = ["DRAIN", "DoorKeeper", "NodeConnections", "grid_report", "node_listing"]

DRAIN = "drain"
"""Name of the state file by which a user stops giving out tasks."""
_CATALOG_SECONDS = 2.0


class DoorKeeper(Protocol):
    """The server that nodes connect to."""

    def revoke(self, tokens: Mapping[str, float]) -> None:
        """Revoke tokens, given by key, as of the given times."""
        ...


@dataclass(slots=True)
class NodeConnections:
    """Watches which nodes connect and disconnect, and applies revocations and ``drain`` by the
    user."""

    desk: RequestDesk
    run: RunFolder
    _here: set[str] = field(default_factory=set)
    """Connected nodes at the last look."""
    _looked: float = -math.inf
    """When the catalog was last read."""

    def begin(self) -> None:
        """Remove a wish to drain that was meant for an earlier manager."""
        self.run.state_file(DRAIN).unlink(missing_ok=True)

    def poll(self, door: DoorKeeper) -> list[str]:
        """Disconnect revoked nodes, and apply a wish to drain; return messages for the user."""
        now = self.desk.clock.now()
        here = set(self.desk.registry.here(now, self.desk.board.terms.lease_seconds))
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
            door.revoke(dict.fromkeys(self.desk.registry.revoked_keys(), wall))
        return [*came, *gone, *(f"{name} is revoked" for name in revoked)]


_HERE_SECONDS, _SILENT_SECONDS = 150.0, 86_400.0
"""Since a node was last seen; stored once a minute."""


def node_listing(store: BoardStore, wall: float) -> list[NodeListing]:
    """Lists the nodes of a grid with their states and statistics."""
    figures = store.figures()
    return [
        NodeListing(
            name=name,
            group=row.group,
            state="revoked" if row.revoked else _state(row.seen, wall),
            seen=row.seen or None,
            slots=row.slots,
            speed=row.speed,
            bandwidth=row.bandwidth,
            tasks=(did := figures.get(name, NodeFigures())).open,
            committed=did.committed,
            superseded=did.superseded,
            lost=did.lost,
            pages=did.pages,
            wire_bytes=did.wire_bytes,
        )
        for name, row in store.nodes().items()
    ]


def _state(seen: float, wall: float) -> str:
    if not seen:
        return "invited"
    if wall - seen <= _HERE_SECONDS:
        return "here"
    return "silent" if wall - seen <= _SILENT_SECONDS else "gone"


def grid_report(store: BoardStore, run: str) -> GridReport:
    """The grid's part of a report: what each node did, and what lost leases cost."""
    nodes, figures = store.nodes(), store.figures(run)
    whole = sum(done.wire_bytes for done in figures.values())
    return GridReport(
        nodes=tuple(
            NodeReport(
                name=name,
                group=nodes[name].group if name in nodes else "",
                tasks=done.committed,
                pages=done.pages,
                wire_bytes=done.wire_bytes,
                share=done.wire_bytes / whole if whole else 0.0,
                lost=done.lost,
                superseded=done.superseded,
                wasted_bytes=done.wasted_bytes,
            )
            for name, done in sorted(figures.items())
        ),
        leases=sum(done.leases for done in figures.values()),
        audits=tuple(
            AuditReport(
                audit.site,
                audit.first,
                second=audit.second,
                pages=audit.pages,
                differing=audit.differing,
                examples=audit.examples,
            )
            for audit in store.audits(run)
        ),
    )
