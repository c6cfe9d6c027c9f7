"""Instances that are done are not done again, and nothing of another program is taken up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from headgate_lab.papers.kept_tasks import kept_tasks
from headgate_lab.papers.mapping import Mapper

Task = TypeVar("Task")
Result = TypeVar("Result")


def square(number: int) -> int:
    return number * number


def interrupted_at(done: list[object], most: int) -> Mapper:
    def mapped(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterable[Result]:
        for task in tasks:
            if len(done) == most:
                raise KeyboardInterrupt
            done.append(task)
            yield function(task)

    return mapped


def test_an_interrupted_run_goes_on_with_the_next_instance(tmp_path: Path) -> None:
    path = tmp_path / "tasks"
    done: list[object] = []
    with pytest.raises(KeyboardInterrupt):
        list(kept_tasks(path, "key", interrupted_at(done, 2))(square, [1, 2, 3, 4]))
    later: list[object] = []
    again = kept_tasks(path, "key", interrupted_at(later, 9))
    assert list(again(square, [1, 2, 3, 4])) == [1, 4, 9, 16]
    assert later == [3, 4]


def test_what_another_program_kept_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "tasks"
    list(kept_tasks(path, "one", map)(square, [1, 2]))
    done: list[object] = []
    assert list(kept_tasks(path, "other", interrupted_at(done, 9))(square, [1, 2])) == [1, 4]
    assert done == [1, 2]


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_of_a_file_that_was_cut_off_the_whole_part_counts(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "tasks"
    list(kept_tasks(path, "key", map)(square, [1, 2, 3]))
    path.write_bytes(path.read_bytes()[:-cut])
    done: list[object] = []
    assert list(kept_tasks(path, "key", interrupted_at(done, 9))(square, [1, 2, 3])) == [1, 4, 9]
    assert done == [3]
    assert list(kept_tasks(path, "key", interrupted_at([], 0))(square, [1, 2, 3])) == [1, 4, 9]


def test_another_function_of_the_same_task_is_another_instance(tmp_path: Path) -> None:
    mapper = kept_tasks(tmp_path / "tasks", "key", map)
    assert list(mapper(square, [3])) == [9]
    assert list(mapper(str, [3])) == ["3"]


def test_a_function_with_some_arguments_set_is_known_by_them(tmp_path: Path) -> None:
    mapper = kept_tasks(tmp_path / "tasks", "key", map)
    assert list(mapper(partial(pow, 2), [3])) == [8]
    assert list(mapper(partial(pow, 5), [3])) == [125]
    assert list(
        kept_tasks(tmp_path / "tasks", "key", interrupted_at([], 0))(partial(pow, 2), [3])
    ) == [8]
