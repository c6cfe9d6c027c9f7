"""A bed for a grid: machines at some distance from a core that has the web and the manager.

    node 0 ns ── veth ── home 0 ns ── TUN ── emulator ── TUN ──┐
    node 1 ns ── veth ── home 1 ns ── TUN ── emulator ── TUN ──┤ core ns: one address per site, one
    ...                                                        │ for the manager
    node n ns ── veth ── home n ns ── TUN ── emulator ── TUN ──┘

Each node has only its own line, with its round trip, or another to each site; nodes do not reach
each other. A home is a NAT box (nftables): all nodes have the same private address behind it, to
which the core has no route. A line can be cut and restored.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from headgate_lab.bed.network import _FIRST as FIRST
from headgate_lab.bed.network import Bed, missing, server_address
from headgate_lab.bed.network import _ip as ip
from headgate_lab.bed.network import _run as run
from headgate_lab.bed.network import _sweep as sweep
from headgate_lab.bed.network import _switch_off_offloads as switch_off_offloads
from headgate_lab.bed.programs import compiled

__all__ = ["MANAGER_ADDRESS", "NodesBed", "nodes_bed_misses"]

MANAGER_ADDRESS = "10.78.200.1"
_NODE_ADDRESS, _HOME_ADDRESS = "192.168.1.2", "192.168.1.1"
_DEVICE, _INSIDE, _OUTSIDE = "line0", "inside0", "outside0"
_MASQUERADE = (
    "add table ip nat; "
    "add chain ip nat out { type nat hook postrouting priority srcnat; }; "
    f'add rule ip nat out oifname "{_OUTSIDE}" masquerade'
)


def nodes_bed_misses() -> str | None:
    """Why this bed cannot be built here; None when it can."""
    if shutil.which("nft") is None:
        return "the command nft is missing (apt-get install nftables)"
    return missing()


class NodesBed(Bed):
    """Use as ``with NodesBed(round_trips, sites) as bed``."""

    def __init__(
        self,
        round_trips: Sequence[float],
        sites: int,
        to_site: Callable[[int, int], float] | None = None,
    ) -> None:
        """``round_trips`` of the nodes, to the manager and to all sites, unless ``to_site`` says
        another from a node to a site."""
        super().__init__([])
        self._to_site = to_site
        self._round_trips = round_trips
        self._sites = sites
        numbers = range(len(round_trips))
        self._nodes = [f"hg-{os.getpid()}-n{number}" for number in numbers]
        self._homes = [f"hg-{os.getpid()}-h{number}" for number in numbers]

    def __enter__(self) -> NodesBed:
        super().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        for namespace in (*self._nodes, *self._homes):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)

    def at_core(self, *command: str | Path) -> list[str]:
        return ["ip", "netns", "exec", self._server, *map(str, command)]

    def at_node(self, number: int, *command: str | Path) -> list[str]:
        return ["ip", "netns", "exec", self._nodes[number], *map(str, command)]

    def cut(self, number: int) -> None:
        """Cut a line silently: packets are dropped."""
        ip("-n", self._homes[number], "link", "set", _OUTSIDE, "down")

    def mend(self, number: int) -> None:
        home = self._homes[number]
        ip("-n", home, "link", "set", _OUTSIDE, "up")
        ip("-n", home, "route", "replace", "default", "dev", _OUTSIDE)

    def is_reachable(self) -> bool:
        """Whether the core has a way to nodes' own addresses."""
        asked = ["ip", "-n", self._server, "route", "get", _NODE_ADDRESS]
        return not subprocess.run(asked, capture_output=True, check=False).returncode

    def start_meter_of(self, number: int, records: IO[bytes]) -> subprocess.Popen[bytes]:
        """Count at a node's interface into ``records`` until `stop_meter`."""
        return self._record([*FIRST, *self.at_node(number, compiled("meter"), _DEVICE)], records)

    def received_bytes(self, number: int) -> int:
        """Bytes at a node's interface since the start."""
        counter = f"/sys/class/net/{_DEVICE}/statistics/rx_bytes"
        told = subprocess.run(
            self.at_node(number, "cat", counter), capture_output=True, check=True
        )  # fmt: skip
        return int(told.stdout)

    def listening_ports(self, number: int) -> int:
        """Listening ports of a node."""
        told = subprocess.run(
            self.at_node(number, "cat", "/proc/net/tcp"), capture_output=True, check=True
        )
        rows = told.stdout.decode().splitlines()[1:]
        return sum(row.split()[3] == "0A" for row in rows)

    def _build(self) -> None:
        sweep()
        for namespace in (self._server, *self._nodes, *self._homes):
            ip("netns", "add", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        addresses = [*map(server_address, range(self._sites)), MANAGER_ADDRESS]
        for address in addresses:
            ip("-n", self._server, "address", "add", f"{address}/32", "dev", "lo")
        for number, seconds in enumerate(self._round_trips):
            self._lay_line(number, seconds, addresses)

    def _lay_line(self, number: int, round_trip: float, addresses: Sequence[str]) -> None:
        table = self.folder / f"paths-{number}"
        trips = [round_trip] * len(addresses)
        if self._to_site is not None:
            trips[: self._sites] = [self._to_site(number, site) for site in range(self._sites)]
        ways = zip(addresses, trips, strict=True)
        table.write_text("".join(f"{address} {seconds} 0 0\n" for address, seconds in ways))
        home, far, outer = self._homes[number], f"far{number}", f"10.79.{number}.2"
        self._start([str(compiled("emulator")), home, _OUTSIDE, self._server, far, str(table)])
        ip("-n", home, "address", "add", f"{outer}/32", "dev", _OUTSIDE)
        for namespace, device in ((home, _OUTSIDE), (self._server, far)):
            ip("-n", namespace, "link", "set", device, "txqueuelen", "10000", "up")
        ip("-n", home, "route", "add", "default", "dev", _OUTSIDE)
        ip("-n", self._server, "route", "add", f"{outer}/32", "dev", far)
        self._put_behind(home, self._nodes[number])

    def _put_behind(self, home: str, node: str) -> None:
        """Give a node its private address behind a NAT box."""
        ip(
            *("link", "add", _DEVICE, "netns", node, "type", "veth"),
            *("peer", "name", _INSIDE, "netns", home),
        )
        ends = ((node, _DEVICE, _NODE_ADDRESS), (home, _INSIDE, _HOME_ADDRESS))
        for namespace, device, address in ends:
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", device)
            switch_off_offloads(namespace, device)
            ip("-n", namespace, "link", "set", device, "txqueuelen", "10000", "up")
        ip("-n", node, "route", "add", "default", "via", _HOME_ADDRESS)
        within = ["ip", "netns", "exec", home]
        run([*within, "nft", _MASQUERADE])
        run([*within, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])
