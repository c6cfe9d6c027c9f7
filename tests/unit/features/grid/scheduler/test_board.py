"""Who gets which task, whose result counts, and that no host has two guests."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate.crawling.progress import Progress, TaskState
from headgate.features.grid.protocol import Held, Lease
from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import (
    BoardState,
    BoardTask,
    BoardTerms,
    LeaseEnding,
    LeaseRow,
)
from headgate.features.grid.scheduler.task_choice import Asker, OpenLease
from headgate.features.grid.scheduler.task_index import PendingTaskIndex

LEASE = 60.0


def task(number: int, **changes: Any) -> BoardTask:
    values: dict[str, Any] = {
        "id": number, "site": f"s{number}", "host": f"h{number}", "value": 0.0, "due": None,
        "expected_bytes": 0.0, "expected_seconds": 10.0, "nodes_at_once": 1, "audit_of": None,
        "not_group": None,
    }  # fmt: skip
    return BoardTask(**{**values, **changes})


def board_of(*tasks: BoardTask, most_lost: int = 3) -> Board:
    board = Board(BoardTerms(LEASE, most_lost=most_lost))
    for one in tasks:
        board.add(one)
    return board


def claim(board: Board, node: str, id_: str = "c", now: float = 0.0, **rest: Any) -> OpenLease:
    found = board.claim(Asker(node, id_, **rest), now, now)
    assert found is not None
    return found


def nothing(board: Board, node: str, now: float = 0.0, **rest: Any) -> bool:
    return board.claim(Asker(node, "none", **rest), now, now) is None


def held(*leases: OpenLease, fetches: int = 0, **told: Any) -> list[Held]:
    return [
        Held(lease=one.row.lease, progress=Progress(one.task.site, fetches=fetches, **told))
        for one in leases
    ]


@pytest.mark.parametrize("seed", range(5))
def test_tasks_that_are_read_late_are_given_in_the_same_order(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def tasks() -> list[BoardTask]:
        rng = np.random.default_rng(seed)
        return [
            task(
                number, host=f"h{rng.integers(8)}", value=float(rng.integers(4)),
                due=100.0 if rng.random() < 0.2 else None, expected_bytes=float(rng.integers(9)),
            )
            for number in range(1, 30)
        ]  # fmt: skip

    whole, late = board_of(*tasks()), board_of()
    rows = {one.id: one for one in tasks()}
    late.tasks.far = PendingTaskIndex.from_ranks((one.rank for one in rows.values()), at_once=3)
    for step in range(120):
        now, asker = 5.0 * step, Asker(f"n{rng.integers(6)}", f"c{step}", free_bytes=7.0)
        first = whole.claim(asker, now, now)
        second = late.claim(asker, now, now)
        while second is None and late.tasks.far.wanted:
            numbers = late.tasks.far.next_ones()
            late.tasks.far.read()
            for number in numbers:
                late.add(rows[number])
            second = late.claim(asker, now, now)
        assert (first and first.row) == (second and second.row)
        assert (whole.tasks.left, whole.tasks.added) == (late.tasks.left, late.tasks.added)
        if first is not None and second is not None and rng.random() < 0.7:
            for board, given in ((whole, first), (late, second)):
                board.receive(given.row, b"{}", now)
                board.commit(given.row, 1, 1)


def test_promises_go_by_their_latest_start_and_then_comes_what_is_worth_most() -> None:
    board = board_of(
        task(1, value=1.0),
        task(2, value=9.0),
        task(3, due=100.0, expected_seconds=5.0),
        task(4, due=120.0, expected_seconds=50.0),
    )
    assert [claim(board, "n", str(k)).task.id for k in range(4)] == [4, 3, 2, 1]


def test_one_node_at_a_host_unless_the_site_allows_more() -> None:
    board = board_of(
        task(1, host="h", value=2.0),
        task(2, host="h"),
        task(3, host="g", nodes_at_once=2),
        task(4, host="g", nodes_at_once=2),
        task(5, host="g", nodes_at_once=2),
    )
    given = [claim(board, "n", str(k)) for k in range(3)]
    assert [one.task.id for one in given] == [1, 3, 4]
    assert [one.row.place for one in given] == [0, 0, 1]
    assert nothing(board, "n")
    board.give_back("n", LeaseEnding.LEFT, 0.0, {given[0].row.lease})
    assert claim(board, "m", "x").task.id == 1


def test_no_node_takes_all_places_at_a_host_while_others_are_here() -> None:
    board = board_of(*(task(k, host="h", nodes_at_once=4) for k in range(1, 9)))
    for k in range(2):
        claim(board, "a", f"a{k}", nodes_here=lambda: 3)
    assert nothing(board, "a", nodes_here=lambda: 3)
    claim(board, "b", nodes_here=lambda: 3)
    assert nothing(board, "a", nodes_here=lambda: 2)
    claim(board, "a", "again", nodes_here=lambda: 1)


def test_a_lapsed_lease_stays_until_somebody_wants_the_task_or_its_host() -> None:
    board = board_of(task(1, host="h"), task(2))
    lapsed = claim(board, "n", "a")
    late = 2 * LEASE
    assert claim(board, "m", "b", late).task.id == 2, "what waits goes first"
    assert board.beat("n", held(lapsed), late, late) == ([lapsed.row.lease], []), "nobody came"
    later = late + LEASE + board.terms.grace_seconds
    assert nothing(board, "m", now=later - 0.1), "its node may just be starting again"
    taken = claim(board, "m", "c", later)
    assert taken.task.id == 1
    (stop,) = board.beat("n", held(lapsed), later, later)[1]
    assert (stop.lease, stop.why) == (lapsed.row.lease, "lost: another has it")
    assert board.changes.leases[lapsed.row.lease].how is LeaseEnding.EXPIRED


def test_a_lapsed_lease_does_not_keep_others_from_its_host() -> None:
    board = board_of(task(1, host="h", value=2.0), task(2, host="h"))
    lapsed = claim(board, "n", "a")
    assert nothing(board, "m")
    assert nothing(board, "m", LEASE + 0.1), "its node may just be starting again"
    now = LEASE + LEASE / 10
    assert claim(board, "m", "b", now).task.id == 2
    assert board.beat("n", held(lapsed), now, now)[0] == []
    assert nothing(board, "m", now), "the host is taken again"


def test_the_last_task_of_a_node_that_starts_again_is_not_given_twice() -> None:
    board = board_of(task(1, nodes_at_once=2))
    lapsed = claim(board, "n")
    assert nothing(board, "m", LEASE + 0.1)
    assert board.beat("n", held(lapsed), LEASE + 0.2, 0.0)[0] == [lapsed.row.lease]


def test_a_lapsed_lease_stays_while_its_host_has_another_place() -> None:
    board = board_of(*(task(k, host="h", nodes_at_once=2) for k in (1, 2, 3)))
    lapsed = claim(board, "n", "a")
    late = 2 * LEASE
    other = claim(board, "m", "b", late)
    assert other.row.place == 1
    assert board.beat("n", held(lapsed), late, late)[0] == [lapsed.row.lease]
    assert nothing(board, "m", late), "both places are taken"


def test_a_task_that_must_be_alone_at_its_host_waits_until_all_others_have_gone() -> None:
    two = [task(k, host="h", nodes_at_once=2, value=1.0) for k in (1, 2)]
    board = board_of(*two, task(3, host="h"))
    first, second = claim(board, "n", "a"), claim(board, "m", "b")
    late = LEASE + board.terms.grace_seconds
    board.beat("n", held(first), LEASE / 2, 0.0)
    assert nothing(board, "o", late, not_these=(2,)), "n is there"
    gone = 2 * late
    alone = claim(board, "o", "c", gone)
    assert alone.task.id == 3
    for node, one in (("n", first), ("m", second)):
        assert board.beat(node, held(one), gone, gone)[0] == []


def test_a_lease_under_which_nothing_moves_is_ended() -> None:
    board = board_of(task(1))
    given = claim(board, "n")
    for step in range(1, 20):
        now = step * LEASE / 3
        good, stop = board.beat("n", held(given, fetches=min(step, 2)), now, now)
        if stop:
            break
        assert good
    assert step == 2 + 9 + 1, "the first beat more than three leases after it last moved"
    assert stop[0].why.startswith("stuck")
    assert claim(board, "m", now=now).row.lease.epoch == 2


def beat_through(
    board: Board, given: OpenLease, *others: OpenLease, leases: float = 4.0, brings: bool = False,
    **told: Any,
) -> bool:  # fmt: skip
    """So long the task of ``given`` stands still, and those of ``others`` move; whether its lease
    was ended."""
    node, began = given.row.node, given.moved
    for step in range(1, int(3 * leases) + 1):
        now = began + step * LEASE / 3
        if brings:
            board.movement.brings(node, now)
        _, stop = board.beat(node, [*held(given, **told), *held(*others, fetches=step)], now, now)
        if stop:
            return True
    return False


CRAWLING: dict[str, Any] = {"state": TaskState.CRAWLING}


def test_short_leases_do_not_take_a_slow_server_for_a_task_that_hangs() -> None:
    """It may take 45 s to connect and send a first byte, and then nothing moves so long."""
    board = Board(BoardTerms(lease_seconds=2.0))
    board.add(task(1))
    board.add(task(2))
    slow, other = claim(board, "n", "a"), claim(board, "n", "b")
    for second in range(1, 200):
        now = float(second)
        beaten = [*held(slow, **CRAWLING), *held(other, fetches=second)]
        _, stop = board.beat("n", beaten, now, now)
        if stop:
            break
    assert 60.0 <= now <= 120.0
    assert stop[0].lease == slow.row.lease


def test_a_task_that_hangs_while_others_move_is_dropped_after_three_nodes() -> None:
    board = board_of(task(1, value=1.0), task(2))
    now = 0.0
    for turn in range(3):
        hanging, moving = claim(board, f"n{turn}", "a", now), claim(board, f"n{turn}", "b", now)
        assert hanging.task.id == 1
        assert beat_through(board, hanging, moving, **CRAWLING)
        board.give_back(f"n{turn}", LeaseEnding.LEFT, now)
        now += 4 * LEASE
    assert [one.id for one in board.tasks.in_state(BoardState.DROPPED)] == [1]


def test_tasks_of_a_machine_where_nothing_moves_are_not_to_blame() -> None:
    """It is too busy, or its owner's budget is spent."""
    board = board_of(task(1), task(2))
    now = 0.0
    for turn in range(5):
        both = [claim(board, f"n{turn}", name, now) for name in "ab"]
        for _ in range(11):
            now += LEASE / 3
            board.beat(f"n{turn}", held(*both, **CRAWLING), now, now)
        assert not board.leases, "others may have them"
    assert [one.lost for one in board.tasks.in_state(BoardState.READY)] == [0, 0]


