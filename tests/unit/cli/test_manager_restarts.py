"""When a manager whose catalog fails is begun again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from headgate.cli import manager_progress
from headgate.cli.manager_progress import managed
from headgate.model.errors import WorldFault
from headgate.testing.virtual_time import VirtualClock, VirtualLoop, run_virtually


@asynccontextmanager
async def alone(_url: str, _tell: Callable[[str], None]) -> AsyncIterator[bool]:
    yield False


def begun(
    seconds: list[float], monkeypatch: pytest.MonkeyPatch, catalog: str = "there"
) -> list[float]:
    """When managers begin that fail after so many seconds each; the last ends in order."""
    monkeypatch.setattr(manager_progress, "only_manager", alone)
    moments: list[float] = []

    async def main(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop, 0.0)
        start = clock.now()

        async def once(waited: bool) -> None:
            assert not waited
            moments.append(clock.now() - start)
            if len(moments) > len(seconds):
                return
            await asyncio.sleep(seconds[len(moments) - 1])
            raise WorldFault("the catalog is away")

        await managed(catalog, once, clock=clock)

    run_virtually(main)
    return moments


def test_each_wait_is_twice_the_last_up_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = begun([0.0] * 9, monkeypatch)
    waits = [later - at for at, later in pairwise(moments)]
    assert waits == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60])


def test_after_a_manager_that_ran_well_the_waits_begin_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = begun([0.0, 0.0, 0.0, 100.0, 0.0], monkeypatch)
    assert moments == pytest.approx([0, 1, 3, 7, 108, 110])


def test_a_catalog_in_the_collection_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorldFault, match="away"):
        begun([0.0], monkeypatch, catalog="")
