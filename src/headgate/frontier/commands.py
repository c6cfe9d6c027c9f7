"""What the frontier asks for."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.frontier.journal import JournalEntry

__all__ = ["FINISHED", "Command", "Done", "Fetch", "GiveUp", "LearnRobots", "Record", "Wait"]

FINISHED = "finished"
"""The reason of a Done that nobody asked for: nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """Fetch this now: its host is ready. Ends with exactly one event that names the URL."""

    url: str
    depth: int
    tries: int = 0
    """Fetches of it that failed before."""
    busy: int = 0
    """Fetches of it that a busy host put off before."""
    hops: int = 0
    """Redirects that led here."""


@dataclass(frozen=True, slots=True)
class LearnRobots:
    """Get robots.txt of this origin; its URLs wait for RobotsLearned."""

    origin: str


@dataclass(frozen=True, slots=True)
class Record:
    """Make this durable, together with what was fetched."""

    entry: JournalEntry


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Nothing more is asked of this host; its URLs are dropped."""

    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can start before this moment unless another event comes first. Replaces the last."""

    until: float


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is to do and nothing under way."""

    reason: str


Command = Fetch | LearnRobots | Record | GiveUp | Wait | Done
