"""The nodes of a grid as known to the manager: which are connected, their speed and uptime."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Progress
from headgate.features.grid.protocol import Beat, Lease
from headgate.features.grid.scheduler.records import NodeRow

__all__ = ["NodeRegistry", "Present"]

_NEW_SHARE = 0.3
"""Weight of a new measurement in a moving average."""
_HERE_LEASES = 1.0
"""A node that was silent for longer counts as disconnected."""
_SERVERS_A_HOST = 250
"""Servers, and names of them, that a node may tell of for each host that it had a task of: a site
may have many, and what is told is stored."""


@dataclass(slots=True)
class Present:
    """What a connected node has reported; not stored."""

    heard: float
    life: int
    """Until its first heartbeat, as stored by an earlier manager."""
    number: int = -1
    began: float = 0.0
    tasks: Mapping[Lease, Progress] = field(default_factory=dict)
    """Of leases that it had at its last heartbeat."""
    leaving: bool = False
    named: int = 0
    """Servers, and names of them, that it was the first to tell of."""


@dataclass(slots=True)
class NodeRegistry:
    rows: dict[str, NodeRow] = field(default_factory=dict)
    stored: Counter[str] = field(default_factory=Counter)
    """Results of each node, in all runs."""
    servers: dict[str, ServerTally] = field(default_factory=dict)
    """Totals by address, over all nodes."""
    last_came: float = -math.inf
    """When a node was last heard of for the first time."""
    _present: dict[str, Present] = field(default_factory=dict)
    _hosts: dict[str, set[str]] = field(default_factory=dict)
    """By node, hosts of the tasks that it had."""

    def gave(self, node: str, host: str) -> None:
        """The node has a task at this host."""
        self._hosts.setdefault(node, set()).add(host)

    def had(self, node: str, host: str) -> bool:
        """Whether the node had a task there, as far as this manager knows."""
        return host in self._hosts.get(node, ())

    def heard(self, node: str, now: float, wall: float) -> NodeRow:
        """Note a sign of life of a node."""
        row = self.rows.get(node)
        if row is None:
            row = self.rows[node] = NodeRow(name=node, joined=wall)
        row.seen = wall
        present = self._present.get(node)
        if present is None:
            self._present[node] = Present(now, row.life)
            self.last_came = now
        else:
            present.heard = now
        return row

    def beat(self, node: str, beat: Beat, now: float) -> bool:
        """Take in a heartbeat; True if it is the first since the node was restarted."""
        row, present = self.rows[node], self._present[node]
        new_life = beat.life != present.life
        if new_life:
            if present.number >= 0:
                lived = max(now - present.began, 1.0)
                row.up_seconds = _followed(row.up_seconds or lived, lived)
            present.life, present.number, present.began = beat.life, -1, now
            row.life = beat.life
        present.leaving = beat.leaving
        if beat.number > present.number:
            present.number = beat.number
            self._take_servers(present, beat, 1 + len(self._hosts.get(node, ())))
            if beat.reference_seconds is not None:
                row.reference_seconds = beat.reference_seconds
        return new_life

    def _take_servers(self, present: Present, beat: Beat, hosts: int) -> None:
        for address, more in beat.servers.items():
            known = self.servers.get(address)
            new = len(more.hosts) + 1 if known is None else len(more.hosts - known.hosts)
            if not new or present.named + new <= _SERVERS_A_HOST * hosts:
                present.named += new
                self.servers[address] = (known or ServerTally()).plus(more)

    def holds(self, node: str, tasks: Mapping[Lease, Progress]) -> None:
        """What a node reports of leases that it has: nothing it says of others counts."""
        self._present[node].tasks = tasks

    def done(self, node: str, progress: Progress) -> None:
        """A result of the node was stored; update its speed by what came since the task was last
        taken up."""
        self.stored[node] += 1
        row = self.rows.get(node)
        seconds = (progress.ended or 0.0) - (progress.started or 0.0)
        came = progress.wire_bytes - progress.earlier_wire_bytes
        if row is not None and seconds > 0 and came > 0:
            speed = came / seconds
            row.speed = speed if row.speed is None else _followed(row.speed, speed)

    def here(self, now: float, lease_seconds: float) -> list[str]:
        return [
            name
            for name, present in self._present.items()
            if now - present.heard <= _HERE_LEASES * lease_seconds
            and not present.leaving
            and not self.rows[name].revoked
        ]

    def revoked_keys(self) -> set[str]:
        """The tokens of all revoked nodes."""
        return {row.token_key for row in self.rows.values() if row.revoked and row.token_key}

    def weights(self, now: float, lease_seconds: float) -> dict[str, float]:
        """Weights for sharing a budget: running tasks, without those whose result only waits to be
        delivered; a node without one needs a little to start."""
        return {
            name: sum(told.ended is None for told in self._present[name].tasks.values()) or 0.25
            for name in self.here(now, lease_seconds)
        }

    def progress(self, now: float, lease_seconds: float) -> Mapping[Lease, Progress]:
        """Progress of running tasks, as last reported."""
        return {
            lease: progress
            for name in self.here(now, lease_seconds)
            for lease, progress in self._present[name].tasks.items()
        }


def _followed(old: float, new: float) -> float:
    return old + _NEW_SHARE * (new - old)