def test_a_task_that_its_node_did_not_begin_is_not_to_blame() -> None:
    """Its lease was not known to be good there: answers came too late."""
    board = board_of(task(1))
    for turn in range(5):
        given = claim(board, f"n{turn}", now=turn * 4 * LEASE)
        assert beat_through(board, given, state=TaskState.WAITING)
    assert board.tasks.left == 1


@pytest.mark.parametrize(
    "told",
    [
        {**CRAWLING, "pausing": True},
        {"state": TaskState.DONE, "ended": 1.0, "brings": True},
    ],
    ids=["its site's own delay", "waits to be brought"],
)
def test_who_stands_still_for_a_reason_keeps_its_lease(told: dict[str, Any]) -> None:
    board = board_of(task(1))
    assert not beat_through(board, claim(board, "n"), leases=30.0, **told)


def test_no_delay_of_a_site_is_longer_than_two_hours() -> None:
    board = board_of(task(1))
    assert beat_through(board, claim(board, "n"), leases=125.0, pausing=True, **CRAWLING)
    assert claim(board, "m", now=200 * LEASE).task.lost == 0


def test_a_result_that_nobody_brings_is_not_waited_for() -> None:
    board = board_of(task(1))
    assert beat_through(board, claim(board, "n"), state=TaskState.DONE, ended=1.0)
    assert claim(board, "m", now=5 * LEASE).task.lost == 0


