"""``headgate demo --grid``: three nodes of unequal speed crawl the small web, and one is killed."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from headgate.cli.crawl_progress import conclude
from headgate.cli.manager_progress import manage_watched
from headgate.cli.terminal import say
from headgate.crawling.child_process import Child, Pipe
from headgate.features.demo.web import DemoWeb
from headgate.features.grid.coordinator.catalog import looked_at_board
from headgate.features.grid.coordinator.coordinator import ManagerJob
from headgate.features.grid.coordinator.endpoint import DoorPlace, invite
from headgate.features.grid.scheduler.records import BoardState
from headgate.features.grid.transport.certificates import make_private
from headgate.features.grid.transport.server_config import Listen
from headgate.model.budget import Budget
from headgate.model.errors import HeadgateError
from headgate.model.grid import GridTerms
from headgate.model.run_report import RunReport
from headgate.model.site import Site
from headgate.model.units import UNLIMITED, Bytes, Seconds

__all__ = ["main", "run_grid_demo"]

_LEASE = Seconds(4.0)
_LOOK_SECONDS = 0.5
_BEFORE_THE_KILL_SECONDS = 2.0
_END_SECONDS = 10.0
"""A node that was asked to end gives its tasks back first."""


@dataclass(frozen=True, slots=True)
class _Lent:
    """A simulated machine: one process with a speed limit."""

    name: str
    rate: str
    about: str


_NODES = (
    _Lent("server", "400KB/s", "always there"),
    _Lent("laptop", "150KB/s", "on a slow line"),
    _Lent("desktop", "150KB/s", "is switched off in the middle"),
)
_DOOMED = _NODES[-1]


def run_grid_demo(out: Path, *, quiet: bool, as_json: bool) -> int:
    import uvloop

    if not quiet:
        lines = [f"  {node.name:<8} {node.rate:>8}  {node.about}" for node in _NODES]
        sys.stderr.write(
            "\n".join(("Three nodes crawl seven sites for one manager:", *lines, "", ""))
        )
    report = uvloop.run(_demonstrate(out, quiet=quiet))
    return conclude(report, out, as_json=as_json)


async def _demonstrate(out: Path, *, quiet: bool) -> RunReport:
    async with DemoWeb(year=datetime.now(UTC).year) as web:
        sites = tuple(
            Site(place.name, seeds=(place.seed,), expect=Bytes(place.bytes)) for place in web.places
        )
        job = ManagerJob(
            sites, Budget(UNLIMITED), GridTerms(lease=_LEASE), out, "headgate demo", once=True
        )
        listen = Listen("127.0.0.1", _free_port())
        place = DoorPlace(listen, hosts=(listen.host,), plain=True)
        async with _nodes(out, f"nats://{listen}") as nodes:
            ending = asyncio.create_task(_switch_off(nodes[_DOOMED.name], out, quiet=quiet))
            try:
                return await manage_watched(job, place, "", quiet=quiet)
            finally:
                ending.cancel()


@asynccontextmanager
async def _nodes(out: Path, url: str) -> AsyncIterator[dict[str, Child]]:
    """Each in its own process, as if on separate machines."""
    started: dict[str, Child] = {}
    lent = out / "nodes"
    lent.mkdir(parents=True, exist_ok=True)
    try:
        for node in _NODES:
            token = lent / f"{node.name}.token"
            make_private(token, invite(out, node.name, [url], 1, time.time())[1])
            started[node.name] = Child(
                "headgate.cli.demo_grid", str(token),
                "--spool", str(lent / node.name), "--bandwidth", node.rate, "--slots", "2",
                "--allow-private", "--until-idle", "--quiet",
            )  # fmt: skip
        yield started
    finally:
        for child in started.values():
            child.terminate()
        ends = (asyncio.to_thread(child.stop, _END_SECONDS) for child in started.values())
        await asyncio.gather(*ends)


def main(_pipe: Pipe, *words: str) -> None:
    """In the process of a node: its command, without a word."""
    from headgate.cli.main import main as headgate

    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    sys.exit(headgate(["node", *words]))


async def _switch_off(node: Child, out: Path, *, quiet: bool) -> None:
    """Kill a node once it has crawled a little."""
    while not await asyncio.to_thread(_has_a_task, out):
        await asyncio.sleep(_LOOK_SECONDS)
    await asyncio.sleep(_BEFORE_THE_KILL_SECONDS)
    node.stop()
    if not quiet:
        say(f"{_DOOMED.name} is switched off; what it had goes to others")


def _has_a_task(out: Path) -> bool:
    try:
        with looked_at_board("", out) as board:
            return any(_DOOMED.name in task.nodes for task in board.listing(BoardState.LEASED, 50))
    except HeadgateError:  # there is no catalog yet
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
