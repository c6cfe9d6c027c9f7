"""Delivers the results that wait on a node's disk, one after another.

One that the manager wants later is left for others meanwhile. After one that cannot be read the
node rests, as after any fault of its disk; the third time, or if files are missing, its task is
given back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from headgate.crawling.ports import Clock
from headgate.crawling.task_messages import Verdict, Word
from headgate.crawling.task_source import Refused, TaskSource
from headgate.jobs.lending.beating import Beating
from headgate.jobs.lending.bringing import Bringing, LostResult, Pace
from headgate.jobs.lending.holdings import Holdings, Stage, Work
from headgate.jobs.lending.rests import Rests
from headgate.jobs.lending.tally import WorkerTally
from headgate.jobs.lending.waking import Waking
from headgate.model.errors import HeadgateError
from headgate.model.units import format_duration
from headgate.storage.faults import without_remedy

__all__ = ["BringingAll"]

_LEAST_WAIT_SECONDS = 0.2
_MOST_FAULTS = 3


@dataclass(frozen=True, slots=True)
class BringingAll:
    source: TaskSource
    holdings: Holdings
    beating: Beating
    clock: Clock
    tally: WorkerTally
    pace: Pace
    tell: Callable[[str], None]
    waking: Waking
    look_seconds: float
    rests: Rests = field(default_factory=Rests)
    """After a fault of the disk."""

    async def run(self) -> None:
        while True:
            work = self._next()
            if work is None:
                await self.waking.pause(self.look_seconds)
                continue
            try:
                await self._bring(work)
            except Refused:
                raise
            except (HeadgateError, OSError) as fault:
                self._rest(work, fault)

    def _next(self) -> Work | None:
        now = self.clock.now()
        if self.rests.lasts(now):
            return None
        ended = (work for work in self.holdings.of(Stage.ENDED) if work.not_before <= now)
        return min(ended, key=lambda work: work.lease, default=None)

    async def _bring(self, work: Work) -> None:
        files = work.folder.files(work.grant)
        bringing = Bringing(self.source, work.lease, files, work.progress, self.pace)
        verdict = await bringing.bring()
        if verdict.word is Word.WAIT:
            self._wait(work, verdict)
            return
        self.tally.brought(work, verdict.word)
        self.tell(f"{work.site}: {_in_words(work, verdict)}")
        self.holdings.forget(work)
        self.rests.all_well()
        self.waking.wake()

    def _wait(self, work: Work, verdict: Verdict) -> None:
        if verdict.why and not work.of_another_run:
            work.of_another_run = True
            self.tell(f"{work.site}: the result waits here ({verdict.why})")
        work.not_before = self.clock.now() + max(verdict.wait, _LEAST_WAIT_SECONDS)

    def _rest(self, work: Work, fault: Exception) -> None:
        seconds = self.rests.begin(self.clock.now())
        work.faults += 1
        lost = isinstance(fault, LostResult) or work.faults == _MOST_FAULTS
        self.tell(
            f"{work.site}: the result cannot be delivered ({without_remedy(str(fault))})"
            f"{', and the task is given back' if lost else ''}; the node rests for"
            f" {format_duration(seconds)}"
        )
        if lost:
            self._give_back(work)

    def _give_back(self, work: Work) -> None:
        """A result that cannot be read is none."""
        self.tally.given_back += 1
        self.beating.give_back(work.lease, work.progress)
        with suppress(HeadgateError):  # a folder that stays is found at the next start
            self.holdings.forget(work)


def _in_words(work: Work, verdict: Verdict) -> str:
    if verdict.word is Word.COMMITTED:
        return f"{work.progress.pages:,} pages delivered"
    if verdict.word is Word.REFUSED:
        return f"the manager did not accept the result ({verdict.why})"
    return f"the result is no longer wanted ({verdict.word})"
