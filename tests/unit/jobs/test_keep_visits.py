"""Visits of a keeper: what ended ones found is known, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

from headgate.jobs.keeping.kept_visit import PlannedVisit
from headgate.jobs.keeping.visits import KeepVisits, _Underway
from headgate.model.site import Site
from headgate.recrawl.site_board import Why

PLANNED = PlannedVisit(
    Site("docs", ("http://a.example/",)), 1, Why.FIRST, None, 0.0, 0.0, None, False, {}, 0.0, 0.0
)  # fmt: skip


def test_a_visit_whose_end_is_being_learned_is_settled_by_who_asks_next() -> None:
    """A keeper that is told to end ends the task that learns it."""
    learning, go_on = threading.Event(), threading.Event()
    recorded: list[str] = []

    def learn(planned: PlannedVisit, *_: object) -> str:
        learning.set()
        go_on.wait(30)
        return planned.site.name

    nothing: Any = SimpleNamespace(
        leave=recorded.append, visited=lambda _: None, take=lambda _: None,
        pass_on=lambda *_: (), wall=lambda: 0.0,
    )  # fmt: skip
    desk: Any = SimpleNamespace(learn=learn, record=recorded.append)
    visits = KeepVisits(desk, nothing, nothing, nothing, nothing, nothing)

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
