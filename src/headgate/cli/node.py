"""``headgate node``: lends this machine to a grid, within its owner's limits."""

from __future__ import annotations

import argparse
from pathlib import Path

from headgate.cli.arguments import at_least_one, named_folder, say_that_proxies_are_not_used
from headgate.cli.endpoint_arguments import need_grid
from headgate.cli.terminal import ending_at_once, show_json

__all__ = ["configure", "run"]

_SLOTS = 5

_DESCRIPTION = """\
Crawl for a grid: claim tasks from the manager that made the token, crawl them, bring the results.
It asks nothing of your machine but what you allow: it runs at the lowest priority, dials out only,
fetches within your bandwidth, quota, hours and disk, and never from your own network.
"""

_EXAMPLES = """\
examples:
  headgate node anna.token
  headgate node anna.token --bandwidth 500KB/s --quota 5GB/day --make-way
  headgate node anna.token --hours 19:00-07:00 --when-idle
  headgate node anna.token --bandwidth "Mon-Fri 08:00 100KB/s, 19:00 2MB/s"
  headgate node anna.token --only-hosts '*.example.org' --disk 2GB

Ctrl-C or SIGTERM: nothing more is fetched, tasks are given back, exit code 0; results that the
manager does not have yet stay in the spool and are brought the next time. A second one ends at
once; nothing stored is lost.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("token", metavar="TOKEN", type=Path, help="file from the manager")
    parser.add_argument(
        "--spool", metavar="DIR", type=named_folder,
        help="keeps pages until they are delivered (headgate-node-NAME)",
    )  # fmt: skip
    parser.add_argument(
        "--slots", metavar="N", type=at_least_one, default=_SLOTS, help="sites at once (5)"
    )
    parser.add_argument(
        "--bandwidth", metavar="RATE", help="like '500KB/s', or a timetable; else no bound"
    )
    parser.add_argument("--quota", metavar="SIZE/PERIOD", help="like '5GB/day'")
    parser.add_argument(
        "--make-way", action="store_true", help="step back when others need the line"
    )
    parser.add_argument("--disk", metavar="SIZE", default="10GB", help="for the spool (10GB)")
    parser.add_argument(
        "--only-hosts", metavar="PATTERN", action="append", default=[],
        help="fetch from these only, like '*.example.org'; may be said again",
    )  # fmt: skip
    parser.add_argument("--hours", metavar="FROM-TO", help="work only then, like 19:00-07:00")
    parser.add_argument(
        "--when-idle", action="store_true", help="work only while others leave the machine alone"
    )
    parser.add_argument(
        "--until-idle", action="store_true", help="end when nothing is left to do for anybody"
    )
    parser.add_argument(
        "--allow-private", action="store_true",
        help="let tasks lead to private addresses: for your own network, and tests",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print how it fared as JSON")
    parser.add_argument("--quiet", action="store_true", help="no word but of what happens")


def run(args: argparse.Namespace) -> int:
    say_that_proxies_are_not_used()
    need_grid("nodes of a grid")
    with ending_at_once():
        import uvloop

        from headgate.cli.node_progress import node_watched
        from headgate.features.grid.node.owner_limits import step_back
        from headgate.features.grid.node.request import NodeRequest
        from headgate.features.grid.transport.credentials import read_token

        token = read_token(args.token)
        request = NodeRequest(
            args.spool or Path(f"headgate-node-{token.node}"),
            args.slots,
            bandwidth=args.bandwidth,
            quota=args.quota,
            make_way=args.make_way,
            disk=args.disk,
            only_hosts=tuple(args.only_hosts),
            hours=args.hours,
            when_idle=args.when_idle,
            until_idle=args.until_idle,
            allow_private=args.allow_private,
        )
        job = request.job(token.node)
        step_back()
    status = uvloop.run(node_watched(token, job, quiet=args.quiet))
    if args.json:
        import msgspec

        show_json(msgspec.json.encode(status))
    return 0
