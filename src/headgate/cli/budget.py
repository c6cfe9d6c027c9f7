"""``headgate budget``: changes the budget of a running crawl or survey."""

from __future__ import annotations

import argparse
from pathlib import Path

from headgate.cli.terminal import show
from headgate.model.errors import UserMistake
from headgate.model.units import format_rate, parse_rate

__all__ = ["configure", "run"]

_DESCRIPTION = """\
Change the bandwidth of a crawl or survey that is running, or of the next one that resumes there. It
notices within a second; a crawl's plan is made anew for the new budget.
"""

_EXAMPLES = """\
examples:
  headgate budget headgate-data 300KB/s      somebody needs the line
  headgate budget headgate-data unlimited    everybody has gone home
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("dir", metavar="DIR", type=Path, help="the folder, its --out")
    parser.add_argument("rate", metavar="RATE", help="like 300KB/s, 2.5MB/s or unlimited")


def run(args: argparse.Namespace) -> int:
    """Write the new rate to the file that the running crawl watches."""
    rate = parse_rate(args.rate)
    if rate <= 0:
        raise UserMistake("a crawl needs more than 0; interrupt it with Ctrl-C instead")
    from headgate.storage.collection import Collection
    from headgate.storage.run_state import save_budget

    folder = Collection(args.dir).unfinished_run()
    if folder is None:
        raise UserMistake(f"{args.dir}: no crawl is running or unfinished there")
    save_budget(folder, float(rate))
    show(f"{folder.stamp}: {format_rate(rate)} from now on")
    return 0
