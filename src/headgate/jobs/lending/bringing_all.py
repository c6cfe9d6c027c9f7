"""Delivers the results that wait on a node's disk, one after another.

One that the manager wants later is left for others meanwhile. One that cannot be read costs its
task only, which is given back; then the node rests, as after any fault of its disk.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from headgate.crawling.ports import Clock
from headgate.crawling.task_messages import Verdict, Word
from headgate.crawling.task_source import Refused, TaskSource
from headgate.jobs.lending.beating import Beating
from headgate.jobs.lending.bringing import Bringing, Pace
from headgate.jobs.lending.holdings import Holdings, Stage, Work
from headgate.jobs.lending.rests import Rests
from headgate.jobs.lending.tally import WorkerTally
from headgate.jobs.lending.waking import Waking
from headgate.model.errors import HeadgateError
from headgate.model.units import format_duration
from headgate.storage.faults import without_remedy

__all__ = ["BringingAll"]

_LEAST_WAIT_SECONDS = 0.2


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
                self._give_back(work, str(fault))

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
        if verdict.why and not work.is_put_off:
            self.tell(f"{work.site}: the result waits here ({verdict.why})")
        work.not_before = self.clock.now() + max(verdict.wait, _LEAST_WAIT_SECONDS)

    def _give_back(self, work: Work, fault: str) -> None:
        """A result that cannot be read is none."""
        seconds = self.rests.begin(self.clock.now())
        self.tell(
            f"{work.site} is given back, since its result cannot be delivered"
            f" ({without_remedy(fault)}); the node rests for {format_duration(seconds)}"
        )
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
