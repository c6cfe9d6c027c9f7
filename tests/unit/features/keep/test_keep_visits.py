"""Visits of a keeper: what ended ones found is known, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

from headgate.features.keep.recrawl.scheduler import Why
from headgate.features.keep.visit import PlannedVisit
from headgate.features.keep.visits import KeepVisits, _Underway
from headgate.model.site import Site

PLANNED = PlannedVisit(
    Site("docs", ("http://a.example/",)),
    1,
    why=Why.FIRST,
    asks=None,
    expected_bytes=0.0,
    expected_seconds=0.0,
    due=None,
    believe=False,
    said={},
    began=0.0,
    oldest_look=0.0,
)


def test_a_visit_whose_end_is_being_learned_is_settled_by_who_asks_next() -> None:
    """A keeper that is told to end ends the task that learns it."""
    learning, go_on = threading.Event(), threading.Event()
    recorded: list[str] = []

    def learn(planned: PlannedVisit, *_: object) -> str:
        learning.set()
        go_on.wait(30)
        return planned.site.name

    nothing: Any = SimpleNamespace(
        leave=recorded.append, visited=lambda _: None, collect=lambda _: None,
        pass_on=lambda *_: (), wall=lambda: 0.0,
    )  # fmt: skip
    desk: Any = SimpleNamespace(learn=learn, record=recorded.append)
    visits = KeepVisits(desk, nothing, state=nothing, notices=nothing, links=nothing, clock=nothing)

    async def stopped_and_settled() -> int:
        visits._visits["docs"] = _Underway(PLANNED, "volume")
        progress: Any = SimpleNamespace(site="docs", ended=1.0)
        visits.heard([progress])
        tending = asyncio.create_task(visits.settle())
        await asyncio.to_thread(learning.wait, 30)
        tending.cancel()
        await asyncio.gather(tending, return_exceptions=True)
        go_on.set()
        return await visits.settle()

    assert asyncio.run(stopped_and_settled()) == 1
    assert recorded == ["docs", "volume"]
    assert not visits
