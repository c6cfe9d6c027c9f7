"""``headgate report``: what a run promised and what it kept, in a few lines and as a page."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from headgate.cli.arguments import add_folder
from headgate.cli.keep import show_kept
from headgate.cli.terminal import show, show_json
from headgate.cli.unfinished import show_unfinished

if TYPE_CHECKING:
    from headgate.model.run_report import RunReport
    from headgate.storage.collection import RunFolder

__all__ = ["configure", "run"]

_DESCRIPTION = """\
Summarise what a run promised and what happened, or what a survey found, and write the
self-contained page report.html into the folder of the run. For a run that is in progress or was
interrupted, it shows what is stored so far. For a collection that is kept, the page is keep.html in
the collection, over all its time; --run names one volume.
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
    add_folder(parser, "the collection, or the folder of one run")
    parser.add_argument("--run", metavar="STAMP", help="which run (default: the newest)")
    parser.add_argument("--json", action="store_true", help="print report.json instead of words")


def run(args: argparse.Namespace) -> int:
    """Write the page beside the report, and print the report as text or JSON."""
    from headgate.engine.report_pages import PAGE, write_report_page
    from headgate.features.keep.status_files import is_kept
    from headgate.model.run_report import RunReport
    from headgate.report.text import report_text
    from headgate.storage.runs import chosen_run, file_of_run, is_survey, read_report

    if args.run is None and is_kept(args.folder):
        return show_kept(args.folder, as_json=args.json)
    chosen = chosen_run(args.folder, args.run)
    if is_survey(chosen):
        return _show_survey(chosen, as_json=args.json)
    report = _so_far(chosen) if chosen.unfinished else None
    if report is None:
        report = read_report(file_of_run(chosen, "report.json"), RunReport)
    # Do not write into the folder of a running crawl; its spool is deleted at its end.
    folder = chosen.spool if report.under_way else chosen.path
    write_report_page(report, folder)
    if args.json:
        import msgspec

        show_json(msgspec.json.format(msgspec.json.encode(report)))
        return 0
    show(report_text(report, str(folder / PAGE)))
    if report.interrupted:
        show_unfinished(chosen)
    return 0


def _so_far(run: RunFolder) -> RunReport | None:
    """Of an unfinished run; None: it has finished meanwhile, or has not begun."""
    from headgate.engine.runs import report_so_far
    from headgate.model.errors import WorldFault
    from headgate.storage.collection import Collection

    try:
        return report_so_far(run, under_way=Collection(run.collection).in_use)
    except WorldFault:
        if run.unfinished:
            raise
        return None


def _show_survey(run: RunFolder, *, as_json: bool) -> int:
    import msgspec

    from headgate.features.survey.report import SurveyReport
    from headgate.features.survey.view.text import survey_text
    from headgate.features.survey.wrapping_up import write_survey_page
    from headgate.storage.collection import Collection
    from headgate.storage.runs import file_of_run, read_report

    source = file_of_run(run, "report.json")
    report = read_report(source, SurveyReport)
    write_survey_page(report, source.parent)
    if as_json:
        show_json(msgspec.json.format(msgspec.json.encode(report)))
    else:
        show(survey_text(report, str(source.parent)))
        if run.unfinished and not Collection(run.collection).in_use:
            show_unfinished(run)
    return 0
