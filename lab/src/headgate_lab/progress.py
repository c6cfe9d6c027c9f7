"""Progress of the lab and roughly the time left: on a terminal one line that is updated, in a pipe
a line for each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TypeVar

from rich.console import Console
from rich.status import Status

from headgate_lab.papers.mapping import Mapper

__all__ = ["LabProgress"]

Task = TypeVar("Task")
Result = TypeVar("Result")

_PIPED_EVERY = 30.0
"""Seconds between lines within one step."""


class LabProgress:
    def __init__(
        self, console: Console, expected: Mapping[str, float], now: Callable[[], float]
    ) -> None:
        """``expected``: seconds for each paper to reproduce, in order."""
        self._console, self._now = console, now
        self._expected = dict(expected)
        self._papers = len(expected)
        self._pace = 1.0
        """Seconds on this machine per expected second."""
        self._paper, self._began, self._told = "", 0.0, 0.0
        self._step = ""
        self._rest = 0.0
        """Seconds left of the tasks being counted, extrapolated from those done."""
        self._status = Status("", console=console) if console.is_terminal else None

    def __enter__(self) -> LabProgress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def begin(self, paper: str) -> None:
        self._paper, self._began = paper, self._now()
        self.say("")

    def say(self, step: str) -> None:
        """Show the current step."""
        self._step = step
        self._tell(step, now=bool(step))

    def done(self) -> float:
        """The paper is done; returns the seconds it took."""
        seconds = self._now() - self._began
        expected = self._expected.pop(self._paper)
        self._pace = max(seconds, 0.1) / max(expected, 0.1)
        self._rest = 0.0
        return seconds

    def counting(self, mapper: Mapper) -> Mapper:
        """The same mapper, with each task counted when done."""

        def mapped(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterable[Result]:
            began = self._now()
            for number, result in enumerate(mapper(function, tasks), start=1):
                self._rest = (self._now() - began) * (len(tasks) / number - 1)
                self._tell(f"{self._step}: {number} of {len(tasks)}", now=False)
                yield result

        return mapped

    def seconds_left(self) -> float:
        """For all papers. Finished papers say how fast this machine is; a paper that takes longer
        than expected is corrected by its own time and by its finished tasks."""
        gone = self._now() - self._began
        expected = self._expected.get(self._paper, 0.0)
        pace = max(self._pace, gone / expected if expected else 0.0)
        others = sum(self._expected.values()) - expected
        return max(pace * expected - gone, self._rest, 0.0) + pace * others

    def _tell(self, what: str, *, now: bool) -> None:
        number = self._papers - len(self._expected) + 1
        line = f"[{number}/{self._papers}] {self._paper}{': ' if what else ''}{what}"
        line += f", {_about(self.seconds_left())} left"
        if self._status is not None:
            self._status.update(line)
        elif now or self._now() - self._told >= _PIPED_EVERY:
            self._told = self._now()
            self._console.print(line)


def _about(seconds: float) -> str:
    """
    >>> _about(3.2), _about(48.0), _about(170.0), _about(9000.0)
    ('a few seconds', 'about 50 s', 'about 3 min', 'about 2.5 h')
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
