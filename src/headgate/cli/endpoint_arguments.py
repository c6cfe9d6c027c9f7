"""Options for the NATS server that nodes connect to."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from headgate.model.errors import UserMistake, extra

if TYPE_CHECKING:
    from headgate.features.grid.coordinator.endpoint import DoorPlace

__all__ = ["add_door", "door_place", "need_grid"]


def add_door(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--catalog", metavar="URL", default="", help="a PostgreSQL catalog (SQLite in DIR)"
    )
    parser.add_argument(
        "--serve-nats", metavar="[HOST]:PORT", help="start a NATS server there, with TLS"
    )
    parser.add_argument(
        "--nats", metavar="URL", action="append", default=[], help="use this NATS server"
    )
    parser.add_argument(
        "--host", metavar="NAME", action="append", default=[],
        help="by which nodes reach the served NATS (this machine's name and address)",
    )  # fmt: skip
    parser.add_argument(
        "--plain", action="store_true", help="with --serve-nats: no TLS, for a network you trust"
    )


def need_grid(features: str = "grids") -> None:
    """Import the packages of the extra, or say what to install.

    The NATS client would load aiohttp, if that is installed, for WebSockets: 13 MB for nothing.
    """
    sys.modules.setdefault("aiohttp", None)  # type: ignore[arg-type] # "there is none"
    for module in ("cryptography", "nats"):
        extra(module, features, "grid")
    if sys.modules["aiohttp"] is None:
        del sys.modules["aiohttp"]


def door_place(args: argparse.Namespace) -> DoorPlace | None:
    """Where nodes connect; None: no such option was given."""
    if args.nats and args.serve_nats is not None:
        raise UserMistake("--serve-nats starts a server, --nats uses one: use one of them")
    if not args.nats and args.serve_nats is None:
        return None
    need_grid()
    from headgate.features.grid.coordinator.endpoint import DoorPlace
    from headgate.features.grid.transport.server_config import Listen

    serve = None if args.serve_nats is None else Listen.parse(args.serve_nats)
    return DoorPlace(serve, tuple(args.nats), tuple(args.host), args.plain)
