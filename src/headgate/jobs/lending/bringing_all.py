"""Delivers the results that wait on a node's disk, one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headgate.crawling.task_messages import Verdict, Word
from headgate.crawling.task_source import TaskSource
from headgate.jobs.lending.bringing import Bringing, Pace
from headgate.jobs.lending.holdings import Holdings, Stage, Work
from headgate.jobs.lending.tally import WorkerTally
from headgate.jobs.lending.waking import Waking

__all__ = ["BringingAll"]


@dataclass(frozen=True, slots=True)
class BringingAll:
    source: TaskSource
    holdings: Holdings
    tally: WorkerTally
    pace: Pace
    tell: Callable[[str], None]
    waking: Waking
    look_seconds: float

    async def run(self) -> None:
        while True:
            ended = sorted(self.holdings.of(Stage.ENDED), key=lambda work: work.lease)
            if ended:
                await self._bring(ended[0])
            else:
                await self.waking.pause(self.look_seconds)

    async def _bring(self, work: Work) -> None:
        files = work.folder.files(work.grant)
        bringing = Bringing(self.source, work.lease, files, work.progress, self.pace)
        verdict = await bringing.bring()
        self.tally.brought(work, verdict.word)
        self.tell(f"{work.site}: {_in_words(work, verdict)}")
        self.holdings.forget(work)
        self.waking.wake()


def _in_words(work: Work, verdict: Verdict) -> str:
    if verdict.word is Word.COMMITTED:
        return f"{work.progress.pages:,} pages delivered"
    if verdict.word is Word.REFUSED:
        return f"the manager did not accept the result ({verdict.why})"
    return f"the result is no longer wanted ({verdict.word})"
