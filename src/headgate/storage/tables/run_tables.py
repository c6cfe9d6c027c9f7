"""The Parquet tables of a run, also of one that is not finished."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from headgate.model.errors import WorldFault
from headgate.storage.chosen_run import file_of_run, is_survey
from headgate.storage.collection import Collection, RunFolder
from headgate.storage.sealing import write_run_table

__all__ = ["run_table", "unfinished_remark"]


def unfinished_remark(run: RunFolder) -> str:
    """A remark for readers of its tables; empty: the run is finished."""
    if not run.unfinished or is_survey(run):
        return ""
    state = "under way" if Collection(run.collection).in_use else "not finished"
    return f"run {run.stamp} is {state}; this is what it stored"


@contextmanager
def run_table(run: RunFolder, table: str) -> Iterator[Path]:
    """The run's file, or a temporary one with what an unfinished crawl has stored so far."""
    if run.unfinished and not is_survey(run):
        with TemporaryDirectory() as folder:
            part = Path(folder) / f"{table}.parquet"
            try:
                write_run_table(run, table, part)
            except WorldFault:
                if run.unfinished:
                    raise  # else it has finished meanwhile, and has its own file
            else:
                yield part
                return
    yield file_of_run(run, f"{table}.parquet")
