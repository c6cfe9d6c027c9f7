"""Virtual time: an event loop that never waits, and its clock.

The loop has no sockets. When nothing is ready it jumps to the next timer, so that hours pass in the
time that the work in them takes; when there is no timer either, nothing can ever happen again, and
it says so. Work in threads (`asyncio.to_thread`, an executor) is done in the loop, some virtual
time later: as with a thread, other tasks may run meanwhile. Nothing depends on the machine's speed,
so a run can be repeated exactly.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

__all__ = ["VirtualClock", "VirtualLoop", "run_virtually"]

_Found = TypeVar("_Found")
_Arguments = TypeVarTuple("_Arguments")
_RESOLUTION_SECONDS = 1e-9
"""Moments are sums of floats."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Starts at second 0."""

    def __init__(self, beside_seconds: Callable[[], float] = lambda: 0.0) -> None:
        """``beside_seconds`` gives the virtual duration of each work in a thread."""
        super().__init__()
        self._now = 0.0
        self._beside_seconds = beside_seconds
        self._selector = _Jump(self)
        self._clock_resolution = _RESOLUTION_SECONDS

    def time(self) -> float:
        return self._now

    def call_later(
        self,
        delay: float,
        callback: Callable[[*_Arguments], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """A delay takes at least the resolution: otherwise a task that waits for the rest of a
        second could loop for ever, because of rounding."""
        if delay > 0:
            delay = max(delay, math.ulp(self._now))
        return super().call_later(delay, callback, *args, context=context)

    def jump(self, seconds: float | None) -> None:
        if seconds is None:
            raise RuntimeError("virtual time has come to an end: nothing will ever be ready")
        self._now += seconds
        # Beyond 2^24 s floats are coarser than the resolution: a timer whose moment has come would
        # never be due.
        self._clock_resolution = max(_RESOLUTION_SECONDS, math.ulp(self._now))

    def run_in_executor(
        self,
        executor: Executor | None,  # noqa: ARG002 - nobody but the loop does anything here
        func: Callable[[*_Arguments], _Found],
        *args: *_Arguments,
    ) -> asyncio.Future[_Found]:
        done: asyncio.Future[_Found] = self.create_future()

        def work() -> None:
            if done.cancelled():  # a thread would still do it, at an unknown time
                return
            try:
                found = func(*args)
            except Exception as error:
                if not done.cancelled():
                    done.set_exception(error)
            else:
                if not done.cancelled():
                    done.set_result(found)

        self.call_later(self._beside_seconds(), work)
        return done

    def _process_events(self, event_list: object) -> None:
        """There are none but timers."""

    def _write_to_self(self) -> None:
        """No other thread waits to be woken."""


class _Jump:
    """The selector of the base class: it waits by jumping."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[object]:
        self._loop.jump(timeout)
        return []


class VirtualClock:
    """A `headgate.crawling.ports.MachineClock` over a loop's time. The machine can be put to sleep
    and its clock on the wall can be set; it is never busy."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wall: float) -> None:
        """``wall``: seconds since 1970 at the loop's second 0."""
        self._loop = loop
        self._wall = wall
        self._asleep = 0.0

    def now(self) -> float:
        return self._loop.time() + self._asleep

    def wall(self) -> float:
        return self._wall + self.now()

    def asleep(self) -> float:
        return self._asleep

    def cpu(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        """The machine is suspended and wakes up: every clock has gone on but the loop's timers."""
        self._asleep += seconds

    def set_wall(self, by_seconds: float) -> None:
        """The wall clock is set forward or back."""
        self._wall += by_seconds


def run_virtually(
    main: Callable[[VirtualLoop], Coroutine[Any, Any, _Found]],
    beside_seconds: Callable[[], float] = lambda: 0.0,
) -> _Found:
    """Run ``main`` in virtual time; returns its result."""
    loop = VirtualLoop(beside_seconds)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main(loop))
