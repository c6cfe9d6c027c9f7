"""Claims a task for a node, and fetches what is known of its site.

A claim has a name, which is on disk until there is a task: if a node that was killed repeats it, it
gets the same task. A task that the owner's rules forbid is given back and excluded from later
claims.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec

from headgate.crawling.ports import Clock
from headgate.crawling.progress import Progress
from headgate.crawling.task_messages import MOST_AMOUNT, MOST_TASKS, Claim, Grant, Idle, Known
from headgate.crawling.task_source import Refused, TaskSource
from headgate.jobs.lending.beating import Beating
from headgate.jobs.lending.bringing import until_answered
from headgate.jobs.lending.guest_rules import GuestRules
from headgate.jobs.lending.holdings import Holdings, Work
from headgate.jobs.lending.manager_line import ManagerLine
from headgate.jobs.lending.tally import WorkerTally
from headgate.model.errors import HeadgateError
from headgate.storage.lease_folder import LeaseFolder, keep_handout, keep_memory
from headgate.storage.replacing import write_soon

__all__ = ["Claiming"]

_MOST_MEMORY_BYTES = 1 << 30
_MOST_REFUSED = 1000


@dataclass(slots=True)
class Claiming:
    source: TaskSource
    holdings: Holdings
    beating: Beating
    rules: GuestRules
    line: ManagerLine
    clock: Clock
    tell: Callable[[str], None]
    tally: WorkerTally
    refused_in_a_row: int = 0
    """Since a task was last taken."""
    _refused: list[int] = field(default_factory=list)
    """Tasks that this node has refused."""

    async def claim(self, slots: int, free_bytes: int, rate: float | None) -> Idle | None:
        """None: there was a task, which was taken or refused. ``rate``: what the owner allows
        now."""
        claim = Claim(
            id=self._open_claim(),
            slots=min(slots, MOST_TASKS),
            free_bytes=free_bytes,
            bandwidth=None if rate is None else min(rate, MOST_AMOUNT),
            not_these=tuple(self._refused),
        )
        asked = self.clock.now()

        async def ask() -> Grant | Idle:
            nonlocal asked
            asked = self.clock.now()
            return await self.source.claim(claim)

        answer = await until_answered(ask)
        if isinstance(answer, Idle):
            return answer
        if answer.lease not in self.holdings.works:
            await self._take_or_return(answer, asked)
        (self.holdings.home / "claim").unlink(missing_ok=True)
        await self.line.take(len(msgspec.json.encode(answer)))
        return None

    async def _take_or_return(self, grant: Grant, asked: float) -> None:
        """Raises faults of this machine, after the task was given back."""
        why_not = self.rules.why_not(grant.task.site)
        if why_not:
            self.tell(f"not taken: {why_not}")
            self._refuse(grant)
            return
        work = None
        try:
            work = self.holdings.take(grant, asked, self.clock.wall())
            await self._take(work)
        except Refused:
            raise
        except (HeadgateError, OSError):
            if work is not None and work.lost:
                return  # its folder was deleted meanwhile
            self._return(grant, work)
            raise

    def _return(self, grant: Grant, work: Work | None) -> None:
        """Give a task back that this machine had no room for."""
        self.tally.given_back += 1
        self.beating.give_back(grant.lease, Progress(grant.task.name))
        if work is None:
            LeaseFolder(self.holdings.home, grant.lease).delete()
        else:
            self.holdings.lose(work, "a fault of this machine")
        (self.holdings.home / "claim").unlink(missing_ok=True)

    async def _take(self, work: Work) -> None:
        grant = work.grant
        if grant.known_bytes:
            await self._take_memory(work)
        if grant.handed_bytes and not await self._take_handout(work):
            self.tell(f"{work.site}: its URLs arrived damaged; it is given back")
            self._refuse(work.grant)
            self.holdings.lose(work, "it arrived damaged")
        if not work.lost:
            await asyncio.to_thread(work.folder.complete)
            self.refused_in_a_row = 0
        work.complete = True

    async def _take_memory(self, work: Work) -> None:
        """Fetch the site's memory; without it, everything is crawled again."""
        await self._all_pieces(work, work.grant.known_bytes, handed=False)
        if work.lost:
            return
        if not await asyncio.to_thread(keep_memory, work.folder, work.grant):
            self.tell(f"{work.site}: its memory arrived damaged and is ignored")

    async def _take_handout(self, work: Work) -> bool:
        """Fetch what was handed to a part of a site; False: it cannot be crawled without."""
        await self._all_pieces(work, work.grant.handed_bytes, handed=True)
        if work.lost:
            return True
        return await asyncio.to_thread(keep_handout, work.folder, work.grant)

    async def _all_pieces(self, work: Work, size: int, *, handed: bool) -> None:
        """They are written to the disk as they come."""
        came = 0
        await asyncio.to_thread(work.folder.add_piece, came, b"")
        async with self.line.memory():
            while came < min(size, _MOST_MEMORY_BYTES) and not work.lost:
                known = Known(
                    lease=work.lease, offset=came, handed=handed,
                    most=self.line.piece_bytes(),
                )  # fmt: skip
                await self.line.take(known.most)
                piece = await until_answered(partial(self._piece, work, known))
                if not piece:
                    break
                await asyncio.to_thread(work.folder.add_piece, came, piece)
                came += len(piece)

    async def _piece(self, work: Work, known: Known) -> bytes:
        return b"" if work.lost else await self.source.known(known)

    def _refuse(self, grant: Grant) -> None:
        """Give a task back, and exclude it from later claims."""
        self.refused_in_a_row += 1
        self._refused = [*self._refused, grant.lease.task][-_MOST_REFUSED:]
        self.beating.give_back(grant.lease, Progress(grant.task.name))

    def _open_claim(self) -> str:
        path = self.holdings.home / "claim"
        name = path.read_text().strip() if path.exists() else ""
        if not name:
            name = secrets.token_hex(12)
            write_soon(path, name.encode())
        return name
