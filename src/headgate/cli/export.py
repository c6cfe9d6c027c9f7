"""``headgate export``: a run's tables, texts and records for other programs."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.cli.arguments import add_folder
from headgate.cli.terminal import say
from headgate.model.errors import UserMistake

if TYPE_CHECKING:
    from headgate.features.export.export import ExportJob

__all__ = ["configure", "run"]

FORMS = ("csv", "jsonl", "parquet", "sqlite", "text", "markdown", "wacz")
TABLES = ("pages", "links", "servers", "depths")
CONTENTS = ("text", "markdown", "html")
_ENDINGS = {
    "csv": "csv", "db": "sqlite", "jsonl": "jsonl", "md": "markdown", "parquet": "parquet",
    "sqlite": "sqlite", "txt": "text", "wacz": "wacz",
}  # fmt: skip
_BINARY = ("parquet", "sqlite", "wacz")
FAILED = 1

_DESCRIPTION = """\
Export what a crawl stored: the table of its pages or links as CSV, JSON lines, Parquet or a SQLite
database; the main text of its pages as text or Markdown; or its records as a WACZ file for replay.
Of a survey: servers, links or depths. Rows are streamed, so tables of any size need little memory.
If something cannot be read, it is counted on stderr, and the exit code is 1.
"""

_EXAMPLES = """\
examples:
  headgate export --as csv > pages.csv
  headgate export --as jsonl --table links | head
  headgate export archive --run 2026-11-15T19-20-03 --to pages.parquet
  headgate export --as markdown --to docs/ --where "url like '%%/docs/%%'"
  headgate export --as jsonl --content text --where "status = 200"
  headgate export --table links --content text --to links.parquet
  headgate export --run all --to everything.wacz
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES.replace("%%", "%")
    add_folder(parser, "the collection, or the folder of one run")
    parser.add_argument(
        "--as",
        dest="form",
        choices=FORMS,
        help="(default: by the extension of --to; csv on stdout)",
    )
    parser.add_argument(
        "--table", choices=TABLES, help="which table (default: pages; of a survey: servers)"
    )
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        default="",
        help='only rows that match: SQL on the table\'s columns, like "status = 200"',
    )
    parser.add_argument(
        "--content",
        choices=CONTENTS,
        default="",
        help="an additional column of the table of pages; of links: text, their anchor text",
    )
    parser.add_argument(
        "--run", metavar="STAMP", help="which run, or 'all' of them (default: the newest)"
    )
    parser.add_argument(
        "--to",
        metavar="FILE",
        default="-",
        help="write there; for text and Markdown also a folder, with a file per page"
        " (default: -, to stdout)",
    )


def run(args: argparse.Namespace) -> int:
    """Export."""
    form = args.form or _by_ending(args.to)
    if form in _BINARY and args.to == "-" and (form == "sqlite" or sys.stdout.isatty()):
        raise UserMistake(f"{form} is nothing for a terminal; name a file with --to")
    if args.content:
        _check_content(args.content, args.table, form)
    if args.table and form in ("text", "markdown", "wacz"):
        raise UserMistake(f"--as {form} gives out pages; leave --table out")
    from headgate.features.export.export import Export, ExportJob

    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    job = ExportJob(
        Export(
            args.folder,
            args.run,
            form=form,
            table=args.table,
            where=args.where,
            content=args.content,
            created=created,
        )
    )
    _write(job, form, args.to)
    for remark in job.remarks:
        say(remark)
    return FAILED if job.unreadable else 0


def _check_content(content: str, table: str | None, form: str) -> None:
    if form in ("text", "markdown", "wacz"):
        raise UserMistake(f"--content is a column of a table; --as {form} makes none")
    if table == "links" and content != "text":
        raise UserMistake(f"links have no {content}; --content text adds their anchor text")
    if table not in (None, "pages", "links"):
        raise UserMistake(f"--content is a column of pages or links; {table} have none")


def _write(job: ExportJob, form: str, to: str) -> None:
    from headgate.storage.atomic_write import claiming

    if to == "-":
        job.write(sys.stdout.buffer)
        return
    path = Path(to)
    if not path.absolute().parent.is_dir():
        raise UserMistake(f"{to}: there is no such folder")
    if _is_folder(to):
        if form not in ("text", "markdown"):
            raise UserMistake(f"{to} is a folder; name a file")
        path.mkdir(exist_ok=True)
        with claiming(path / ".export"):
            job.write_folder(path)
        (path / ".export").unlink()
        return
    for run in job.runs:
        if path.resolve().is_relative_to(run.path.resolve()):
            raise UserMistake(f"{to} is in the run's own folder; name another file with --to")
    with claiming(path) as (file, part):
        if form == "sqlite":
            job.write_database(part)
        else:
            job.write(file)


def _is_folder(to: str) -> bool:
    return Path(to).is_dir() or to.endswith("/")


def _by_ending(to: str) -> str:
    if to == "-" or _is_folder(to):
        return "csv"
    ending = Path(to).suffix.lower().removeprefix(".")
    if ending not in _ENDINGS:
        raise UserMistake(
            f"{to}: its ending is none of {', '.join(_ENDINGS)}; add --as and one of"
            f" {', '.join(FORMS)}"
        )
    return _ENDINGS[ending]