def test_while_nobody_may_fetch_anything_nobody_hangs() -> None:
    board = board_of(task(1))
    given = claim(board, "n")
    for step in range(1, 100):
        now = step * LEASE / 3
        assert board.beat("n", held(given, **CRAWLING), now, now, paused=True)[0]
    assert board.beat("n", held(given, **CRAWLING), now + LEASE, now)[0]
    assert board.beat("n", held(given, **CRAWLING), now + 4 * LEASE, now)[1]


def test_a_task_lost_three_times_is_dropped_and_taken_all_the_same() -> None:
    board = board_of(task(1))
    leases = [claim(board, f"n{turn}", now=turn * 2 * LEASE) for turn in range(3)]
    assert nothing(board, "m", 9 * LEASE)
    assert board.tasks.left == 1, "its nodes may be only silent"
    assert nothing(board, "m", 10 * LEASE)
    assert [one.id for one in board.tasks.in_state(BoardState.DROPPED)] == [1]
    assert board.tasks.left == 0
    assert board.receive(leases[0].row, b"", 9 * LEASE)
    board.commit(leases[0].row, 5, 50)
    assert board.tasks.get(1) is None


def test_where_most_leases_are_lost_nobody_gives_up_a_task_for_three() -> None:
    """Machines that are switched off every evening, with whatever they have."""
    board = board_of(*(task(k) for k in range(20)))
    for turn in range(4):
        for k in range(20):
            claim(board, f"n{turn}-{k}", now=turn * 2 * LEASE)
    assert [one.id for one in board.tasks.in_state(BoardState.DROPPED)] == []
    assert all(one.lost == 3 for one in board.tasks.in_state(BoardState.LEASED))


