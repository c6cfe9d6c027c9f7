"""``headgate survey``: servers and the links between them, with as little load as possible."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from headgate.cli.arguments import add_out, say_that_proxies_are_not_used
from headgate.cli.endpoint_arguments import add_door, door_place
from headgate.cli.terminal import ending_at_once, show, show_json
from headgate.cli.unfinished import private_hosts, refuse_untrusted_request, show_unfinished
from headgate.engine.begun_here import is_begun_here
from headgate.engine.runs import JobKind
from headgate.features.survey.request import SurveyRequest, unfinished_request
from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection, RunFolder

__all__ = ["configure", "run"]

DEFAULT_OUT = Path("headgate-survey")
INTERRUPTED, NOTHING_FETCHED = 130, 4

_DESCRIPTION = """\
Survey servers: which answer, how fast, with which software, TLS and robots.txt, and which other
hosts they link to. It asks as little as possible of each server, one request at a time: one URL of
each script, pages that promise new hosts first, and at most --max-pages. It keeps no pages, but
tables and a graph.
"""

_EXAMPLES = """\
examples:
  headgate survey https://example.org/                      one server
  headgate survey list.txt --scope .ke,.tz                  a list, and what it links to there
  headgate survey list.txt --until 0.9                      stop when 9 of 10 hosts are found
  headgate survey list.txt --policy depth --depth 8         the plain rule: all pages to depth 8
  headgate survey --resume                                  continue an interrupted survey
  headgate survey list.txt --serve-nats :4222               by many machines: headgate node
  headgate survey diff 2026-01-data 2026-07-data            what has changed between two surveys

exit codes:
  0 done, 1 something outside failed, 2 a mistake in what was asked, 4 no server gave a page,
  130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "what", metavar="FILE | URL", nargs="*",
        help="a list with a URL on each line, or one or more URLs",
    )  # fmt: skip
    parser.add_argument("--depth", metavar="N", type=int, help="links followed from a start (8)")
    parser.add_argument(
        "--scope", metavar="WHERE",
        help="hosts that become starts themselves: '.ke,.tz', same, all or none (none)",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", metavar="N", type=int, help="how often hosts found become starts (1)"
    )
    parser.add_argument(
        "--registrable", action="store_true", default=None,
        help="a server is all of a registered domain (example.co.ke), not a start's host alone",
    )  # fmt: skip
    parser.add_argument(
        "--policy", choices=["yield", "depth"], help="most promising first, or by depth (yield)"
    )
    parser.add_argument(
        "--until", metavar="SHARE", type=float, help="stop at this share of the hosts, like 0.9"
    )
    parser.add_argument(
        "--yield", metavar="HOSTS", type=float, dest="least_yield",
        help="stop when no page promises so many new hosts, like 0.02",
    )  # fmt: skip
    parser.add_argument(
        "--max-pages", metavar="N", type=int, help="requests to one server at the most (1000)"
    )
    parser.add_argument(
        "--max-bytes", metavar="SIZE", help="from one server at the most ('100 MB')"
    )
    parser.add_argument("--delay", metavar="TIME", help="between two requests to one server ('1s')")
    parser.add_argument(
        "--at-once", metavar="N", type=int, help="servers asked at the same time (100)"
    )
    parser.add_argument("--bandwidth", metavar="RATE", help="the budget, like '200 KB/s'")
    parser.add_argument("--quota", metavar="SIZE/PERIOD", help="like '20 GB/month' or '500 MB/day'")
    parser.add_argument(
        "--make-way", action="store_true", default=None, help="step back when others need the line"
    )
    parser.add_argument(
        "--budget", metavar="FILE", help="a site file whose [budget] holds: timetable, quota, zone"
    )
    add_out(parser, DEFAULT_OUT)
    parser.add_argument(
        "--resume", action="store_true", help="continue the unfinished survey in DIR"
    )
    parser.add_argument(
        "--trust-run", action="store_true",
        help="with --resume: ask private hosts, although somebody else may have begun it",
    )  # fmt: skip
    parser.add_argument(
        "--contact", metavar="WHO", help="URL or mail address that servers see: who runs this?"
    )
    add_door(parser)
    parser.add_argument("--json", action="store_true", help="print the report as JSON at the end")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Survey; the report goes to stdout, as text or JSON."""
    say_that_proxies_are_not_used()
    request = _resumed(args) if args.resume else _asked(args)
    is_mine = not args.resume or args.trust_run or bool(args.what) or _is_begun_here(args.out)
    if not is_mine:
        is_mine = _is_agreed_to(request, args.out)
    place = door_place(args)
    if place is None and (args.catalog or args.host or args.plain):
        raise UserMistake(
            "--catalog, --host and --plain are for a survey by nodes; say where they come in with"
            " --serve-nats or --nats"
        )
    with ending_at_once():
        import uvloop

        from headgate.cli.survey_progress import survey_watched
        from headgate.features.survey.view.text import survey_text

        job = request.job(
            args.out, resume=args.resume, new_bandwidth=args.resume and args.bandwidth is not None,
            private_hosts=is_mine,
        )  # fmt: skip

    if place is None:
        report = uvloop.run(survey_watched(job, quiet=args.quiet))
    else:
        from headgate.cli.survey_by_nodes import survey_with_nodes

        grid = request.grid()
        report = uvloop.run(survey_with_nodes(job, grid, place, args.catalog, quiet=args.quiet))
    folder = job.out / "runs" / report.stamp
    if args.json:
        show_json(msgspec.json.encode(report))
    else:
        show(survey_text(report, str(folder)))
        if report.interrupted:
            show_unfinished(RunFolder(job.out, report.stamp))
    if report.interrupted:
        return INTERRUPTED
    return NOTHING_FETCHED if report.nothing_fetched else 0


def _asked(args: argparse.Namespace) -> SurveyRequest:
    from headgate.cli.survey_progress import read_starts

    if not args.what:
        raise UserMistake(
            "say what to survey: a list of URLs or a URL (see headgate survey --help)"
        )
    return SurveyRequest.from_options(read_starts(args.what), _options(args))


def _resumed(args: argparse.Namespace) -> SurveyRequest:
    """What was asked; the starts, if they are named again, have to be the same."""
    if args.registrable:
        raise UserMistake("--resume goes on with the same servers; leave --registrable out")
    request = unfinished_request(args.out).changed(_options(args))
    if args.what and set(_asked(args).starts) != set(request.starts):
        raise UserMistake(
            f"the unfinished survey in {args.out} was asked for other servers; repeat the command"
            " that began it, with --resume, or leave FILE and URL out"
        )
    return request


def _is_begun_here(out: Path) -> bool:
    run = Collection(out).unfinished_run()
    return run is not None and is_begun_here(run, JobKind.SURVEY.state)


def _is_agreed_to(request: SurveyRequest, out: Path) -> bool:
    """False: it asks for nothing dangerous, and may go on as a stranger's."""
    from headgate.reading.urls import host

    found = list(private_hosts(dict.fromkeys(map(host, request.starts))))
    if found:
        refuse_untrusted_request(found, out)
    return bool(found)


def _options(args: argparse.Namespace) -> dict[str, object]:
    """The given options; a budget file with its text."""
    from headgate.engine.site_inputs import read_text

    options = dict(vars(args))
    if args.budget is not None:
        options |= {"budget_path": args.budget, "budget_text": read_text(args.budget)}
    return options
