"""``headgate servers``: how fast each server is, by the hour, as measured in earlier runs."""

from __future__ import annotations

import argparse
import json
import time

from headgate.bandwidth.server_speed import KnownServer
from headgate.cli.arguments import add_folder, read_by
from headgate.cli.plan_pictures import plot_path, save_plot
from headgate.cli.terminal import show
from headgate.features.servers.servers import known_servers

__all__ = ["configure", "run"]

_PIPED_WIDTH = 110

_DESCRIPTION = """\
Show how fast each server is: its rate now, its best and worst hour, the time to the first byte, and
what a request costs beside its bytes. Crawls measure that as they go and plan by it.
"""

_EXAMPLES = """\
examples:
  headgate servers                                   of the crawls in ./headgate-data
  headgate servers archive --host example.org        of one host in another collection
  headgate servers --plot servers.svg                a heat map per server, as a picture
  headgate servers --json | jq '.servers[].rate_now' for scripts
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_folder(parser)
    parser.add_argument(
        "--host", metavar="TEXT", default="", help="only servers with this in a host or address"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        type=read_by(plot_path),
        help="also draw heat maps into a .svg, .png or .html",
    )


def run(args: argparse.Namespace) -> int:
    """Print what is known, or that there is nothing."""
    servers = known_servers(args.folder, time.time(), containing=args.host)
    if args.plot is not None and servers:
        from headgate.features.servers.view import servers_page, servers_picture

        save_plot(args.plot, lambda: servers_page(servers), lambda: servers_picture(servers))
    if args.json:
        show(
            json.dumps(
                {"version": 1, "servers": [_as_json(server) for server in servers]}, indent=2
            )
        )
    elif servers:
        from headgate.cli.consoles import printed
        from headgate.features.servers.view import print_servers

        with printed(_PIPED_WIDTH) as console:
            print_servers(console, servers)
    elif args.host:
        show(f"No server with {args.host!r} in its hosts or address was measured yet.")
    else:
        show(f"No server was measured yet; headgate crawl --out {args.folder} does as it goes.")
    return 0


def _as_json(server: KnownServer) -> dict[str, object]:
    """The keys are public. Units: bytes per second, seconds, seconds since 1970."""
    return {
        "address": server.address,
        "hosts": list(server.hosts),
        "rate_now": server.rate_now,
        "at_least": not server.speed.bounded,
        "latency_seconds": server.speed.latency_seconds,
        "request_seconds": server.speed.request_seconds,
        "measures": server.speed.measures,
        "measured": server.speed.latest,
        "zone": server.calendar.zone.key,
        "working_day": list(server.working_day),
        "holiday": list(server.holiday),
    }
