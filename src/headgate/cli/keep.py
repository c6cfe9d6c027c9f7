"""``headgate keep``: keeps a collection fresh, for months, within the budget."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from headgate.cli.arguments import (
    DEFAULT_FOLDER,
    add_out,
    at_least_one,
    say_that_proxies_are_not_used,
)
from headgate.cli.terminal import ending_at_once, say, show, show_json
from headgate.engine.site_inputs import read_text
from headgate.model.errors import UserMistake, WorldFault
from headgate.model.units import parse_duration

__all__ = ["configure", "run", "show_kept"]

_LONGEST_PAUSE_DAYS = 3650

POLICIES = ("index", "fixed", "iir", "icr", "nutch", "uniform")
OBJECTIVES = ("age", "freshness")

_DESCRIPTION = """\
Keep the sites of a file fresh: look at each page as often as it is worth it within the budget,
fetch only what changed, keep the promises of the file (fresh_within). It runs until it is stopped;
the file is read again when it changes. Every version stays in the archive.
"""

_EXAMPLES = """\
examples:
  headgate keep sites.toml --bandwidth 200KB/s
  headgate keep sites.toml --once                       look at what is due, then end
  headgate keep sites.toml --for 30d --out archive
  headgate keep --status                                how it fares, also while it runs
  headgate keep --pause wiki 2d                         leave a site alone
  headgate keep --visit wiki                            look at all of it now
  headgate keep --rebuild wiki                          make what is known of it again

Ctrl-C or SIGTERM: visits end with what they have, volumes are sealed, exit code 0. A second one
ends at once; nothing stored is lost. SIGHUP: the file is read again.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("file", metavar="FILE", nargs="?", help="a site file (TOML)")
    add_out(parser)
    parser.add_argument("--bandwidth", metavar="RATE", help="the budget, like '1.5 MB/s'")
    parser.add_argument("--quota", metavar="SIZE/PERIOD", help="like '20 GB/month' or '500 MB/day'")
    parser.add_argument(
        "--crawlers", metavar="N", type=at_least_one, help="sites visited at once (5)"
    )
    parser.add_argument(
        "--make-way", action="store_true", help="step back when others need the line"
    )
    parser.add_argument(
        "--policy", choices=POLICIES, default="index", help="whose turn it is (index)"
    )
    parser.add_argument("--objective", choices=OBJECTIVES, help="what is made small (age)")
    parser.add_argument(
        "--contact", metavar="WHO", default="",
        help="URL or mail address that servers see: who runs this?",
    )  # fmt: skip
    parser.add_argument("--for", metavar="TIME", dest="duration", help="end after so long")
    parser.add_argument("--once", action="store_true", help="end when nothing is due")
    parser.add_argument(
        "--status", metavar="DIR", nargs="?", type=Path, const=DEFAULT_FOLDER,
        help="show the status of a collection's keeper",
    )  # fmt: skip
    parser.add_argument(
        "--pause", metavar=("SITE", "TIME"), nargs=2, help="leave a site alone; 0 ends a pause"
    )
    parser.add_argument("--visit", metavar="SITE", help="look at all pages of a site now")
    parser.add_argument("--rebuild", metavar="SITE", help="make a site's memory again")
    parser.add_argument("--json", action="store_true", help="print the state as JSON")
    parser.add_argument("--quiet", action="store_true", help="no word but of troubles")


def run(args: argparse.Namespace) -> int:
    """Keep, show the status, or leave an order for a running keeper."""
    others = [args.status, args.pause, args.visit, args.rebuild]
    asked = sum(other is not None for other in others)
    if asked + bool(args.file) > 1:
        raise UserMistake("say one thing: a FILE to keep, --status, --pause, --visit or --rebuild")
    if args.status is not None:
        return show_kept(args.status, as_json=args.json)
    if asked:
        return _wish(args)
    if not args.file:
        raise UserMistake("say what to keep: a site file (see headgate keep --help)")
    say_that_proxies_are_not_used()
    with ending_at_once():
        import uvloop

        from headgate.cli.keep_progress import keep_watched
        from headgate.features.keep.job import KeepRequest

    request = KeepRequest(
        Path(args.file),
        lambda path: read_text(str(path)),
        bandwidth=args.bandwidth,
        quota=args.quota,
        crawlers=args.crawlers,
        make_way=args.make_way,
        objective=args.objective,
        policy=args.policy,
        contact=args.contact,
        duration=args.duration,
        once=args.once,
    )
    with ending_at_once():
        job = request.job(args.out)
    status = uvloop.run(keep_watched(job, quiet=args.quiet))
    if args.json:
        import msgspec

        show_json(msgspec.json.encode(status))
    return 0


def _wish(args: argparse.Namespace) -> int:
    from headgate.features.keep.user_commands import Wish, WishKind, leave_wish
    from headgate.storage.collection import Collection

    collection = Collection(args.out)
    site, until = args.visit or args.rebuild, 0.0
    if args.pause is not None:
        site, duration = args.pause
        seconds = parse_duration(duration)
        if seconds > _LONGEST_PAUSE_DAYS * 86_400:
            raise UserMistake(
                f"a pause is at most {_LONGEST_PAUSE_DAYS} days; take the site out of the file"
            )
        until = time.time() + seconds
    if not collection.catalog.is_file():
        raise UserMistake(f"{args.out}: nothing is kept there; name the folder with --out DIR")
    if not collection.memory(site).exists() and not _is_visited_now(args.out, site):
        raise UserMistake(f"{site}: no such site is kept in {args.out}")
    kind = WishKind.PAUSE if args.pause else WishKind.VISIT if args.visit else WishKind.REBUILD
    if kind is WishKind.REBUILD and not collection.in_use:
        from headgate.storage.memory.remembering import mend

        with collection.lock():
            show("\n".join(mend(collection, site)) or f"{site}: no run has a page of it")
        return 0
    leave_wish(args.out, Wish(kind, site, until))
    when = "within seconds" if collection.in_use else "when the keeper runs next"
    show(f"{site}: {kind} {when}")
    return 0


def _is_visited_now(folder: Path, site: str) -> bool:
    """As a site in its first visit, of which nothing is remembered yet."""
    from headgate.features.keep.status_files import load_status

    status = load_status(folder)
    return status is not None and any(one.site == site for one in status.visiting)


def show_kept(folder: Path, *, as_json: bool) -> int:
    """The status of a keeper: as text with a page, or as JSON.

    Print the status; works while a keeper runs.
    """
    import msgspec

    from headgate.features.keep.status_files import load_status, write_keep_page
    from headgate.features.keep.view.words import status_text
    from headgate.storage.collection import Collection
    from headgate.storage.safe_files import without_remedy

    status = load_status(folder)
    if status is None:
        raise UserMistake(
            f"{folder}: nothing is kept there; start with 'headgate keep FILE --out {folder}'"
        )
    if as_json:
        show_json(msgspec.json.format(msgspec.json.encode(status)))
        return 0
    alive, now = Collection(folder).in_use, time.time()
    try:
        page = str(write_keep_page(folder, status, now, alive=alive))
    except WorldFault as fault:  # most likely the trouble that the state tells of
        page = ""
        say(f"no page: {without_remedy(str(fault))}")
    show(status_text(status, now, alive=alive, page=page))
    return 0
