"""What a site file says of a grid, and the state of a node as users see it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headgate.model.units import Seconds

__all__ = ["GridTerms", "Mode", "NodeListing", "NodeStatus", "Placement", "TaskListing"]


# What a site file says of a grid.


A_LEASE = Seconds(60.0)


class Mode(StrEnum):
    """When it is decided which node does which site."""

    PULL = "pull"
    """When a node is free."""
    BATCH = "batch"
    """In advance: a balanced list for each node (LPT, MULTIFIT, local search)."""
    PAPER_1 = "paper-1"
    """Lists by BeeBot-EDG's rule, from the sizes of sites."""
    PAPER_2 = "paper-2"
    """The same from times."""
    ROUND_ROBIN = "round-robin"
    """Lists, dealt in turn."""


class Placement(StrEnum):
    """With `Mode.PULL`: which of the next tasks goes to the node that asks."""

    MEASURED = "measured"
    """By the times that nodes took to connect, and their load."""
    COORDINATES = "coordinates"
    """By distances in a space that is made of those times."""
    CAN = "can"
    """By whose zone of that space the host lies in."""


class GridTerms(msgspec.Struct, frozen=True):
    mode: Mode = Mode.PULL
    placement: Placement = Placement.MEASURED
    lease: Seconds = A_LEASE
    """A node that is silent for so long may lose its tasks to others."""
    audit: float = 0.0
    """Share of tasks that a node of another group repeats, for comparison."""
    reference: str = ""
    """A URL that every node fetches once a day, so that they can be compared; empty: none."""


class NodeListing(msgspec.Struct, frozen=True, kw_only=True):
    """A node as shown to users."""

    name: str
    group: str
    state: str
    """"invited", "here", "silent", "gone" or "revoked"."""
    seen: float | None
    """Seconds since 1970; None: never."""
    slots: int
    speed: float | None
    """Bytes per second of each of its own tasks; None: not known."""
    bandwidth: float | None
    """Bytes per second that its owner allows; None: no limit, or not known."""
    tasks: int
    """Held now."""
    committed: int
    superseded: int
    lost: int
    pages: int
    wire_bytes: int


class TaskListing(msgspec.Struct, frozen=True, kw_only=True):
    """A task as shown to users."""

    id: int
    run: str
    site: str
    part: str
    """Which folders of the site; empty: all of it."""
    host: str
    state: str
    """"ready", "leased", "received", "done" or "dropped"."""
    epoch: int
    """At least the number of times it was leased."""
    lost: int
    nodes: tuple[str, ...]
    """Nodes that hold it, or the one whose result was committed."""
    due: float | None
    """Seconds since 1970; None: nothing was promised."""
    expected_bytes: float


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a grid node, as shown to users."""

    node: str
    state: str
    """``working``, ``idle``, or why it does nothing."""
    tasks: tuple[str, ...] = ()
    """Sites being crawled."""
    to_bring: int = 0
    """Results that the manager does not have yet."""
    committed: int = 0
    """Since the node was started, like all counters below."""
    superseded: int = 0
    given_back: int = 0
    lost: int = 0
    pages: int = 0
    """Of results delivered and tasks in progress."""
    wire_bytes: int = 0
    rate: float = 0.0
    """Bytes per second, lately."""
