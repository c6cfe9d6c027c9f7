"""A command of the user's: real children, on both event loops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from headgate.features.keep.notice_delivery import CommandEnd, run_command

Run = Callable[[Coroutine[Any, Any, CommandEnd]], CommandEnd]
runs = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
"""The keeper has the second."""


def told(run: Run, command: str, document: bytes = b"", seconds: float = 30.0) -> CommandEnd:
    return run(run_command(command, document, {}, seconds))


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@runs
@pytest.mark.parametrize("leaves", ["sleep 60 &", "setsid sleep 8 &"])
def test_what_a_command_leaves_running_is_not_waited_for(run: Run, leaves: str) -> None:
    began = time.monotonic()
    end = told(run, f"sh -c 'echo well >&2; {leaves} exit 0'", b"x" * 200_000)
    assert (end.code, end.problem) == (0, "well")
    assert time.monotonic() - began < 7


@runs
def test_files_do_not_stay_open_with_what_a_command_left_running(run: Run) -> None:
    async def many() -> CommandEnd:
        command = "sh -c 'setsid sleep 8 & exit 3'"
        await run_command(command, b"", {}, 30.0)
        before = open_files()
        ends = await asyncio.gather(*(run_command(command, b"", {}, 30.0) for _ in range(5)))
        await asyncio.sleep(0.1)
        assert open_files() <= before
        return ends[0]

    assert run(many()) == CommandEnd(3, "it ended with code 3")


@runs
def test_a_command_that_hangs_is_ended(run: Run) -> None:
    end = told(run, "sh -c 'echo waiting >&2; sleep 60'", b"x" * 200_000, seconds=0.5)
    assert (end.code, end.problem) == (None, "not done in 0.5 seconds")
