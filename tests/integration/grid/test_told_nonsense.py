"""Nodes that tell nonsense: it is refused or harmless, and the manager goes on."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.contract.desk_office import DeskOffice, at_desk
from tests.contract.task_offices import LEASE_SECONDS
from tests.contract.test_task_source import Result, beat_of, brought, claimed, granted

from headgate.bandwidth.server_tally import ServerTally
from headgate.control.allowance import LineUse
from headgate.control.learner import Learner
from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.coordinator.progress import GridProgress
from headgate.features.grid.protocol import (
    Beat,
    Claim,
    Grant,
    Held,
    Known,
    Lease,
    Refused,
    ResultVerdict,
    Word,
    decoded,
    encoded,
)
from headgate.features.grid.scheduler.records import BoardState
from headgate.features.grid.transport.requests import WireRequest
from headgate.model.timetable import Calendar
from headgate.storage.catalog.sqlite import SqliteCatalog

listening = pytest.importorskip("headgate.features.grid.transport.requests", exc_type=ImportError)

HUGE = 10**30


def at_the_desk(scene: Callable[[DeskOffice], Awaitable[None]]) -> None:
    async def play() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with at_desk(Path(folder) / "collection") as office:
                assert isinstance(office, DeskOffice)
                await scene(office)

    asyncio.run(play())


async def ask(office: DeskOffice, verb: str, body: bytes, node: str = "n1") -> bytes | None:
    """None: it was refused."""
    try:
        answer: bytes = await listening._Ear(office.desk)._asked(WireRequest(node, verb), body)
    except Refused:
        return None
    return answer


def with_(message: Any, path: tuple[str | int, ...], value: object) -> bytes:
    """A message as JSON, with another value in one place."""
    whole = inner = msgspec.json.decode(encoded(message))
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return json.dumps(whole).encode()  # msgspec encodes no integers beyond 64 bits


async def goes_on(office: DeskOffice) -> None:
    """All that a manager does with what it was told."""
    desk, sites = office.desk, GridProgress(office.desk, lambda wall: wall - 1.7e9)
    assert desk.fault is None
    with SqliteCatalog(office.run.collection / "catalog.sqlite") as catalog:
        line, learner = LineUse(Counter()), Learner.start(catalog, Calendar(), ())
        for turn in range(3):
            reports = sites.reports()
            msgspec.json.encode(reports)
            line.observe(reports, desk.clock.wall())
            catalog.add_line_use(line.unsaved())
            learner.observe(desk.registry.servers, reports, {}, 10.0 * turn, desk.clock.wall())
        learner.finish(desk.registry.servers, 100.0, desk.clock.wall())
        assert all(used >= 0 for used in catalog.line_use(0).values())
    office.pass_time(3 * LEASE_SECONDS)
    grant = await granted(office.source("n2"), "after all")
    await office.source("n2").beat(beat_of(grant))
    result = Result(grant.lease, grant.task.name)
    assert await brought(office.source("n2"), result) is Word.COMMITTED
    await desk.close()
    assert office.store.figures(office.run.stamp)["n2"].committed == 1


PROGRESS_NONSENSE = [
    ("wire_bytes", HUGE), ("wire_bytes", -1), ("wire_bytes", 2**62), ("pages", HUGE),
    ("errors", {"404": "x"}), ("errors", {"404": HUGE}), ("errors", {"4\0": 1}), ("errors", [1]),
    ("started", -1e300), ("ended", 1e300), ("reason", "x\0"), ("reason", "x" * 900_000),
    ("growth", {"known": [1, 2], "settled": []}), ("left_out", {"a": {"count": HUGE}}),
    ("earlier_wire_bytes", 5000), ("visit", HUGE), ("queue", {"begun": HUGE}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), PROGRESS_NONSENSE)
def test_a_heartbeat_with_impossible_progress_is_refused(field: str, value: object) -> None:
    async def scene(office: DeskOffice) -> None:
        beat = beat_of(await claimed(office.source("n1"), "a"))
        assert (
            await ask(office, "beat", with_(beat, ("tasks", 0, "progress", field), value)) is None
        )
        await goes_on(office)

    at_the_desk(scene)


async def told_otherwise(office: DeskOffice, field: str, value: object) -> bytes | None:
    """The answer to a result whose progress has another value."""
    source = office.source("n1")
    result = Result((await claimed(source, "a")).lease, "a")
    await source.put(result.put)
    await result.send(source)
    return await ask(office, "done", with_(result.manifest, ("progress", field), value))


@pytest.mark.parametrize(("field", "value"), PROGRESS_NONSENSE)
def test_a_result_with_impossible_progress_is_refused(field: str, value: object) -> None:
    async def scene(office: DeskOffice) -> None:
        assert await told_otherwise(office, field, value) is None
        await goes_on(office)

    at_the_desk(scene)


@pytest.mark.parametrize(
    ("field", "value"), [("site", "b"), ("site", "unheard"), ("visit", 7), ("state", "crawling")]
)
def test_a_result_that_is_not_its_tasks_goes_to_another(field: str, value: object) -> None:
    async def scene(office: DeskOffice) -> None:
        answer = await told_otherwise(office, field, value)
        assert answer is not None
        assert decoded(answer, ResultVerdict).word is Word.REFUSED
        await goes_on(office)

    at_the_desk(scene)


def test_texts_for_the_catalog_have_no_nul() -> None:
    async def scene(office: DeskOffice) -> None:
        assert await ask(office, "claim", encoded(Claim(id="a\0b"))) is None
        beat = Beat(life=1, number=1, connects={"a\0.test": 1.0})
        assert await ask(office, "beat", encoded(beat)) is None
        beat = Beat(life=1, number=1, servers={"1.2.3.4": ServerTally({"\0"})})
        assert await ask(office, "beat", encoded(beat)) is None

    at_the_desk(scene)


def test_only_leases_that_a_node_has_count_for_its_share_and_its_progress() -> None:
    async def scene(office: DeskOffice) -> None:
        one, two = office.source("n1"), office.source("n2")
        first, second = await claimed(one, "a"), await claimed(two, "b")
        lie = Progress("b", TaskState.CRAWLING, wire_bytes=10**9)
        held = [Held(lease=Lease(number, 1), progress=lie) for number in range(500, 900)]
        held += [Held(lease=second.lease, progress=lie)]
        beat = beat_of(first)
        await one.beat(replace(beat, tasks=(*beat.tasks, *held)))
        await two.beat(beat_of(second))
        registry, now = office.desk.registry, office.clock.now()
        assert registry.weights(now, LEASE_SECONDS) == {"n1": 1, "n2": 1}
        await one.beat(replace(beat, number=2, tasks=(*beat.tasks, *held)))
        assert {word.wire_bytes for word in office.desk.running().values()} == {0}
        done = Progress("a", TaskState.DONE, started=0.0, ended=9.0)
        await one.beat(Beat(life=1, number=3, tasks=(Held(lease=first.lease, progress=done),)))
        assert registry.weights(now, LEASE_SECONDS) == {"n1": 0.25, "n2": 1}, "a result that waits"

    at_the_desk(scene)


def test_figures_of_nodes_are_summed_however_large() -> None:
    async def scene(office: DeskOffice) -> None:
        leases = [(await claimed(office.source("n1"), site)).lease for site in ("a", "b")]
        for lease in leases:
            held = office.desk.board.leases.get(lease)
            assert held is not None
            held.row.wire_bytes = held.row.pages = 2**62
        await office.source("n1").beat(Beat(life=1, number=1, leaving=True))
        await office.desk.close()
        assert office.store.figures(office.run.stamp)["n1"].wasted_bytes == 2**63

    at_the_desk(scene)


def test_a_manifest_that_cannot_be_used_spoils_its_result_only() -> None:
    """One that an earlier version accepted."""

    async def scene(office: DeskOffice) -> None:
        grant = await claimed(office.source("n1"), "a")
        held = office.desk.board.leases.get(grant.lease)
        assert held is not None
        result = Result(grant.lease, "a")
        await office.source("n1").put(result.put)
        await result.send(office.source("n1"))
        assert not office.desk.arrivals.wrong(grant.lease, result.manifest.files)
        manifest = with_(result.manifest, ("progress", "wire_bytes"), HUGE)
        assert office.desk.board.receive(held.row, manifest, office.clock.wall())
        await office.desk.close()
        again = DeskOffice(office.run, office.store, office.clock)
        await again.desk.open()
        assert again.desk.fault is None
        assert office.store.count(office.run.stamp)[BoardState.READY] == 3
        assert isinstance(await claimed(again.source("n2"), "a"), Grant)

    at_the_desk(scene)


def test_line_use_stays_within_what_the_catalog_reads(tmp_path: Path) -> None:
    with SqliteCatalog(tmp_path / "catalog.sqlite") as catalog:
        for _ in range(3):
            catalog.add_line_use({1: 2**59, 2: 2**70, 3: 5})
        assert catalog.line_use(0) == {1: 2**60, 2: 2**60, 3: 15}


NUMBERS = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2**31, 2**40, 2**50, 2**53, 2**60, 2**62, 2**63 - 1, -(2**63), 1e12, 5e-324]),
)  # fmt: skip
ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=5)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[Any, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    found = [path] if path else []
    return found + [place for step, each in inner for place in _places(each, (*path, step))]


@st.composite
def changed(draw: st.DrawFn, message: Any) -> bytes:
    """A message with other values in some places, mostly numbers."""
    whole = msgspec.json.decode(encoded(message))
    for _ in range(draw(st.integers(1, 4))):
        inner, path = whole, draw(st.sampled_from(_places(whole)))
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = draw(NUMBERS | ANY)
    return json.dumps(whole).encode()


@settings(max_examples=40)
@given(st.data())
def test_any_claim_beat_or_result_is_answered_or_refused(data: st.DataObject) -> None:
    async def scene(office: DeskOffice) -> None:
        grant = await claimed(office.source("n1"), "a")
        result = Result(grant.lease, "a")
        full = Progress(
            "a", TaskState.DONE, 1.0, 2.0, 3, wire_bytes=100, errors=Counter({"404": 1}),
            given_up={"a.test": "robots.txt"},
        )  # fmt: skip
        tally = ServerTally(
            {"a.test"},
            5,
            bytes=1000,
            busy_seconds=1.0,
            first_byte_seconds=0.5,
            response_seconds=1.0,
            held_seconds=0.1,
            round_trip_seconds=0.01,
        )
        beat = Beat(
            life=1, number=1, tasks=(Held(lease=grant.lease, progress=full),),
            servers={"1.2.3.4": tally}, connects={"a.test": 0.01}, back=(Lease(99, 1),),
        )  # fmt: skip
        messages = {
            "beat": beat, "claim": Claim(id="x", not_these=(7,)), "put": result.put,
            "known": Known(lease=grant.lease, offset=0),
            "done": replace(result.manifest, progress=full),
        }  # fmt: skip
        await office.source("n1").put(result.put)
        await result.send(office.source("n1"))
        for _ in range(3):
            verb = data.draw(st.sampled_from(list(messages)))
            await ask(office, verb, data.draw(changed(messages[verb])))
        await goes_on(office)

    at_the_desk(scene)
