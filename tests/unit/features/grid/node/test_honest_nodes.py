"""Heartbeats and results of honest nodes are never refused, however extreme."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.contract.task_offices import HandClock

from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.progress import Growth, Progress, TaskState
from headgate.features.grid.node.heartbeats import Heartbeats, fitting, fitting_together
from headgate.features.grid.node.leased_tasks import LeasedTasks
from headgate.features.grid.protocol import Beat, Held, Lease, Manifest, Orders, decoded, encoded
from headgate.features.grid.transport.server_config import MAX_PAYLOAD_BYTES
from headgate.model.run_report import LeftOut

DAY = 86_400.0
SUBJECT_BYTES = 1_000
"""Of a message that are not its body."""


def chain(pages: int) -> Growth:
    """Each page has a link to the next."""
    growth = Growth()
    for depth in range(pages):
        growth.found(depth, 1)
        growth.settle(depth, 1)
        growth.came(depth, 10_000)
    return growth


def progress(**changes: object) -> Progress:
    values = {
        "started": 0.0, "pages": 100_000, "fetches": 101_000, "wire_bytes": 10**10, "seen": 10**6,
        "to_do": 10**6, "errors": Counter({str(status): 9 for status in range(400, 600)}),
    }  # fmt: skip
    return Progress("a", TaskState.CRAWLING, **{**values, **changes})  # type: ignore[arg-type]


EXTREMES: Mapping[str, Progress] = {
    "nothing yet": Progress("a"),
    "zero bytes": progress(wire_bytes=0, pages=0, payload_bytes=0),
    "30 days": progress(fetch_seconds=100 * 30 * DAY, ended=30 * DAY),
    "asleep for a week": progress(started=-1e-9, seconds_per_request=7 * DAY),
    "a long chain": progress(growth=chain(100_000)),
    "dead hosts": progress(
        given_up={f"host-{number}.example.org": "cannot connect" for number in range(100_000)}
    ),
    "long URLs": progress(
        left_out={f"reason {number}": LeftOut(10**6, ("x" * 8_192,) * 5) for number in range(15)}
    ),
}


def sent(beat: Beat | Manifest) -> Beat | Manifest:
    """As the manager gets it over the wire."""
    data = encoded(beat)
    assert len(data) <= MAX_PAYLOAD_BYTES - SUBJECT_BYTES
    return decoded(data, type(beat))


@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("slots", [1, 100])
def test_a_heartbeat_is_understood(extreme: str, slots: int) -> None:
    held = [Held(lease=Lease(n, 1), progress=EXTREMES[extreme]) for n in range(4 * slots)]
    beat = sent(Beat(life=1, number=1, tasks=fitting_together(held)))
    assert isinstance(beat, Beat)
    assert [of.lease for of in beat.tasks] == [of.lease for of in held]
    assert {of.progress.wire_bytes for of in beat.tasks} == {EXTREMES[extreme].wire_bytes}


@pytest.mark.parametrize("extreme", EXTREMES)
def test_a_result_is_understood(extreme: str) -> None:
    told = fitting(EXTREMES[extreme])
    manifest = sent(Manifest(lease=Lease(1, 1), files=(), progress=told))
    assert manifest == Manifest(lease=Lease(1, 1), files=(), progress=told)
    counts = {reason: found.count for reason, found in told.left_out.items()}
    left_out = EXTREMES[extreme].left_out
    assert counts == {reason: found.count for reason, found in left_out.items()}


def test_what_is_small_is_told_in_full() -> None:
    small = progress(growth=chain(100), given_up={"b": "cannot connect"})
    assert fitting(small) == small
    assert fitting_together([Held(lease=Lease(1, 1), progress=small)])[0].progress == small


class _Line:
    """Checks heartbeats as the wire does, and adds up what they tell."""

    def __init__(self) -> None:
        self.servers: dict[str, ServerTally] = {}
        self.connects: dict[str, float] = {}

    async def beat(self, beat: Beat) -> Orders:
        beat = decoded(encoded(beat), Beat)
        sent(beat)
        for address, more in beat.servers.items():
            self.servers[address] = self.servers.get(address, ServerTally()).plus(more)
        self.connects |= beat.connects
        return Orders()


def heartbeats(line: _Line, folder: Path) -> Heartbeats:
    return Heartbeats(line, LeasedTasks(folder), HandClock())  # type: ignore[arg-type]


def test_counters_of_a_new_fleet_are_told_from_the_beginning(tmp_path: Path) -> None:
    """It may have asked more often than the one before, and for less."""
    line = _Line()

    async def scene() -> None:
        node = heartbeats(line, tmp_path)
        await node.beat(
            {
                "::1": ServerTally(
                    {"a"},
                    2,
                    bytes=10**9,
                    busy_seconds=50.0,
                    first_byte_seconds=9.0,
                    response_seconds=60.0,
                    held_seconds=5.0,
                    round_trip_seconds=60.0,
                )
            }
        )
        await node.beat(
            {
                "::1": ServerTally(
                    {"a"},
                    5,
                    bytes=10**3,
                    busy_seconds=1.0,
                    first_byte_seconds=1.0,
                    response_seconds=1.0,
                    held_seconds=0.0,
                    round_trip_seconds=60.0,
                )
            }
        )

    asyncio.run(scene())
    told = line.servers["::1"]
    assert (told.requests, told.bytes, told.busy_seconds) == (7, 10**9 + 10**3, 51.0)
    assert line.connects == {"a": 60.0}


def test_many_servers_and_names_are_told_little_by_little(tmp_path: Path) -> None:
    line = _Line()
    many = {
        f"2001:db8::{number:x}": ServerTally(
            {f"{number}.test"},
            1,
            bytes=100,
            busy_seconds=1.0,
            first_byte_seconds=1.0,
            response_seconds=1.0,
            held_seconds=0.0,
            round_trip_seconds=0.1,
        )
        for number in range(2_500)
    }
    named = {f"user-{number}.example.org" for number in range(50_000)}

    async def scene() -> None:
        node = heartbeats(line, tmp_path)
        await node.beat(
            {
                "::1": ServerTally(
                    named,
                    50_000,
                    bytes=10**9,
                    busy_seconds=1.0,
                    first_byte_seconds=1.0,
                    response_seconds=1.0,
                    held_seconds=0.0,
                    round_trip_seconds=0.1,
                )
            }
        )
        for _ in range(4):
            await node.beat(many)

    asyncio.run(scene())
    assert line.servers.pop("::1").requests == 50_000
    assert {address: tally.requests for address, tally in line.servers.items()} == dict.fromkeys(
        many, 1
    )


def test_a_node_may_hold_and_give_back_more_than_a_message_has_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of long ago, and thousands of slots."""
    held = tuple(Held(lease=Lease(n, 1), progress=progress()) for n in range(1_500))
    monkeypatch.setattr(LeasedTasks, "held", lambda _: held)
    line = _Line()

    async def scene() -> None:
        node = heartbeats(line, tmp_path)
        node.back = {Lease(n, 2): Progress("a") for n in range(1_500)}
        await node.beat({})
        assert len(node.back) == 500
        await node.beat({})
        assert not node.back

    asyncio.run(scene())
