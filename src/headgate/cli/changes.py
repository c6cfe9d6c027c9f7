"""``headgate changes``: which pages are new, changed or gone, and what of their text changed."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from headgate.cli.arguments import add_folder
from headgate.cli.terminal import say, show, show_json
from headgate.model.errors import UserMistake
from headgate.model.page import Change, PageChange
from headgate.model.units import parse_duration

if TYPE_CHECKING:
    from headgate.features.changes.changes import Comparison, Noises
    from headgate.storage.collection import RunFolder

__all__ = ["configure", "run"]

FORMATS = ("text", "jsonl", "atom", "html")

_DESCRIPTION = """\
List pages that are new, changed or gone, with the lines of text removed and added: in the newest
run or a keeper's newest volume compared with all before it, in the last days, or between two runs.
If a page changed several times, every change is listed. Markup, dates, times, counters, long tokens
and what the site file ignores do not count.
"""

_EXAMPLES = """\
examples:
  headgate changes                                     what the newest run found changed
  headgate changes archive --since 7d --site wiki
  headgate changes archive 2026-11-14T03-00-00 2026-11-15T03-00-00
  headgate changes --format atom > changes.xml         for a feed reader
  headgate changes --format html > changes.html        with differences, as a page
  headgate changes --ignore 'Offer of the day: .*'     ignore this, too
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_folder(parser)
    parser.add_argument("runs", metavar="RUN", nargs="*", help="two runs by their names")
    parser.add_argument(
        "--since", metavar="TIME", help="changes found within this time, like 12h or 7d"
    )
    parser.add_argument("--site", metavar="NAME", help="this site only")
    parser.add_argument(
        "--ignore", metavar="RULE", action="append", default=[],
        help="text that counts for nothing, as a regular expression, or css: and a selector;"
        " may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--exact",
        action="store_true",
        help="dates, counters, tokens and what the site file ignores count as well",
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="(default: text)")


def run(args: argparse.Namespace) -> int:
    """Compare, and show in the chosen format."""
    comparison = _comparison(args)
    counts: Counter[Change] = Counter()

    def counted() -> Iterator[PageChange]:
        for change in comparison.changes():
            counts[change.change] += 1
            yield change

    _SHOWN[args.format](args, comparison, counted(), counts)
    return 0


def _comparison(args: argparse.Namespace) -> Comparison:
    from headgate.features.changes.changes import Comparison

    if args.exact and args.ignore:
        raise UserMistake("--exact lets everything count; leave --ignore out")
    since = -math.inf
    if args.since is not None:
        since = time.time() - parse_duration(args.since)
    before, after = _runs(args, since)
    if args.site is not None:
        _refuse_unknown_site(args, (*after, *before))
    return Comparison(
        args.folder,
        before,
        after=after,
        noises=_noises(args, after[-1]),
        site=args.site,
        since=since,
    )


def _refuse_unknown_site(args: argparse.Namespace, runs: Iterable[RunFolder]) -> None:
    """A misspelt name would look like a site that never changes."""
    from headgate.storage.page_states import page_states

    if not any(True for run in runs for _ in page_states(run, args.site)):
        raise UserMistake(
            f"{args.folder}: no page of a site {args.site!r} in these runs; their report pages name"
            " the sites"
        )


def _noises(args: argparse.Namespace, run: RunFolder) -> Noises:
    """Text to ignore by site: the defaults, the user's options, and the rules of the site file."""
    from headgate.features.changes.changes import Noises
    from headgate.reading.change_detection import EXACT, Noise
    from headgate.storage.ignore_rules import load_ignore_rules

    if args.exact:
        return Noises(EXACT)
    rules = load_ignore_rules(run.collection)
    by_site = {site: Noise.from_rules([*own, *args.ignore]) for site, own in rules.items()}
    return Noises(Noise.from_rules(args.ignore), by_site)


def _runs(args: argparse.Namespace, since: float) -> tuple[list[RunFolder], list[RunFolder]]:
    """The runs to compare with and the runs to compare, each oldest first."""
    from headgate.features.keep.status_files import is_kept
    from headgate.storage.collection import Collection
    from headgate.storage.runs import chosen_run, file_of_run

    newest = chosen_run(args.folder)
    kept = is_kept(newest.collection)
    if args.runs:
        if len(args.runs) != 2 or args.since:
            raise UserMistake("name two runs, the earlier first, or none; and then no --since")
        chosen = [chosen_run(args.folder, stamp) for stamp in args.runs]
        for one in chosen:
            if not (kept and one.unfinished):
                file_of_run(one, "pages.parquet")
        return [chosen[0]], [chosen[1]]
    runs = Collection(newest.collection).runs()
    known = [run for run in reversed(runs) if _can_be_read(run, kept=kept)]
    if not known or (len(known) < 2 and not kept):
        raise UserMistake(
            f"{args.folder} has no two crawls to compare; crawl the same sites into it once more"
        )
    # A run that began before that time may have ended after it.
    earlier = len(known) - 1 if args.since is None else _begun_by(known, since)
    return known[:earlier], known[earlier:]


def _can_be_read(run: RunFolder, *, kept: bool) -> bool:
    """A keeper's volume can be read while it is written, a crawl only when it is finished."""
    return (run.path / "pages.parquet").is_file() or (kept and run.unfinished)


def _begun_by(runs: Sequence[RunFolder], since: float) -> int:
    """How many had certainly ended by then: even the last volume but one may still have a visit."""
    from headgate.storage.collection import began

    return max(sum(began(run) <= since for run in runs) - 2, 0)


def _as_text(
    _: argparse.Namespace,
    comparison: Comparison,
    changes: Iterator[PageChange],
    counts: Counter[Change],
) -> None:
    from headgate.features.changes.view import change_lines, changes_in_words

    for line in change_lines(changes):
        show(line)
    show(changes_in_words(counts, comparison.unremarkable))


def _as_json_lines(
    _: argparse.Namespace,
    comparison: Comparison,
    changes: Iterator[PageChange],
    counts: Counter[Change],
) -> None:
    import msgspec

    from headgate.features.changes.view import changes_in_words

    for change in changes:
        show_json(msgspec.json.encode(change))
    say(changes_in_words(counts, comparison.unremarkable))


def _as_feed(
    args: argparse.Namespace,
    _comparison: Comparison,
    changes: Iterator[PageChange],
    _counts: Counter[Change],
) -> None:
    from headgate.features.changes.view import changes_feed

    sys.stdout.writelines(changes_feed(list(changes), args.folder.name, time.time()))


def _as_page(
    args: argparse.Namespace,
    comparison: Comparison,
    changes: Iterator[PageChange],
    counts: Counter[Change],
) -> None:
    from headgate.features.changes.view import changes_in_words, changes_page

    found = list(changes)
    summary = changes_in_words(counts, comparison.unremarkable)
    sys.stdout.write(changes_page(found, f"Changes in {args.folder.name}", summary))


_SHOWN = {"text": _as_text, "jsonl": _as_json_lines, "atom": _as_feed, "html": _as_page}