def lost_again(board: Board, seconds: float, times: int) -> BoardState:
    """A task that so many nodes had, one after the other: each beat for so long, and vanished."""
    now = 0.0
    for turn in range(times):
        given, end = claim(board, f"n{turn}", now=now), now + seconds
        while now < end:
            now = min(now + LEASE / 3, end)
            board.beat(f"n{turn}", held(given, fetches=int(now), **CRAWLING), now, now)
        now += LEASE + board.terms.grace_seconds
    for later in (now, now + 5 * LEASE):
        board.claim(Asker("m", "c"), later, later)
    assert given.task.lost == times
    return given.task.state


def test_a_task_that_takes_long_is_not_given_up_for_being_lost_more_often() -> None:
    """Where machines are switched off after twenty minutes, and short tasks are done by then."""
    board = board_of(task(1))
    board.losses.lost, board.losses.held_seconds = 50, 50 * 1200.0
    assert lost_again(board, 1200.0, 9) is BoardState.LEASED


def test_a_task_that_ends_its_nodes_is_given_up_though_others_are_lost_as_well() -> None:
    board = board_of(task(1))
    board.losses.lost, board.losses.held_seconds = 50, 50 * 1200.0
    assert lost_again(board, 0.0, 3) is BoardState.DROPPED


@pytest.mark.parametrize("late", [6 * LEASE, 20 * LEASE], ids=["soon", "after it was given up"])
def test_a_task_whose_nodes_were_only_silent_is_not_given_up(late: float) -> None:
    """Machines that slept, or were too busy to be heard, did not die of it; one that began a new
    life may have."""
    board = board_of(task(1))
    leases = [claim(board, f"n{turn}", now=turn * 2 * LEASE) for turn in range(3)]
    silent = [Held(lease=one.row.lease, progress=Progress("s1")) for one in leases]
    assert nothing(board, "m", late)
    assert board.beat("n0", silent[1:2], late, 0.0)[0] == []
    assert nothing(board, "m", late), "it was another's"
    for new_life in (True, False):  # the first answer was lost
        board.beat("n1", silent[1:2], late, 0.0, new_life=new_life)
        assert nothing(board, "m", late), "it may have been killed by it"
    for _ in range(2):
        _, (stop,) = board.beat("n2", silent[2:], late, 0.0)
        assert stop.lease == leases[2].row.lease
    (waiting,) = board.tasks.in_state(BoardState.READY)
    assert waiting.lost == 2, "told twice, it counts once"
    assert claim(board, "m", now=late).task is waiting


def test_a_task_that_ended_three_nodes_is_given_up_as_soon_as_that_is_known() -> None:
    board = board_of(task(1))
    leases = [claim(board, f"n{turn}", now=turn * 2 * LEASE) for turn in range(3)]
    assert nothing(board, "m", 6 * LEASE)
    for turn, lease in enumerate(leases):
        assert board.tasks.left == 1
        told = [Held(lease=lease.row.lease, progress=Progress("s1"))]
        board.beat(f"n{turn}", told, 6 * LEASE, 0.0, new_life=True)
        assert nothing(board, "m", 6 * LEASE)
    assert board.tasks.left == 0


