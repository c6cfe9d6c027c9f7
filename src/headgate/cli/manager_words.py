"""Subcommands of ``headgate manager``: invite, revoke, drain and list nodes, list tasks."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import msgspec

from headgate.cli.terminal import show, show_json
from headgate.engine.runs import JobKind, kind_of
from headgate.features.grid.coordinator.catalog import looked_at_board
from headgate.features.grid.coordinator.nodes import DRAIN, node_listing
from headgate.features.grid.scheduler.records import BoardState
from headgate.features.grid.view import nodes_text, tasks_text
from headgate.model.errors import UserMistake
from headgate.storage.collection import Collection

__all__ = ["drain", "invite_node", "list_nodes", "list_tasks", "revoke_node"]

_MOST_TASKS = 1000


def invite_node(args: argparse.Namespace) -> int:
    from headgate.features.grid.coordinator.board_store import SqlBoard
    from headgate.features.grid.coordinator.catalog import opened_grid_catalog
    from headgate.features.grid.coordinator.endpoint import invite
    from headgate.features.grid.transport.certificates import make_private

    token, data = invite(args.out, args.name, args.nats, args.days, time.time())
    with opened_grid_catalog(args.catalog, Collection(args.out).catalog) as catalog:
        board = SqlBoard(catalog.database)
        if not board.invite(args.name, args.group, token.key, time.time()):
            raise UserMistake(f"{args.name} was revoked; invite it under another name")
    path = Path(f"{args.name}.token")
    make_private(path, data)
    if args.json:
        show_json(msgspec.json.encode({"token": str(path), "servers": token.servers}))
    else:
        show(f"{path}: good for {args.days} days, at {', '.join(token.servers)}. On that machine:")
        show(f"  headgate node {path}")
    return 0


def revoke_node(args: argparse.Namespace) -> int:
    with looked_at_board(args.catalog, args.out) as board:
        if not board.revoke(args.name):
            raise UserMistake(f"{args.name}: no such node; see headgate manager nodes")
    show(f"{args.name} is revoked; a manager that runs heeds it within seconds")
    return 0


def drain(args: argparse.Namespace) -> int:
    run = Collection(args.out).unfinished_run()
    if run is None or kind_of(run) is not JobKind.MANAGER:
        raise UserMistake(f"{args.out}: no manager's run is under way there")
    run.save(DRAIN, b"1")
    show("no more tasks are given out; the manager ends when all results are in")
    return 0


def list_nodes(args: argparse.Namespace) -> int:
    with looked_at_board(args.catalog, args.out) as board:
        nodes = node_listing(board, time.time())
    if args.json:
        show_json(msgspec.json.encode(nodes))
    else:
        show(nodes_text(nodes))
    return 0


def list_tasks(args: argparse.Namespace) -> int:
    state = None if args.state is None else BoardState(args.state)
    with looked_at_board(args.catalog, args.out) as board:
        tasks = board.listing(state, _MOST_TASKS)
    if args.json:
        show_json(msgspec.json.encode(tasks))
    else:
        show(tasks_text(tasks))
    return 0
