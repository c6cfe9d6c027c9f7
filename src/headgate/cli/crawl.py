"""``headgate crawl``: crawls sites under the budget, by their deadlines."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import msgspec

from headgate.cli.arguments import (
    add_out,
    add_site_options,
    asked_options,
    at_least_one,
    say_that_proxies_are_not_used,
)
from headgate.cli.terminal import OpeningWords, ending_at_once, show
from headgate.cli.unfinished import (
    dangers,
    refuse_untrusted_request,
    refuse_untrusted_scorers,
    show_unfinished,
)
from headgate.engine.begun_here import is_begun_here
from headgate.engine.runs import JobKind
from headgate.engine.site_inputs import read_text
from headgate.features.crawl.request import CrawlRequest, unfinished_request
from headgate.model.budget import Objective
from headgate.model.errors import UserMistake
from headgate.model.score_order import ADMISSIONS, LOOK_AHEAD, SCORE
from headgate.model.site import ORDERS
from headgate.storage.collection import Collection, RunFolder

__all__ = ["configure", "run"]

_REPLACEABLE = (
    "bandwidth", "quota", "deadline", "crawlers", "objective", "policy", "make_way", "contact",
    "processes",
)  # fmt: skip
"""Options that a resumed run may change."""

_DESCRIPTION = """\
Crawl sites within a bandwidth and by their deadlines. Pages are archived as WARC, with tables and
an index; a crash or an interruption loses nothing that was stored, and --resume continues.
"""

_EXAMPLES = """\
examples:
  headgate crawl https://example.org/                       one site, unlimited
  headgate crawl sites.toml                                 sites, budget and deadlines from a file
  headgate crawl https://a.org/ https://b.org/ --bandwidth 1MB/s --deadline 10m
  headgate crawl https://a.org/ --max-pages 500 --max-page-size 2MB --fetch text/html
  headgate crawl https://a.org/ --focus "food safety"       the promising pages first
  headgate crawl --resume                                   continue an interrupted crawl
  headgate crawl sites.toml --resume                        one that was begun elsewhere
  headgate crawl --abandon                                  or give it up; what is stored stays
  headgate crawl sites.toml --policy ReAlloc-MAXT           by a published algorithm
  headgate crawl sites.toml --json | jq .utilisation        for scripts

exit codes:
  0 done, 1 something outside failed, 2 a mistake in what was asked, 3 a deadline was missed (with
  --strict), 4 nothing was fetched from any site, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "what", metavar="FILE | URL", nargs="*", help="a site file (TOML), or one or more URLs"
    )
    parser.add_argument("--bandwidth", metavar="RATE", help="the budget, like '1.5 MB/s'")
    parser.add_argument("--quota", metavar="SIZE/PERIOD", help="like '20 GB/month' or '500 MB/day'")
    parser.add_argument(
        "--deadline", metavar="TIME", help="for sites that have none, like '10m' or '1h30m'"
    )
    parser.add_argument(
        "--crawlers", metavar="N", type=at_least_one, help="sites crawled at once (5)"
    )
    parser.add_argument(
        "--make-way", action="store_true", default=None, help="step back when others need the line"
    )
    parser.add_argument(
        "--policy",
        metavar="NAME",
        help="who sets the rates, like ReAlloc-MAXT (headgate; headgate plan --compare names them)",
    )
    parser.add_argument("--objective", choices=[str(objective) for objective in Objective])
    add_out(parser)
    parser.add_argument("--resume", action="store_true", help="continue the unfinished run in DIR")
    parser.add_argument(
        "--abandon", action="store_true", help="give up the unfinished run in DIR; keep its pages"
    )
    parser.add_argument("--processes", metavar="N", type=at_least_one, help="worker processes (1)")
    parser.add_argument(
        "--contact", metavar="WHO", help="URL or mail address that servers see: who runs this?"
    )
    parser.add_argument(
        "--focus", metavar="WORDS", help="fetch pages about this first, like 'food safety'"
    )
    parser.add_argument(
        "--focus-pages", metavar="FILE", nargs="+", default=(), help="and pages like these"
    )
    parser.add_argument(
        "--order",
        metavar="NAME",
        help=f"which URLs go first: {', '.join(ORDERS)}, or a scorer of your own"
        f" (topic with a focus, else breadth-first); {SCORE}: the best of all sites",
    )
    parser.add_argument(
        "--admission",
        metavar="HOW",
        choices=ADMISSIONS,
        help=f"with --order {SCORE}: {', '.join(ADMISSIONS)} ({ADMISSIONS[0]})",
    )
    parser.add_argument(
        "--look-ahead",
        metavar="N",
        type=at_least_one,
        help=f"with --order {SCORE}: how many of the best are tried ({LOOK_AHEAD})",
    )
    parser.add_argument(
        "--trust-run", action="store_true",
        help="with --resume: send what the run names, although somebody else may have begun it",
    )  # fmt: skip
    parser.add_argument(
        "--trust-scorers", action="store_true", help="with --resume: load the scorers the run names"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON at the end")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument(
        "--strict", action="store_true", help="exit with code 3 when a deadline was missed"
    )
    add_site_options(parser)


