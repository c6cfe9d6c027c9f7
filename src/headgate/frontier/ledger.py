"""The ledger: how many URLs were accepted, and how they ended.

Every accepted URL is counted once when it is accepted and once when it ends. Those that end without
a fetch are counted by dispatch, those refused by the URL filter; `Tally` has them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from headgate.frontier.commands import Record
from headgate.frontier.journal import JournalEntry, Outcome
from headgate.frontier.omissions import Omissions
from headgate.model.fetch import LEFT_OUT, FailureKind
from headgate.model.left_out import LeftOut, Reason

__all__ = ["Ledger", "Tally"]

_LEFT_OUT = LEFT_OUT | {FailureKind.FORBIDDEN_ADDRESS, Reason.HOPS, Reason.UNREADABLE}
"""Details of entries for which a URL counts as left out."""


class Tally(msgspec.Struct, frozen=True):
    """The states of all URLs of a site run. accepted = to do + in flight + outcomes + dropped."""

    seen: int
    accepted: int
    to_do: int
    in_flight: int
    outcomes: Mapping[Outcome, int]
    dropped: Mapping[str, int]
    """Accepted, but not fetched, by reason."""
    refused: Mapping[str, int]
    """Not accepted, by reason."""
    given_up: Mapping[str, str]
    """Hosts, with the reason."""
    left_out: dict[str, LeftOut]
    """Dropped and refused URLs with examples, and those that were fetched in vain."""


class Ledger:
    """Filled by the frontier and by landings."""

    def __init__(self) -> None:
        self.accepted = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.given_up: dict[str, str] = {}
        self.left_out = Omissions()
        """Of URLs that were fetched."""

    @property
    def pages(self) -> int:
        return self.outcomes[Outcome.PAGE] + self.outcomes[Outcome.DUPLICATE]

    def settle(self, entry: JournalEntry) -> Record:
        """Count the end of a URL, and record it."""
        self.enter(entry)
        return Record(entry)

    def enter(self, entry: JournalEntry) -> None:
        """Count the end of a URL."""
        self.outcomes[entry.outcome] += 1
        if entry.detail in _LEFT_OUT:
            self.left_out.note(entry.detail, [entry.url])
