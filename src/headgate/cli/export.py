"""``headgate export``: a run's tables for other programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

from headgate.cli.speaking import say
from headgate.model.errors import UserMistake, WorldFault

if TYPE_CHECKING:
    from headgate.storage.collection import RunFolder

__all__ = ["configure", "run"]

FORMATS = ("csv", "jsonl", "parquet")
CRAWL_TABLES = ("pages", "links")
SURVEY_TABLES = ("servers", "links", "depths")

_DESCRIPTION = """\
Give out the table of a crawl's pages or links, or of a survey's servers, links or depths: as
comma-separated values, as lines of JSON, or as the Parquet file that the run keeps anyway. Columns
are explained in docs/collection.md and docs/survey.md. Rows are passed on as they are read, so that
a table of any size needs little memory.
"""

_EXAMPLES = """\
examples:
  headgate export --format csv > pages.csv
  headgate export --format jsonl --table links | head
  headgate export archive --run 2026-11-15T19-20-03 --to pages.parquet
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path("headgate-data"),
        help="the collection, or the folder of one run (default: headgate-data)",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="(default: by the ending of --to; to stdout csv)"
    )
    parser.add_argument(
        "--table",
        choices=tuple(dict.fromkeys((*CRAWL_TABLES, *SURVEY_TABLES))),
        help="which table (default: pages; of a survey: servers)",
    )
    parser.add_argument("--run", metavar="STAMP", help="which run (default: the newest)")
    parser.add_argument(
        "--to", metavar="FILE", default="-", help="write there (default: -, to stdout)"
    )


def run(args: argparse.Namespace) -> int:
    """Pass the table on."""
    from headgate.storage.chosen_run import chosen_run, is_survey
    from headgate.storage.exported_table import write_table

    form = args.format or _by_ending(args.to)
    if form == "parquet" and args.to == "-" and sys.stdout.isatty():
        raise UserMistake("Parquet is nothing for a terminal; name a file with --to")
    chosen = chosen_run(args.folder, args.run)
    tables = SURVEY_TABLES if is_survey(chosen) else CRAWL_TABLES
    table = args.table or tables[0]
    if table not in tables:
        kind = "survey" if is_survey(chosen) else "crawl"
        raise UserMistake(
            f"run {chosen.stamp} is a {kind} and has no {table}; --table is one of"
            f" {', '.join(tables)}"
        )
    own = chosen.path / f"{table}.parquet"
    if args.to != "-" and Path(args.to).resolve() == own.resolve():
        raise UserMistake(f"{args.to} is the run's own table; name another file with --to")
    with _table(chosen, table) as source, _opened(args.to) as target:
        write_table(source, form, target)
    return 0


@contextmanager
def _table(run: RunFolder, table: str) -> Iterator[Path]:
    """The run's own file, or one made of what a crawl that is not finished has stored so far."""
    from headgate.storage.chosen_run import file_of_run, is_survey
    from headgate.storage.collection import Collection
    from headgate.storage.sealing import write_run_table

    if run.unfinished and not is_survey(run):
        with TemporaryDirectory() as folder:
            part = Path(folder) / f"{table}.parquet"
            try:
                write_run_table(run, table, part)
            except WorldFault:
                if run.unfinished:
                    raise
            else:
                state = "under way" if Collection(run.collection).in_use else "not finished"
                say(f"run {run.stamp} is {state}; this is what it stored")
                yield part
                return
    yield file_of_run(run, f"{table}.parquet")


def _by_ending(target: str) -> str:
    if target == "-" or Path(target).is_dir():  # a folder is refused when it is opened
        return "csv"
    ending = Path(target).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise UserMistake(
            f"{target}: its ending is none of {', '.join(FORMATS)}; add --format and one of them"
        )
    return ending


@contextmanager
def _opened(target: str) -> Iterator[IO[bytes]]:
    """Where to write; a file is there whole or not at all."""
    from headgate.storage.faults import writing
    from headgate.storage.replacing import replacing

    if target == "-":
        yield sys.stdout.buffer
        return
    path = Path(target)
    if not path.absolute().parent.is_dir():
        raise UserMistake(f"{target}: there is no such folder")
    if path.is_dir():
        raise UserMistake(f"{target} is a folder; name a file")
    with replacing(path) as part, writing(path), part.open("wb") as file:
        yield file
