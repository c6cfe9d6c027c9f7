"""Finished instances of a paper, kept in a file until its chapter is done: an interrupted run
continues with the next one. Files of another program, or of another version of this one, are not
read."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from headgate_lab.papers.mapping import Mapper

__all__ = ["kept_tasks"]

Task = TypeVar("Task")
Result = TypeVar("Result")

_DAMAGED = (EOFError, pickle.UnpicklingError, ValueError, TypeError, AttributeError, ImportError)


def kept_tasks(path: Path, key: str, mapper: Mapper) -> Mapper:
    """The same as ``mapper``, but a task whose result is in the file is not done again. ``key``:
    what was asked for, and of which program."""
    known = _read(path, key)

    def mapped(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterable[Result]:
        names = [_name(function, task) for task in tasks]
        new = [task for task, name in zip(tasks, names, strict=True) if name not in known]
        results = iter(mapper(function, new))
        with path.open("ab") as file:
            for name in names:
                if name in known:
                    yield known[name]
                else:
                    result = next(results)
                    pickle.dump((name, result), file)
                    file.flush()
                    yield result

    return mapped


def _name(function: Callable[..., Any], task: object) -> str:
    """Also of a `functools.partial`."""
    return sha256(pickle.dumps((function, task))).hexdigest()


def _read(path: Path, key: str) -> dict[str, Any]:
    """All complete results; the rest is deleted."""
    known: dict[str, Any] = {}
    good = 0
    try:
        with path.open("rb") as file:
            if file.readline() == f"{key}\n".encode():
                good = file.tell()
                while True:
                    name, result = pickle.load(file)
                    known[name] = result
                    good = file.tell()
    except (*_DAMAGED, OSError):
        pass
    with path.open("r+b" if good else "wb") as file:
        if good:
            file.truncate(good)
        else:
            file.write(f"{key}\n".encode())
    return known
