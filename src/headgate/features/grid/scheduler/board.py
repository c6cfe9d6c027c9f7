"""The board of a grid: which node gets which task, and whose result counts. Pure."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.protocol import Held, Lease, StopTask
from headgate.features.grid.scheduler.records import (
    BoardState,
    BoardTask,
    BoardTerms,
    Changes,
    LeaseEnding,
    LeaseRow,
)
from headgate.features.grid.scheduler.task_choice import Asker, OpenLease, OpenLeases, TaskChoice
from headgate.features.grid.scheduler.task_index import BoardTasks, ReadyTasks

__all__ = ["Board"]

_UNHEARD = (LeaseEnding.SUPERSEDED, LeaseEnding.REVOKED, LeaseEnding.OVERDUE)
"""Leases that were ended by others: their node may go on until it learns of that."""
_OPEN = (BoardState.READY, BoardState.LEASED, BoardState.DROPPED)


@dataclass(slots=True)
class Board:
    """The board of a grid: which node gets which task, and whose result counts. Pure: time is an
    argument.

    - A task is **leased** to a node; heartbeats extend the lease. Each lease of a task has a higher
      **epoch** (fencing token), so an earlier holder is told from the present one.
    - A lease that expired is not ended at once, as the node may come back: only when, some seconds
      later, another node wants the task and nothing better waits, or wants its place at the host.
    - The first complete result under any lease of the task counts; its other leases are
      **superseded**.
    - A host never has more nodes than places, usually one: a node stops by its own clock before its
      lease ends here.
    - A task that was lost three times, and more often than others, is dropped: it may be what kills
      nodes (`features.grid.scheduler.board`). If its node is heard again without a restart, the
      task was not to blame, so nothing is dropped while that may happen
      (`features.grid.scheduler.board`). A lease without progress is ended after three lease times,
      and at least 90 s (`features.grid.scheduler.board`).
    - A node holds no more tasks than it can use, so one that claims and never works blocks few.
    - When few tasks are left and none waits, running ones are given to a second node if their host
    has
      a place.

    Times are of a monotonic clock, except ``wall``, which is for the catalog.

    The board of one run.
    """

    terms: BoardTerms = field(default=BoardTerms())
    changes: Changes = field(default_factory=Changes)
    """Changes that are not stored yet."""
    draining: bool = False
    """No more tasks are given out."""
    tasks: BoardTasks = field(init=False)
    leases: OpenLeases = field(default_factory=OpenLeases)
    choice: TaskChoice = field(init=False)
    movement: ProgressTimeout = field(init=False)
    losses: LeaseLosses = field(init=False)
    _ready: ReadyTasks = field(default_factory=ReadyTasks)
    """Tasks that wait for a node."""
    _failures: TaskFailures = field(init=False)

    def __post_init__(self) -> None:
        self.tasks = BoardTasks(self.changes)
        self.choice = TaskChoice(self.terms, self.tasks, self._ready, self.leases)
        self.movement = ProgressTimeout(self.terms)
        self.losses = LeaseLosses(self.terms.most_lost)
        self._failures = TaskFailures(
            self.tasks, self._ready, self.losses, self.terms.silent_seconds
        )

    def add(self, task: BoardTask) -> None:
        self.tasks.add(task)
        if task.state in (BoardState.READY, BoardState.LEASED):
            task.state = BoardState.READY
            self._ready.add(task)

    def take_up(self, row: LeaseRow, now: float, wall: float) -> None:
        """Restore a lease that was open when the manager ended; it is valid for one more lease
        time."""
        task = self.tasks.get(row.lease.task)
        if task is not None and task.state in (BoardState.READY, BoardState.LEASED):
            task.state = BoardState.LEASED
            self._hold(row, task, now).since = now - max(wall - row.given, 0.0)

    @property
    def busy(self) -> bool:
        """Whether any task is leased, or any result not stored yet."""
        return bool(self.leases) or any(self.tasks.in_state(BoardState.RECEIVED))

    def claim(self, asker: Asker, now: float, wall: float) -> OpenLease | None:
        """Lease a task for a free slot; the same one for a repeated claim. None: nothing for this
        node now, unless far ones are wanted (`features.grid.scheduler.task_index`)."""
        same = self.leases.by_claim(asker.node, asker.claim)
        if same is not None or self.draining:
            return same
        if self.leases.held(asker.node) >= asker.most_held:
            return None
        self.choice.wake_hosts(now)
        self._failures.give_up_silent(now)
        while (task := self.choice.next(asker, now)) is not None:
            for held in self.choice.lapsed_of(task, now):
                self._end(held, LeaseEnding.EXPIRED, wall)
            going = self.choice.in_the_way(task.host, now, task.nodes_at_once)
            if going is not None and (task.state is BoardState.LEASED or task.id in self._ready):
                for held in going:
                    self._end(held, LeaseEnding.EXPIRED, wall)
                return self._give(task, asker, now, wall)
        return None

    def beat(
        self, node: str, held: Sequence[Held], now: float, wall: float, *, new_life: bool = False,
        paused: bool = False,
    ) -> tuple[list[Lease], list[StopTask]]:  # fmt: skip
        """Return leases that are extended, and those that have ended. ``new_life``: the node was
        restarted; ``paused``: the budget allows no fetches now."""
        good: list[Lease] = []
        stop: list[StopTask] = []
        for word in held:
            found = self.leases.get(word.lease, node)
            if found is None:
                again = self.tasks.heard_again(word.lease, node, new_life=new_life)
                if again is not None:
                    self.losses.lost = max(self.losses.lost - 1, 0)
                    self._failures.came_back(again)
                stop.append(StopTask(lease=word.lease, why=self.tasks.why_over(word.lease)))
                continue
            self.losses.lost += new_life  # back in time, but the machine had vanished
            told = word.progress
            found.row.pages, found.row.wire_bytes = told.pages, told.wire_bytes
            if self.movement.hangs(found, told, now, paused=paused):
                blamed = self.movement.is_to_blame(found, told, now, alone=len(held) == 1)
                self._end(found, LeaseEnding.STUCK, wall, blamed=blamed)
                still = f"stuck: nothing moved for {self.terms.stuck_seconds:.0f} s"
                stop.append(StopTask(lease=word.lease, why=still))
                continue
            found.heard, found.until = now, now + self.terms.lease_seconds
            good.append(word.lease)
        return good, stop

    def give_back(
        self, node: str, how: LeaseEnding, wall: float, leases: Container[Lease] | None = None
    ) -> None:
        """End leases of a node, all or the given ones, so that others get the tasks."""
        for held in self.leases.of_node(node):
            if leases is None or held.row.lease in leases:
                self._end(held, how, wall)

    def receive(self, row: LeaseRow, manifest: bytes, wall: float) -> bool:
        """A complete result was received under a lease that was given; True if it counts."""
        task = self.tasks.get(row.lease.task)
        if task is None or task.state not in _OPEN:
            return False
        for held in self.leases.of_task(task):
            if held.row.lease == row.lease:
                self.losses.note_end(held, self.terms.beat_seconds)
                self.leases.remove(held)
            else:
                self._end(held, LeaseEnding.SUPERSEDED, wall)
        self._ready.remove(task)
        self._ready.awake(row.host)
        self.tasks.put(task, BoardState.RECEIVED)
        task.winner, task.epoch = row.lease.epoch, task.epoch + 1
        row.ended = wall
        self.changes.leases[row.lease] = row
        self.changes.manifests[task.id] = manifest
        return True

    def commit(self, row: LeaseRow, pages: int, wire_bytes: int) -> None:
        """The result received under the lease of ``row`` was stored."""
        task = self.tasks.task_of(row)
        assert task.state is BoardState.RECEIVED
        assert task.winner == row.lease.epoch
        self.tasks.put(task, BoardState.DONE)
        row.how, row.pages, row.wire_bytes = LeaseEnding.COMMITTED, pages, wire_bytes
        self.changes.leases[row.lease] = row

    def spoil(self, row: LeaseRow) -> None:
        """A received result cannot be stored: the task waits again."""
        task = self.tasks.task_of(row)
        self.tasks.put(task, BoardState.READY)
        task.winner, task.epoch = None, task.epoch + 1
        row.how = LeaseEnding.SPOILT
        self.changes.leases[row.lease] = row
        self._ready.add(task)

    def give_up_audits(self) -> None:
        """Drop audits that no node took."""
        for task in self.tasks.in_state(BoardState.READY):
            if task.audit_of is not None:
                self.drop(task)

    def drop(self, task: BoardTask) -> None:
        """Drop a waiting task: no node will get it."""
        self._ready.remove(task)
        self.tasks.put(task, BoardState.DROPPED)

    def _give(self, task: BoardTask, asker: Asker, now: float, wall: float) -> OpenLease:
        place = self.leases.places.free_place(task.host)
        self.tasks.put(task, BoardState.LEASED)
        task.epoch += 1
        lease = Lease(task.id, task.epoch)
        row = LeaseRow(
            lease, asker.node, claim=asker.claim, host=task.host, place=place, given=wall
        )
        self.changes.leases[lease] = row
        return self._hold(row, task, now)

    def _hold(self, row: LeaseRow, task: BoardTask, now: float) -> OpenLease:
        self._ready.remove(task)
        until = now + self.terms.lease_seconds
        held = OpenLease(row, task, until, moved=now, delayed=now, since=now, heard=now)
        self.leases.add(held)
        return held

    def _end(self, held: OpenLease, how: LeaseEnding, wall: float, *, blamed: bool = True) -> None:
        """End a lease. The task waits again unless it has another lease or was lost too often."""
        row, task = held.row, held.task
        self.losses.note_end(held, self.terms.beat_seconds)
        self.leases.remove(held, told=how not in _UNHEARD)
        self._ready.awake(row.host)
        row.ended, row.how = wall, how
        self.changes.leases[row.lease] = row
        if how is LeaseEnding.SUPERSEDED:
            return
        self.changes.touch(task)
        if how.lost and blamed:
            task.lost += 1
            self.losses.lost += 1
        if how is LeaseEnding.EXPIRED:
            self.tasks.fell_silent(row)
        if not self.leases.of_task(task):
            self._failures.lost(task, held.until)


@dataclass(slots=True)
class TaskFailures:
    """Decides about a task whose node was lost: it waits for another node, or is given up.

    A silent node need not be dead: a machine that is too busy or asleep comes back, and then the
    task is not to blame. So a task that was lost too often (`features.grid.scheduler.board`) is
    given up at once only if none of its nodes can come back without a restart. Otherwise no node
    gets it until they have been silent for long, or one is back.
    """

    tasks: BoardTasks
    ready: ReadyTasks
    losses: LeaseLosses
    patience_seconds: float
    """Time after the end of a lease until its node is considered dead."""
    _doubted: dict[int, float] = field(default_factory=dict)
    """Tasks that no node gets, and until when."""

    def lost(self, task: BoardTask, lapsed: float) -> None:
        """No node holds it now; the last lease was valid until ``lapsed``."""
        self.tasks.put(task, BoardState.READY)
        if not self._is_to_blame(task):
            self.ready.add(task)
        else:
            self._doubted[task.id] = lapsed + self.patience_seconds
            self._decide(task, lapsed)

    def give_up_silent(self, now: float) -> None:
        """Give up tasks whose nodes have been silent for long."""
        for number in list(self._doubted):
            task = self.tasks.get(number)
            if task is None or task.state is not BoardState.READY or number in self.ready:
                del self._doubted[number]  # a late result came
            else:
                self._decide(task, now)

    def came_back(self, task: BoardTask) -> None:
        """A silent node came back without a restart."""
        given_up = task.state is BoardState.DROPPED or task.id in self._doubted
        if given_up and not self._is_to_blame(task):
            self._doubted.pop(task.id, None)
            self.tasks.put(task, BoardState.READY)
            self.ready.add(task)

    def _decide(self, task: BoardTask, now: float) -> None:
        if now >= self._doubted[task.id] or not self.tasks.may_be_heard_of(task):
            del self._doubted[task.id]
            self.tasks.put(task, BoardState.DROPPED)

    def _is_to_blame(self, task: BoardTask) -> bool:
        return self.losses.blame(task.lost, task.held_seconds, self.tasks.added)


_UNLIKELY = 0.01
"""Share of runs in which a task is given up that is not to blame."""
_SUPPOSED_LOST, _SUPPOSED_SECONDS = 1, 3600.0
"""Before anything is known: one loss in an hour."""


@dataclass(slots=True)
class LeaseLosses:
    """Whether a task kills its nodes, or its nodes vanished for other reasons.

    Volunteers' machines are switched off in the middle of tasks, and a long task is lost more often
    than a short one. So losses are compared with the time under lease: if others were lost r times
    in E hours, the probability that a task held for T hours is lost k times or more is that of a
    negative binomial (a Poisson whose rate is known from r losses only). The task is to blame if
    that is so unlikely that hardly one of all tasks would be so unlucky.

        steady grid, lost within seconds:      three times are enough
        machines up for minutes, tasks longer: a dozen times are not

    Totals over all tasks of a run.
    """

    most_lost: int
    """A task with fewer losses is not to blame."""
    lost: int = 0
    """Nodes that vanished with a task, even if they came back before another got it."""
    held_seconds: float = 0.0
    """Time under leases."""

    def note_end(self, held: OpenLease, beat_seconds: float) -> None:
        """A lease counts as held until half a heartbeat after its node was last heard."""
        seconds = held.heard - held.since + beat_seconds / 2
        held.task.held_seconds += seconds
        self.held_seconds += seconds

    def blame(self, times: int, held_seconds: float, tasks: int) -> bool:
        """Whether a task lost so often in the time it was held is to blame, compared with all
        ``tasks``.

        >>> steady = LeaseLosses(3, lost=5, held_seconds=100 * 3600.0)
        >>> steady.blame(2, 60.0, 500), steady.blame(3, 60.0, 500)
        (False, True)
        >>> minutes = LeaseLosses(3, lost=260, held_seconds=260 * 100.0)
        >>> [minutes.blame(times, times * 100.0, 10) for times in (3, 12, 40)]
        [False, False, False]
        >>> minutes.blame(12, 12 * 10.0, 10)  # within seconds, each time
        True
        """
        if times < self.most_lost:
            return False
        lost = max(self.lost - times, 0) + _SUPPOSED_LOST
        seconds = max(self.held_seconds - held_seconds, 0.0) + _SUPPOSED_SECONDS
        return _is_rarer(times, lost, held_seconds / (seconds + held_seconds),
                         _UNLIKELY / max(tasks, 1))  # fmt: skip


def _is_rarer(times: int, lost: int, part: float, than: float) -> bool:
    """Whether the tail of the negative binomial (``lost``, 1 - ``part``) from ``times`` on is
    below ``than``; summed up term by term.

    >>> [_is_rarer(3, 1, 0.1, than) for than in (0.0011, 0.0009)]  # 0.1³
    [True, False]
    """
    if part <= 0:
        return True
    if times * (1 - part) <= lost * part:
        return False  # no more than the mean
    term = math.exp(
        math.lgamma(lost + times) - math.lgamma(lost) - math.lgamma(times + 1)
        + times * math.log(part) + lost * math.log1p(-part)
    )  # fmt: skip
    total = term
    while total < than and term > than * 1e-9:
        term *= (lost + times) / (times + 1) * part
        total += term
        times += 1
    return total < than


_LONGEST_DELAY_SECONDS = 7200.0
"""Longest time between two requests that a site may ask for."""


@dataclass(slots=True)
class ProgressTimeout:
    """Whether a leased task makes progress, and whether it is to blame if not.

    A node may hang and still send heartbeats, so a lease without progress is ended after a while.
    Unless there is a good reason for it: the site's own delay, a result that waits for its upload
    or for the manager's disk, a pause of the whole budget. A task is to blame only if it was being
    crawled while its node made progress elsewhere: if the node makes none at all, its machine is
    too busy or its owner's budget is spent, and the task goes to another node as if it had never
    been given.

    Progress of the tasks under open leases.
    """

    terms: BoardTerms
    _brought: dict[str, float] = field(default_factory=dict)
    """When each node last offered, sent or asked about a result."""
    _worked: dict[str, float] = field(default_factory=dict)
    """When any task of each node last made progress."""

    def brings(self, node: str, now: float) -> None:
        """A node offers or sends a result, or asks whether it is stored; its other results wait for
        that."""
        self._brought[node] = now

    def hangs(self, held: OpenLease, told: Progress, now: float, *, paused: bool) -> bool:
        """Whether there was no progress for too long, given the node's new report. ``paused``: the
        budget allows no fetches."""
        mark = (told.fetches, told.wire_bytes + told.under_way_bytes, told.seen)
        if mark != held.mark:
            held.mark, held.moved, held.delayed = mark, now, now
            self._worked[held.row.node] = now
        elif paused:
            held.moved = held.delayed = now
        elif told.ended is not None:
            held.moved = max(held.moved, self._brought.get(held.row.node, -math.inf))
        elif told.pausing and now - held.delayed <= _LONGEST_DELAY_SECONDS:
            held.moved = now
        return held.moved < self._long_ago(now)

    def is_to_blame(self, held: OpenLease, told: Progress, now: float, *, alone: bool) -> bool:
        """Whether a task that hangs is to blame. ``alone``: its node has no other task."""
        works = self._worked.get(held.row.node, -math.inf) >= self._long_ago(now)
        begun = told.state is TaskState.CRAWLING and told.ended is None
        return (works or alone) and begun and not told.pausing

    def _long_ago(self, now: float) -> float:
        return now - self.terms.stuck_seconds
