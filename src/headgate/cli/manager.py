"""``headgate manager``: many machines, one collection."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from headgate.cli.arguments import add_out, at_least_one
from headgate.cli.endpoint_arguments import add_door, door_place, need_grid
from headgate.cli.keep import OBJECTIVES, POLICIES
from headgate.cli.terminal import ending_at_once, show_json
from headgate.engine.site_inputs import read_text
from headgate.model.errors import UserMistake
from headgate.model.units import parse_duration

if TYPE_CHECKING:
    from headgate.features.grid.coordinator.coordinator import ManagerJob
    from headgate.features.grid.coordinator.endpoint import DoorPlace

__all__ = ["configure", "run"]

_WORDS = ("invite", "nodes", "tasks", "revoke", "drain")
_NAMED = ("invite", "revoke")
_STATES = ("ready", "leased", "received", "done", "dropped")
_DAYS = 90
_WAIT = "10m"
_SWITCH_SECONDS = 1e-3
"""A thread that waited for the disk gets the interpreter back within this time; usual are 5 ms, a
dozen times for each transaction."""

_DESCRIPTION = """\
Crawl the sites of a file with many machines. The manager gives each site to a node (headgate node)
as a task, takes in what it brings, and leaves the same collection as headgate crawl. Nodes may come
and go, be slow, or be killed: no page is lost or stored twice. Started again, it goes on.
"""

_EXAMPLES = """\
examples:
  headgate manager sites.toml --serve-nats :4222        with a NATS server of its own
  headgate manager invite office-1                      writes office-1.token, for that machine:
                                                        headgate node office-1.token
  headgate manager nodes                                who is here, and what they did
  headgate manager tasks --state leased                 who has what
  headgate manager revoke office-1                      its token is good no longer
  headgate manager drain                                give nothing out any more, then end
  headgate manager sites.toml --nats tls://nats.example.org:4222 \\
      --catalog postgresql://headgate@db.example.org/headgate

Ctrl-C or SIGTERM: ends in order; nodes go on with what they have and ask again.
exit codes: as of headgate crawl
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("what", metavar="FILE | WORD", help=f"a site file, or {', '.join(_WORDS)}")
    parser.add_argument("name", metavar="NAME", nargs="?", help="of the node to invite or revoke")
    add_out(parser)
    add_door(parser)
    parser.add_argument(
        "--bandwidth", metavar="RATE", help="of all nodes together, like '1.5 MB/s'"
    )
    parser.add_argument("--quota", metavar="SIZE/PERIOD", help="like '20 GB/month' or '500 MB/day'")
    parser.add_argument(
        "--contact", metavar="WHO", default="",
        help="URL or mail address that servers see: who runs this?",
    )  # fmt: skip
    parser.add_argument(
        "--keep", action="store_true", help="keep the sites fresh, as headgate keep does"
    )
    parser.add_argument(
        "--policy", choices=POLICIES, default="index", help="with --keep: whose turn it is (index)"
    )
    parser.add_argument(
        "--objective", choices=OBJECTIVES, help="with --keep: what is made small (age)"
    )
    parser.add_argument(
        "--for", metavar="TIME", dest="duration", help="with --keep: end after so long"
    )
    parser.add_argument(
        "--once", action="store_true", help="end with the run; with --keep, when nothing is due"
    )
    parser.add_argument(
        "--wait-for-nodes", metavar="TIME", default=_WAIT,
        help=f"how long to wait for a node that can do what no other can ({_WAIT})",
    )  # fmt: skip
    parser.add_argument(
        "--group", metavar="G", default="", help="invite: machines that belong together"
    )
    parser.add_argument(
        "--days", metavar="N", type=at_least_one, default=_DAYS, help=f"invite: good for ({_DAYS})"
    )
    parser.add_argument(
        "--state",
        choices=_STATES,
        help="tasks: only these",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the report, or the list, as JSON"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Manage, or perform a subcommand."""
    need_grid()
    if args.what in _WORDS:
        return _word(args)
    if args.name is not None:
        raise UserMistake(f"{args.name}: a manager takes one site file")
    place = _place(args)
    if args.keep:
        return _keep(args, place)
    if args.objective or args.duration or args.policy != "index":
        raise UserMistake("--policy, --objective and --for are for keeping; add --keep")
    with ending_at_once():
        import uvloop

        from headgate.cli.crawl_progress import conclude
        from headgate.cli.manager_progress import manage_watched
        from headgate.fetching.open_files import give_large_blocks_back

        give_large_blocks_back()  # what is made of a hundred thousand sites is soon freed
        sys.setswitchinterval(_SWITCH_SECONDS)
        job = _job(args)
    report = uvloop.run(manage_watched(job, place, args.catalog, quiet=args.quiet))
    return conclude(report, job.out, as_json=args.json)


def _keep(args: argparse.Namespace, place: DoorPlace) -> int:
    with ending_at_once():
        import msgspec
        import uvloop

        from headgate.cli.manager_keep import keep_request, keep_with_nodes

        request = keep_request(args)
        job = request.job(args.out)
    status = uvloop.run(keep_with_nodes(job, request.grid, place, args.catalog, quiet=args.quiet))
    if args.json:
        show_json(msgspec.json.encode(status))
    return 0


def _word(args: argparse.Namespace) -> int:
    from headgate.cli import manager_words

    if (args.name is None) == (args.what in _NAMED):
        which = "which node" if args.name is None else "no name"
        raise UserMistake(
            f"headgate manager {args.what}: say {which} (see headgate manager --help)"
        )
    words = {
        "invite": manager_words.invite_node,
        "revoke": manager_words.revoke_node,
        "drain": manager_words.drain,
        "nodes": manager_words.list_nodes,
        "tasks": manager_words.list_tasks,
    }
    return words[args.what](args)


def _job(args: argparse.Namespace) -> ManagerJob:
    import msgspec

    from headgate.engine.site_inputs import ready_sites
    from headgate.features.crawl.request import CrawlRequest
    from headgate.features.grid.coordinator.coordinator import ManagerJob
    from headgate.features.grid.coordinator.tasks import PackedSites

    request = CrawlRequest(
        path=args.what, text=read_text(args.what), bandwidth=args.bandwidth, quota=args.quota,
        contact=args.contact,
    )  # fmt: skip
    contents = request.contents()
    return ManagerJob(
        PackedSites(ready_sites(contents.sites)),
        contents.budget,
        grid=contents.grid,
        out=args.out,
        contact=contents.budget.contact,
        request=msgspec.json.encode(request),
        once=args.once,
        wait_for_nodes=parse_duration(args.wait_for_nodes),
    )


def _place(args: argparse.Namespace) -> DoorPlace:
    place = door_place(args)
    if place is None:
        raise UserMistake(
            "say where nodes come in: --serve-nats :4222 starts a server, --nats URL uses one"
        )
    return place
