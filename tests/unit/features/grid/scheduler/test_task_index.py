"""Waiting tasks: in order, and without a look at all of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from contextlib import closing
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from headgate.features.grid.scheduler.board import Board
from headgate.features.grid.scheduler.records import BoardTask
from headgate.features.grid.scheduler.task_choice import Asker
from headgate.features.grid.scheduler.task_index import PendingTaskIndex, ReadyTasks

MANY, FEW_LOOKS = 5_000, 300


def task(number: int, host: str = "", expected_bytes: float = 1e9) -> BoardTask:
    name = host or f"h{number}.test"
    return BoardTask(
        number,
        name,
        host=name,
        value=0.0,
        due=None,
        expected_bytes=expected_bytes,
        expected_seconds=0.0,
        nodes_at_once=1,
        audit_of=None,
        not_group=None,
    )


def waiting(tasks: int = MANY) -> ReadyTasks:
    ready = ReadyTasks()
    for number in range(tasks):
        ready.add(task(number))
    return ready


def look(ready: ReadyTasks, fitting: Container[int], node: str = "small") -> tuple[int | None, int]:
    """The first task that fits, and how many were looked at."""
    looks = 0

    def fit(each: BoardTask) -> bool:
        nonlocal looks
        looks += 1
        return each.id in fitting

    with closing(ready.in_order(_always, fit, node)) as found:
        first = next(found, None)
    return (None if first is None else first.id), looks


def _always(_: object) -> bool:
    return True


def test_who_fits_nothing_looks_at_few_and_takes_nothing_from_others() -> None:
    ready = waiting()
    for _ in range(50):
        found, looks = look(ready, ())
        assert found is None
        assert looks <= FEW_LOOKS
        assert look(ready, range(MANY), "large") == (0, 1)
    assert ready.cut_short is False


def test_who_fits_one_of_thousands_gets_it_after_some_looks() -> None:
    ready = waiting()
    found = [look(ready, {MANY - 1}) for _ in range(MANY // 200 + 1)]
    assert (MANY - 1) in [number for number, _ in found]
    assert all(looks <= FEW_LOOKS for _, looks in found)


def test_where_tasks_fit_the_next_look_begins_and_the_first_are_not_forgotten() -> None:
    ready, small = waiting(), range(2_000, MANY)
    while (found := look(ready, small))[0] is None:
        pass
    for number in range(2_000, 2_010):
        assert look(ready, small) == (number, 101)
        ready.remove(task(number))
    better = task(MANY + 1)
    better.value = 1.0
    ready.add(better)
    assert look(ready, [*small, better.id]) == (better.id, 1)
    assert found[1] <= FEW_LOOKS


def test_a_look_that_ended_begins_anew() -> None:
    """Something in the middle may fit by now."""
    ready = waiting(1_000)
    for _ in range(20):
        look(ready, ())
    found = [look(ready, {500})[0] for _ in range(6)]
    assert 500 in found


def test_tasks_that_do_not_fit_are_no_reason_to_read_all_others() -> None:
    board = Board()
    for number in range(500):
        board.add(task(number))
    board.tasks.far = PendingTaskIndex.from_ranks(
        [(1, -0.0, number) for number in range(500, 10_000)]
    )
    full, read = Asker("full", "1", free_bytes=0.0), 0
    for _ in range(10):
        assert board.claim(full, 0.0, 0.0) is None
        read += board.tasks.far.wanted
        if board.tasks.far.wanted:
            for number in board.tasks.far.next_ones():
                board.add(task(number))
            board.tasks.far.read()
    assert read <= 4, "of twenty that there are"
    assert board.claim(Asker("large", "1"), 0.0, 0.0) is not None


changes = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "busy", "awake", "look"]), st.integers(0, 30)),
    max_size=200,
)


@given(changes)
def test_it_is_the_best_of_each_free_host_in_order(doings: list[tuple[str, int]]) -> None:
    ready, tasks, busy = ReadyTasks(), dict[int, BoardTask](), set[str]()
    every = {number: task(number, f"h{number % 7}.test") for number in range(31)}
    for number, each in every.items():
        each.value = float(number * 7 % 5)
    for doing, number in doings:
        each = every[number]
        if doing == "add" and number not in tasks:
            tasks[number] = each
            ready.add(each)
        elif doing == "remove":
            tasks.pop(number, None)
            ready.remove(each)
        elif doing == "busy":
            busy.add(each.host)
        elif doing == "awake":
            busy.discard(each.host)
            ready.awake(each.host)
        _compare(ready, tasks.values(), lambda host: host not in busy, None if number % 3 else 2)


def _compare(
    ready: ReadyTasks, tasks: Iterable[BoardTask], free: Callable[[str], bool], most: int | None
) -> None:
    best: dict[str, BoardTask] = {}
    for each in sorted(tasks, key=lambda each: each.rank):
        if free(each.host):
            best.setdefault(each.host, each)
    with closing(ready.in_order(free, _always)) as found:
        assert list(islice(found, most)) == list(best.values())[:most]
