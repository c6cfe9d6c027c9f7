"""The ledger: how many URLs came in, how many came to which end.

Every accepted URL is entered once when it comes in and once when it ends. Those that end without
a fetch are counted by dispatch, those refused by the URL filter; `Tally` shows them all.
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

_LEFT_OUT = LEFT_OUT | {FailureKind.FORBIDDEN_ADDRESS, Reason.HOPS}
"""Details of entries."""


class Tally(msgspec.Struct, frozen=True):
    """Where all URLs of a site run stand. accepted = to do + in flight + outcomes + dropped."""

    seen: int
    accepted: int
    to_do: int
    in_flight: int
    outcomes: Mapping[Outcome, int]
    dropped: Mapping[str, int]
    """Accepted, but ended without a fetch, by reason."""
    refused: Mapping[str, int]
    """Not accepted, by reason."""
    given_up: Mapping[str, str]
    """Hosts, with the reason."""
    left_out: dict[str, LeftOut]
    """The same of dropped and refused with examples, and what was fetched in vain."""


class Ledger:
    """Filled by the frontier and by landings."""

    def __init__(self) -> None:
        self.accepted = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.given_up: dict[str, str] = {}
        self.left_out = Omissions()
        """Of what was fetched, and what it led to."""

    @property
    def pages(self) -> int:
        return self.outcomes[Outcome.PAGE] + self.outcomes[Outcome.DUPLICATE]

    def settle(self, entry: JournalEntry) -> Record:
        """Enter a URL's end."""
        self.enter(entry)
        return Record(entry)

    def enter(self, entry: JournalEntry) -> None:
        """The same for one that was recorded before."""
        self.outcomes[entry.outcome] += 1
        if entry.detail in _LEFT_OUT:
            self.left_out.note(entry.detail, [entry.url])