@pytest.mark.parametrize("how", ["superseded", "revoked"])
def test_a_host_is_not_free_while_a_node_there_does_not_know_that_its_lease_ended(how: str) -> None:
    board = board_of(task(1, host="h", value=2.0), task(2, host="h"))
    first = claim(board, "n", "a")
    board.give_back("n", LeaseEnding.LEFT, 0.0)
    claim(board, "n", "b")
    if how == "superseded":
        assert board.receive(first.row, b"", 0.0), "brought late, under the lease before"
    else:
        board.give_back("n", LeaseEnding.REVOKED, 0.0)
    assert nothing(board, "m", now=LEASE - 1)
    assert claim(board, "m", "c", LEASE + 5).row.host == "h"


def test_who_gives_back_is_not_to_blame() -> None:
    board = board_of(task(1))
    for turn in range(5):
        claim(board, "n", str(turn))
        board.give_back("n", LeaseEnding.LEFT, 0.0)
    assert claim(board, "n", "last").row.lease == Lease(1, 6)


def test_the_last_tasks_are_given_twice_where_two_nodes_may_be() -> None:
    tasks = [task(k, nodes_at_once=2, expected_seconds=float(k)) for k in range(1, 41)]
    board = board_of(*tasks)
    given = [claim(board, "n", str(k)) for k in range(40)]
    assert nothing(board, "m"), "40 are left"
    for one in given[:38]:
        board.receive(one.row, b"", 0.0)
        board.commit(one.row, 1, 1)
    assert nothing(board, "n"), "not to the node that has it"
    second = claim(board, "m", "x")
    assert second.task is max((one.task for one in given[38:]), key=lambda t: t.expected_seconds)
    assert second.row.place == 1
    assert board.receive(second.row, b"", 1.0)
    first = next(one for one in given if one.task is second.task)
    assert board.changes.leases[first.row.lease].how is LeaseEnding.SUPERSEDED
    alone = board_of(task(1), *tasks[:0])
    claim(alone, "n")
    assert nothing(alone, "m"), "one node at a host"
    part = board_of(task(1, nodes_at_once=2, part="round 2, share 1 of 6"))
    claim(part, "n")
    assert nothing(part, "m"), "the next round needs its place"


def test_an_audit_goes_to_another_group_and_a_large_task_to_a_large_disk() -> None:
    board = board_of(task(1, not_group="home"), task(2, expected_bytes=1e9))
    assert nothing(board, "n", group="home", free_bytes=1e6)
    assert claim(board, "n", group="home").task.id == 2
    assert claim(board, "m", group="away", free_bytes=1e6).task.id == 1
    assert nothing(board_of(task(1)), "n", not_these=(1,))


def test_a_restarted_manager_takes_leases_up_again() -> None:
    board = board_of(task(1, epoch=3, state=BoardState.LEASED), task(2, host="h1"))
    row = LeaseRow(Lease(1, 3), "n", claim="c", host="h1", place=0, given=5.0)
    board.take_up(row, 100.0, 65.0)
    assert nothing(board, "m", 100.0 + LEASE - 1), "it has one more time"
    again = claim(board, "n", "c", 100.0)
    assert again.row is row, "the same claim, the same task"
    board.give_back("n", LeaseEnding.LEFT, 65.0)
    assert again.task.held_seconds == 60.0 + LEASE / 6, "since it was given"


def test_nothing_is_given_out_while_draining() -> None:
    board = board_of(task(1), task(2))
    given = claim(board, "n")
    board.draining = True
    assert nothing(board, "m")
    assert claim(board, "n") is given
    assert board.beat("n", held(given), 1.0, 1.0)[0]


def test_who_chooses_may_leave_tasks_to_others() -> None:
    seen: list[list[int]] = []

    def choose(node: str, tasks: Iterable[BoardTask]) -> BoardTask | None:
        some = list(islice(tasks, 16))
        seen.append([one.id for one in some])
        return some[-1] if node == "near" else None

    board = board_of(*(task(k, value=-k) for k in range(1, 30)))
    board.choice.choose = choose
    assert nothing(board, "far")
    assert claim(board, "near").task.id == 16
    assert seen[0] == list(range(1, 17))


