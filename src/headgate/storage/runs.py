"""The run that a command works on, and its report read back."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from headgate.model.errors import UserMistake
from headgate.storage.collection import SURVEY_LOG, Collection, RunFolder
from headgate.storage.safe_files import opened, reading

__all__ = ["chosen_run", "crawls", "file_of_run", "is_survey", "read_report"]


# The run that a command works on: given by its stamp or its folder, or the newest.


_MOST_NAMED = 5


def chosen_run(folder: Path, stamp: str | None = None) -> RunFolder:
    """The run meant by a folder, which is a collection or a run's own."""
    if not folder.is_dir():
        raise UserMistake(f"{folder}: there is no such folder")
    whole = folder.resolve()
    if whole.parent.name == "runs" and not (whole / "runs").is_dir():
        if stamp not in (None, whole.name):
            raise UserMistake(f"{folder} is the folder of one run; leave --run out")
        return _as_named(folder, whole)
    return _run_of(Collection(folder), stamp)


def crawls(folder: Path) -> list[RunFolder]:
    """All crawls in a collection, newest first; for the folder of a run, that run."""
    run = chosen_run(folder)
    if folder.resolve().parent.name == "runs" and not (folder / "runs").is_dir():
        return [run]
    runs = Collection(run.collection).runs()
    return [run for run in runs if run.path.is_dir() and not is_survey(run)]


def file_of_run(run: RunFolder, name: str) -> Path:
    """A file that a finished run has."""
    path = run.path / name
    if path.is_file():
        return path
    if run.unfinished:
        command = "survey" if is_survey(run) else "crawl"
        raise UserMistake(
            f"run {run.stamp} is not finished and has no {name} yet; "
            f"headgate {command} --resume goes on with it, --run names another"
        )
    raise UserMistake(f"{path}: there is no such file; --run names another run")


def is_survey(run: RunFolder) -> bool:
    """Whether it is a survey."""
    return (run.path / SURVEY_LOG).is_file()


def _as_named(folder: Path, whole: Path) -> RunFolder:
    """The collection as the user named it, if possible, else by its absolute path."""
    run = RunFolder(folder.parent.parent, whole.name)
    return run if run.path.resolve() == whole else RunFolder(whole.parent.parent, whole.name)


def _run_of(collection: Collection, stamp: str | None) -> RunFolder:
    runs = [run for run in collection.runs() if run.path.is_dir()]
    if not runs:
        raise UserMistake(
            f"{collection.path}: no run in there; name the folder that a crawl's --out named"
        )
    if stamp is None:
        return runs[0]
    found = next((run for run in runs if run.stamp == stamp), None)
    if found is None:
        newest = ", ".join(run.stamp for run in runs[:_MOST_NAMED])
        more = ", ..." if len(runs) > _MOST_NAMED else ""
        raise UserMistake(f"{collection.path}: no run {stamp!r}; there are {newest}{more}")
    return found


Report = TypeVar("Report")


def read_report(path: Path, kind: type[Report]) -> Report:
    """The report.json of a run, read back.

    ``kind``: the report of a crawl or a survey.
    """
    with reading(path), opened(path) as file:
        data = file.read()
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UserMistake(f"{path} is damaged or of another version: {error}") from None