def run(args: argparse.Namespace) -> int:
    """Crawl; the report goes to stdout, as text or JSON."""
    if args.abandon:
        return _abandon(args)
    say_that_proxies_are_not_used()
    opening = OpeningWords(quiet=args.quiet)
    opening.say(f"Opening {args.out} …")
    try:
        request = _resumed(args) if args.resume else _asked(args)
        is_mine = not args.resume or args.trust_run or bool(args.what) or _is_begun_here(args.out)
        if not is_mine:
            opening.clear()
            is_mine = _is_agreed_to(request, args.out)
        with ending_at_once():
            job = request.job(
                args.out,
                resume=args.resume,
                new_bandwidth=args.resume and args.bandwidth is not None,
                private_hosts=is_mine,
            )
        if args.resume and not args.trust_scorers:
            opening.clear()
            refuse_untrusted_scorers(job.sites, args.out)
        with ending_at_once():
            import uvloop

            from headgate.cli.crawl_progress import conclude, crawl_watched

        report = uvloop.run(crawl_watched(job, quiet=args.quiet, opening=opening))
    finally:
        opening.clear()
    code = conclude(report, job.out, as_json=args.json, strict=args.strict)
    run = RunFolder(job.out, report.stamp)
    if run.unfinished and not args.json:
        show_unfinished(run)
    return code


def _abandon(args: argparse.Namespace) -> int:
    from headgate.cli.crawl_progress import conclude
    from headgate.engine.runs import abandon
    from headgate.features.keep.volumes import recover_staged

    if args.resume:
        raise UserMistake("--resume goes on with a run, --abandon gives it up; use one of them")
    if args.what:
        raise UserMistake("--abandon takes no FILE or URL; name the folder with --out DIR")
    run, report = abandon(args.out, time.time(), recover_staged)
    if report is None:
        show(f"Abandoned: {run.stamp} in {args.out}.")
        return 0
    return conclude(report, args.out, as_json=args.json)


def _asked(args: argparse.Namespace) -> CrawlRequest:
    if not any(args.what):
        raise UserMistake("say what to crawl: a site file or a URL (see headgate crawl --help)")
    options = {
        "bandwidth": args.bandwidth,
        "quota": args.quota,
        "deadline": args.deadline,
        "crawlers": args.crawlers,
        "objective": args.objective,
        "policy": args.policy,
        "make_way": args.make_way,
        "contact": args.contact or "",
        "processes": args.processes,
        "focus": args.focus,
        "focus_pages": tuple(str(Path(name).absolute()) for name in args.focus_pages),
        "order": args.order,
        "admission": args.admission,
        "look_ahead": args.look_ahead,
        "site_options": asked_options(args),
    }
    if len(args.what) == 1 and _is_file(args.what[0]):
        return CrawlRequest(path=args.what[0], text=read_text(args.what[0]), **options)
    files = [word for word in args.what if _is_file(word)]
    if files:
        raise UserMistake(f"{files[0]} is a file; a crawl takes one site file, or URLs, not both")
    return CrawlRequest(urls=tuple(args.what), **options)


def _resumed(args: argparse.Namespace) -> CrawlRequest:
    """What the run was asked; the sites, if they are named again, have to be the same."""
    request = unfinished_request(args.out)
    changes = {key: value for key in _REPLACEABLE if (value := getattr(args, key)) is not None}
    changes["site_options"] = {**request.site_options, **asked_options(args)}
    request = msgspec.structs.replace(request, **changes)
    if not args.what:
        return request
    named = _asked(args)
    by_file = bool(request.path)
    request = msgspec.structs.replace(request, path=named.path)  # its files are beside this one
    if by_file != bool(named.path) or not request.is_for_sites_of(named):
        raise UserMistake(
            f"the unfinished run in {args.out} was asked for other sites, or with other access to"
            " them; repeat the command that began it, with --resume, or leave FILE and URL out"
        )
    return request


def _is_begun_here(out: Path) -> bool:
    run = Collection(out).unfinished_run()
    return run is not None and is_begun_here(run, JobKind.CRAWL.state)


def _is_agreed_to(request: CrawlRequest, out: Path) -> bool:
    """False: it asks for nothing dangerous, and may go on as a stranger's."""
    found = list(dangers(request.contents().sites))
    if found:
        refuse_untrusted_request(found, out)
    return bool(found)


def _is_file(word: str) -> bool:
    """A folder counts as a file, so that the error message fits."""
    return word == "-" or word.endswith(".toml") or ("://" not in word and Path(word).exists())
