"""``headgate survey diff A B``: what has changed between two surveys."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from headgate.cli.terminal import show, show_json
from headgate.features.survey.difference import difference
from headgate.features.survey.log import read_survey
from headgate.features.survey.view.text import difference_text
from headgate.model.errors import UserMistake
from headgate.storage.collection import SURVEY_LOG, Collection

__all__ = ["configure", "run"]

_DESCRIPTION = """\
Say what has changed between two surveys: servers gone, new and moved, links gone and new. To survey
a list that is named diff, write ./diff.
"""

_EXAMPLES = """\
examples:
  headgate survey diff 2026-01-data 2026-07-data            the newest survey of each folder
  headgate survey diff data/runs/2026-01-10T08-00-00 data   a survey and the newest beside it
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "folders",
        metavar="DIR",
        nargs="*",
        type=Path,
        help="two: what --out was, or the folder of one run; the older first",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")


def run(args: argparse.Namespace) -> int:
    """Print the difference; exit code 0 whether there is one or not."""
    if len(args.folders) != 2:
        raise UserMistake("survey diff wants two surveys: their folders, the older first")
    before, after = (read_survey(_log(folder)) for folder in args.folders)
    found = difference(before, after)
    if args.json:
        show_json(msgspec.json.encode(found))
    else:
        show(difference_text(found))
    return 0


def _log(folder: Path) -> Path:
    """The log in a run's folder, or of the newest survey of a collection."""
    if (folder / SURVEY_LOG).is_file():
        return folder / SURVEY_LOG
    runs = Collection(folder).runs() if folder.is_dir() else []
    for run in runs:
        if (run.path / SURVEY_LOG).is_file():
            return run.path / SURVEY_LOG
    raise UserMistake(f"{folder} holds no survey; name what --out was, or a folder in its runs/")