class BoardMachine(RuleBasedStateMachine):
    """Nodes that claim, beat, vanish, come back late and bring results in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.board = board_of(
            *(task(k, host=f"h{k % 3}", nodes_at_once=1 + (k % 4 > 0)) for k in range(1, 9)),
            most_lost=1000,
        )
        self.now = 0.0
        self.claims = 0
        self.leases: dict[Lease, OpenLease] = {}
        self.until: dict[Lease, float] = {}
        """By the node's own clock: it stops then."""
        self.winners: dict[int, Lease] = {}

    @rule(node=st.sampled_from("abc"))
    def claims_a_task(self, node: str) -> None:
        self.claims += 1
        found = self.board.claim(Asker(node, str(self.claims)), self.now, self.now)
        if found is not None:
            lease = found.row.lease
            assert lease not in self.leases, "an epoch is given once"
            assert all(lease.epoch > old.epoch for old in self.leases if old.task == lease.task)
            self.leases[lease] = found
            self.until[lease] = self.now + LEASE

    @rule(seconds=st.sampled_from([1.0, LEASE / 3, LEASE, 3 * LEASE]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def beats(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(sorted(self.leases)))
        one = self.leases[lease]
        good, _ = self.board.beat(one.row.node, held(one, fetches=int(self.now)), self.now, 0.0)
        self.until[lease] = self.now + LEASE if good else -math.inf

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def brings_a_result(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(sorted(self.leases)))
        row = self.leases[lease].row
        counts = self.board.receive(row, b"", self.now)
        assert counts == (lease.task not in self.winners), "the first, and no other"
        self.until[lease] = -math.inf
        if counts:
            self.winners[lease.task] = lease
            self.board.commit(row, 1, 1)

    @rule(node=st.sampled_from("abc"))
    def leaves(self, node: str) -> None:
        self.board.give_back(node, LeaseEnding.LEFT, self.now)
        for lease, one in self.leases.items():
            if one.row.node == node:
                self.until[lease] = -math.inf

    @invariant()
    def hosts_have_no_more_guests_than_places(self) -> None:
        """Whoever believes to hold a lease may fetch."""
        guests: dict[str, list[OpenLease]] = {}
        for lease, until in self.until.items():
            if until > self.now:
                one = self.leases[lease]
                guests.setdefault(one.row.host, []).append(one)
        for there in guests.values():
            assert len(there) <= min(one.task.nodes_at_once for one in there)

    @invariant()
    def what_is_left_is_what_has_no_winner(self) -> None:
        assert self.board.tasks.left == 8 - len(self.winners)


BoardMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestBoardMachine = BoardMachine.TestCase


@pytest.mark.parametrize("seed", range(3))
def test_changes_stored_one_after_another_are_the_board(seed: int) -> None:
    """What `changes` gave so far is all that another manager needs."""
    rng = np.random.default_rng(seed)
    board = board_of(*(task(k, host=f"h{k % 3}") for k in range(1, 7)))
    stored = dict.fromkeys(range(1, 7), (0, BoardState.READY))
    for step in range(200):
        now = step * 20.0
        node = f"n{rng.integers(4)}"
        found = board.claim(Asker(node, str(step)), now, now)
        if found is not None and rng.random() < 0.5:
            board.give_back(node, LeaseEnding.LEFT, now)
        if rng.random() < 0.5:
            changes = board.changes.drain()
            for number, changed in changes.tasks.items():
                assert changes.epochs[number] == stored[number][0]
                stored[number] = changed.epoch, changed.state
    changes = board.changes.drain()
    stored |= {number: (one.epoch, one.state) for number, one in changes.tasks.items()}
    for number, (epoch, state) in stored.items():
        one = board.tasks.get(number)
        assert one is not None
        assert (one.epoch, one.state) == (epoch, state)


def test_who_claims_and_never_works_keeps_few_from_others() -> None:
    board = board_of(*(task(number) for number in range(20)))
    for number in range(8):
        claim(board, "greedy", f"c{number}", most_held=8)
    assert nothing(board, "greedy", most_held=8)
    claim(board, "other", most_held=8)
