"""``headgate report``: what a run promised and what it kept, in a few lines and as a page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headgate.model.errors import UserMistake

if TYPE_CHECKING:
    from headgate.model.run_report import RunReport

__all__ = ["configure", "read_report", "run"]

Report = TypeVar("Report")

_DESCRIPTION = """\
Say what a run promised and what it kept, or what a survey found, and write it as one page,
report.html, into the folder of the run. The page needs neither network nor any other file.
"""

_EXAMPLES = """\
examples:
  headgate report                                       the newest run in ./headgate-data
  headgate report archive --run 2026-11-15T19-20-03     that run of another collection
  headgate report archive/runs/2026-11-15T19-20-03      the same
  headgate report --json | jq .utilisation              for scripts
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
    parser.add_argument("--run", metavar="STAMP", help="which run (default: the newest)")
    parser.add_argument("--json", action="store_true", help="print report.json instead of words")


def run(args: argparse.Namespace) -> int:
    """Write the page beside the report, print the report's words or its JSON."""
    from headgate.cli.chosen_run import chosen_run, file_of_run, is_survey
    from headgate.cli.report_page import report_page
    from headgate.cli.report_text import report_text
    from headgate.storage.replacing import write_whole

    chosen = chosen_run(args.folder, args.run)
    source = file_of_run(chosen, "report.json")
    if is_survey(chosen):
        return _show_survey(source, as_json=args.json)
    report = read_report(source)
    page = source.with_name("report.html")
    write_whole(page, report_page(report).encode())
    if args.json:
        import msgspec

        sys.stdout.write(f"{msgspec.json.format(msgspec.json.encode(report)).decode()}\n")
    else:
        print(report_text(report, page))
    return 0


def _show_survey(source: Path, *, as_json: bool) -> int:
    import msgspec

    from headgate.cli.survey_result import survey_text, write_page
    from headgate.model.survey_report import SurveyReport

    report = _read(source, SurveyReport)
    write_page(report, source.parent)
    if as_json:
        sys.stdout.write(f"{msgspec.json.format(msgspec.json.encode(report)).decode()}\n")
    else:
        print(survey_text(report, source.parent))
    return 0


def read_report(path: Path) -> RunReport:
    """The report in a crawl's report.json."""
    from headgate.model.run_report import RunReport

    return _read(path, RunReport)


def _read(path: Path, kind: type[Report]) -> Report:
    import msgspec

    from headgate.storage.faults import reading

    with reading(path):
        data = path.read_bytes()
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UserMistake(f"{path} is damaged or of another version: {error}") from None
